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

  // A burst ends with the page, at the limit, or with the row, whichever comes first. Only the row's end needs
  // arithmetic on the number of bytes left; what page and limit allow follows from the address.
  localparam int unsigned PageBeats = 4096 / dlc_pkg::BUS_BYTES;
  logic [PageBeatsW-1:0] page_beats;
  logic                  page_first;  // the page ends before the limit, or with it
  logic [12:0]           page_room;
  logic [BurstW-1:0]     limit_room;
  logic [BurstW-1:0]     room;        // bytes that page and limit allow
  logic [BeatsW-1:0]     room_beats;
  logic [BurstW:0]       row_last_byte;  // used if the row ends in this burst: counted from the first beat

  assign page_beats = PageBeatsW'(PageBeats) - {1'b0, addr_q[11:BusLog]};
  assign page_room  = 13'd4096 - {1'b0, addr_q[11:0]};
  assign limit_room = BurstW'(dlc_pkg::MAX_BURST * dlc_pkg::BUS_BYTES) - BurstW'(addr_q[BusLog-1:0]);
  if (dlc_pkg::MAX_BURST >= PageBeats) begin : gen_page
    assign page_first = 1'b1;
  end else begin : gen_limit
    assign page_first = addr_q[11:BusLog] >= (PageBeatsW-1)'(PageBeats - dlc_pkg::MAX_BURST);
  end
  assign room       = page_first ? BurstW'(page_room) : limit_room;
  assign room_beats = page_first ? BeatsW'(page_beats) : BeatsW'(dlc_pkg::MAX_BURST);
  assign row_last_byte = {1'b0, left_q[BurstW-1:0]} + (BurstW+1)'(addr_q[BusLog-1:0]) +
                         (BurstW+1)'(dlc_pkg::BUS_BYTES - 1);

  assign row_end  = left_q <= RowW'(room);
  assign row_step = next_i && row_end;

  assign valid_o = valid_q;
  assign addr_o  = {addr_q[DramW-1:BusLog], {BusLog{1'b0}}};
  assign beats_o = row_end ? BeatsW'(row_last_byte >> BusLog) : room_beats;
  assign lo_o    = addr_q[BusLog-1:0];
  assign bytes_o = row_end ? left_q[BurstW-1:0] : room;
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
        addr_q   <= addr_q + DramW'(room);
        left_q   <= left_q - RowW'(room);
        offset_q <= offset_q + RowW'(room);
      end
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (start_i) valid_q <= 1'b1;
    else if (next_i && last_o) valid_q <= 1'b0;
  end

  // Only needed inside the walkers; carries; what the page allows where that is more than the limit.
  logic unused;
  assign unused = ^{row_at_last, row_dram, next_row_word, row_last_byte, page_beats, page_room, limit_room};
endmodule
