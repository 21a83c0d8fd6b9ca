// Splits the rows of a LOAD or STORE into AXI bursts: at MAX_BURST beats (counted from the bus-aligned address)
// and at 4 KiB boundaries, rows in order. One burst is offered at a time; next_i takes it, and the following one
// is there in the next cycle, whatever row it belongs to.
module dlc_burst_gen (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       start_i,
  input  logic [dlc_pkg::DRAM_W-1:0] dram_address_i,
  input  logic [23:0]                row_bytes_i,
  input  logic [dlc_pkg::ADDR_W-1:0] address_i,      // scratchpad word
  input  logic [47:0]                count_i,
  input  logic [59:0]                stride_i,
  input  logic [95:0]                dram_stride_i,
  input  logic [3:0]                 word_log_i,     // log2 of the scratchpad's word in bytes
  output logic                       valid_o,
  output logic [dlc_pkg::DRAM_W-1:0] addr_o,         // bus-aligned
  output logic [dlc_pkg::BEATS_W-1:0] beats_o,
  output logic [dlc_pkg::BUS_LOG-1:0] lo_o,          // first byte within the first beat
  output logic [dlc_pkg::BURST_W-1:0] bytes_o,
  output logic [dlc_pkg::SP_W-1:0]   sp_o,           // scratchpad byte position of the first byte
  output logic                       last_o,         // last burst of the instruction
  input  logic                       next_i
);
  localparam int unsigned DramW  = dlc_pkg::DRAM_W;
  localparam int unsigned AddrW  = dlc_pkg::ADDR_W;
  localparam int unsigned BusLog = dlc_pkg::BUS_LOG;
  localparam int unsigned BeatsW = dlc_pkg::BEATS_W;
  localparam int unsigned BurstW = dlc_pkg::BURST_W;
  localparam int unsigned SpW    = dlc_pkg::SP_W;
  localparam int unsigned RowW   = 24;
  localparam int unsigned PageBeatsW = 13 - BusLog;  // beats of a 4 KiB page

  logic             valid_q;
  logic [DramW-1:0] addr_q;      // first byte of the burst
  logic [RowW-1:0]  left_q;      // bytes of the row from there on
  logic [RowW-1:0]  row_bytes_q;
  logic [RowW-1:0]  offset_q;    // position in the row
  logic [3:0]       word_log_q;

  logic [2:0]       row_at_last, row_advance;
  logic             row_end, row_step;
  logic [DramW-1:0] row_dram, next_row_dram;
  logic [AddrW-1:0] row_word, next_row_word;

  dlc_loop_counter #(.Levels(3), .CountW(16)) u_rows (
    .clk_i, .load_i(start_i), .count_i, .step_i(row_step), .at_last_o(row_at_last), .advance_o(row_advance));
  dlc_address_walker #(.Levels(3), .AddrW(DramW), .StrideW(32)) u_dram (
    .clk_i, .load_i(start_i), .base_i(dram_address_i), .stride_i(dram_stride_i), .step_i(row_step),
    .advance_i(row_advance), .addr_o(row_dram), .next_o(next_row_dram));
  dlc_address_walker #(.Levels(3), .AddrW(AddrW), .StrideW(20)) u_word (
    .clk_i, .load_i(start_i), .base_i(address_i), .stride_i, .step_i(row_step),
    .advance_i(row_advance), .addr_o(row_word), .next_o(next_row_word));

  // Beats that the row still needs, that the page still has, and the limit: the least of the three.
  logic [RowW:0]         row_last_byte;
  logic [RowW-BusLog:0]  row_beats;
  logic [PageBeatsW-1:0] page_beats;
  logic [RowW-BusLog:0]  beats;
  logic [RowW:0]         burst_room;

  assign row_last_byte = {1'b0, left_q} + (RowW+1)'(addr_q[BusLog-1:0]) - 1'b1;
  assign row_beats  = row_last_byte[RowW:BusLog] + 1'b1;
  assign page_beats = PageBeatsW'(4096 / dlc_pkg::BUS_BYTES) - {1'b0, addr_q[11:BusLog]};
  always_comb begin
    beats = row_beats;
    if (beats > (RowW-BusLog+1)'(dlc_pkg::MAX_BURST)) beats = (RowW-BusLog+1)'(dlc_pkg::MAX_BURST);
    if (beats > (RowW-BusLog+1)'(page_beats)) beats = (RowW-BusLog+1)'(page_beats);
  end
  assign burst_room = {beats, {BusLog{1'b0}}} - (RowW+1)'(addr_q[BusLog-1:0]);

  assign row_end  = {1'b0, left_q} <= burst_room;
  assign row_step = next_i && row_end;

  assign valid_o = valid_q;
  assign addr_o  = {addr_q[DramW-1:BusLog], {BusLog{1'b0}}};
  assign beats_o = beats[BeatsW-1:0];
  assign lo_o    = addr_q[BusLog-1:0];
  assign bytes_o = row_end ? left_q[BurstW-1:0] : burst_room[BurstW-1:0];
  assign sp_o    = (SpW'(row_word) << word_log_q) + SpW'(offset_q);
  assign last_o  = row_end && (row_advance == '0);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      addr_q      <= dram_address_i;
      left_q      <= row_bytes_i;
      row_bytes_q <= row_bytes_i;
      offset_q    <= '0;
      word_log_q  <= word_log_i;
    end else if (next_i) begin
      if (row_end) begin
        addr_q   <= next_row_dram;
        left_q   <= row_bytes_q;
        offset_q <= '0;
      end else begin
        addr_q   <= addr_q + DramW'(burst_room);
        left_q   <= left_q - burst_room[RowW-1:0];
        offset_q <= offset_q + burst_room[RowW-1:0];
      end
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (start_i) valid_q <= 1'b1;
    else if (next_i && last_o) valid_q <= 1'b0;
  end

  // Only needed inside the walkers, or carries.
  logic unused;
  assign unused = ^{row_at_last, row_dram, next_row_word, row_last_byte[BusLog-1:0]};
endmodule
