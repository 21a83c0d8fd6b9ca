// FETCH: reads the program in bursts (only with room for the whole burst), assembles instructions from 16-byte
// units, one unit a cycle, and pushes each into its engine's queue in the cycle of its last unit.
module dlc_fetch (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        start_i,      // the cycle before cycle 0
  input  logic                        running_i,
  input  logic [dlc_pkg::DRAM_W-1:0]  address_i,    // multiple of 4 KiB
  input  logic [31:0]                 units_i,      // 16-byte units of the program
  // read requests
  output logic                        req_valid_o,
  output logic [dlc_pkg::DRAM_W-1:0]  req_addr_o,
  output logic [dlc_pkg::BEATS_W-1:0] req_beats_o,
  input  logic                        req_ready_i,
  // read data
  input  logic                        beat_i,
  input  logic [dlc_pkg::BUS_W-1:0]   beat_data_i,
  // queues: load, matrix, vector, store
  input  logic [3:0]                  full_i,
  output logic [3:0]                  push_o,
  output logic [dlc_isa_pkg::MAX_UNITS*dlc_isa_pkg::UNIT_BITS-1:0] instr_o,  // optional sections absent: zero
  // state
  output logic                        busy_o,       // a unit is consumed
  output logic                        blocked_o,    // a unit is there, but its queue is full
  output logic                        done_o,
  output logic                        error_o       // not an instruction: FETCH has stopped
);
  localparam int unsigned UnitW      = dlc_isa_pkg::UNIT_BITS;
  localparam int unsigned BurstBytes = dlc_config_pkg::FETCH_BURST_BYTES;
  localparam int unsigned Buffers    = dlc_config_pkg::FETCH_BUFFERS;
  localparam int unsigned BurstUnits = BurstBytes / 16;
  localparam int unsigned BusBytes   = dlc_pkg::BUS_BYTES;
  localparam int unsigned BurstBeats = BurstBytes / BusBytes;
  // The buffer's rows are as wide as the wider of unit and bus.
  localparam int unsigned RowBytes   = BusBytes > 16 ? BusBytes : 16;
  localparam int unsigned RowUnits   = RowBytes / 16;
  localparam int unsigned BeatsRow   = RowBytes / BusBytes;  // beats that fill a row
  localparam int unsigned Rows       = Buffers * BurstBytes / RowBytes;
  localparam int unsigned RowPtrW    = Rows > 1 ? $clog2(Rows) : 1;
  localparam int unsigned UnitsW     = $clog2(Buffers * BurstUnits + 1);
  localparam int unsigned SubW       = RowUnits > 1 ? $clog2(RowUnits) : 1;
  localparam int unsigned PartW      = BeatsRow > 1 ? $clog2(BeatsRow) : 1;
  localparam int unsigned BurstPosW  = BurstUnits > 1 ? $clog2(BurstUnits) : 1;
  localparam int unsigned BufW       = $clog2(Buffers + 1);

  // ---- requests ----
  logic [31:0]                bursts_left_q;
  logic [dlc_pkg::DRAM_W-1:0] next_addr_q;
  logic [BufW-1:0]            held_q;  // bursts requested and not fully consumed
  logic                       req_valid_q, generate_burst, burst_consumed;

  assign generate_burst = running_i && (bursts_left_q != '0) && (!req_valid_q || req_ready_i) &&
                          (held_q != BufW'(Buffers));
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      next_addr_q   <= address_i;
      bursts_left_q <= (units_i + 32'(BurstUnits - 1)) / 32'(BurstUnits);
      held_q        <= '0;
    end else begin
      if (generate_burst) begin
        req_addr_o    <= next_addr_q;
        next_addr_q   <= next_addr_q + dlc_pkg::DRAM_W'(BurstBytes);
        bursts_left_q <= bursts_left_q - 1'b1;
      end
      if (generate_burst != burst_consumed) held_q <= generate_burst ? held_q + 1'b1 : held_q - 1'b1;
    end
    if (!rst_ni) req_valid_q <= 1'b0;
    else if (generate_burst) req_valid_q <= 1'b1;
    else if (req_ready_i) req_valid_q <= 1'b0;
  end
  assign req_valid_o = req_valid_q;
  assign req_beats_o = dlc_pkg::BEATS_W'(BurstBeats);

  // ---- buffer: written by beats, read by units ----
  logic [8*RowBytes-1:0] buffer_q[Rows];
  logic [RowPtrW-1:0]    wrow_q, rrow_q;
  logic [UnitsW-1:0]     available_q;
  logic                  row_filled;
  logic                  consume;

  function automatic logic [RowPtrW-1:0] next_row(input logic [RowPtrW-1:0] row);
    next_row = row == RowPtrW'(Rows - 1) ? '0 : row + 1'b1;
  endfunction

  if (BeatsRow == 1) begin : gen_row_a_beat
    assign row_filled = beat_i;
    always_ff @(posedge clk_i) if (beat_i) buffer_q[wrow_q] <= beat_data_i;
  end else begin : gen_beats
    logic [PartW-1:0]                       part_q;
    logic [(BeatsRow-1)*dlc_pkg::BUS_W-1:0] parts_q;  // earlier beats of the row, the oldest lowest
    assign row_filled = beat_i && (&part_q);
    always_ff @(posedge clk_i) begin
      if (beat_i) begin
        part_q <= part_q + 1'b1;
        if (row_filled) buffer_q[wrow_q] <= {beat_data_i, parts_q};
        for (int unsigned i = 0; i < BeatsRow - 1; i++) begin
          if (part_q == PartW'(i)) parts_q[i*dlc_pkg::BUS_W +: dlc_pkg::BUS_W] <= beat_data_i;
        end
      end
      if (start_i || !rst_ni) part_q <= '0;
    end
  end

  logic [UnitW-1:0] unit;
  logic             row_read;
  if (RowUnits == 1) begin : gen_unit_row
    assign unit = buffer_q[rrow_q];
    assign row_read = consume;
  end else begin : gen_units_row
    logic [SubW-1:0] sub_q;
    assign unit = buffer_q[rrow_q][32'(sub_q)*UnitW +: UnitW];
    assign row_read = consume && (&sub_q);
    always_ff @(posedge clk_i) begin
      if (start_i || !rst_ni) sub_q <= '0;
      else if (consume) sub_q <= sub_q + 1'b1;
    end
  end

  // ---- units -> instructions ----
  logic [31:0]          units_left_q;
  logic [BurstPosW-1:0] burst_pos_q;  // unit within its burst
  logic [3:0]           index_q;      // unit within its instruction
  logic [3:0]           opcode_q, length_q, opcode, length;
  logic [UnitW-1:0]     earlier_q[dlc_isa_pkg::MAX_UNITS-1];
  logic                 last_unit, available, known;
  logic [3:0]           target;

  assign opcode    = index_q == '0 ? unit[dlc_isa_pkg::HEADER_OPCODE_LSB +: 4] : opcode_q;
  assign length    = index_q == '0 ? unit[dlc_isa_pkg::HEADER_LENGTH_LSB +: 4] : length_q;
  assign available = (available_q != '0) && (units_left_q != '0) && !error_o;
  assign last_unit = index_q + 1'b1 == length;

  always_comb begin
    target = '0;
    known  = 1'b0;
    unique case (opcode)
      dlc_isa_pkg::OPCODE_LOAD: begin
        target[dlc_isa_pkg::ENGINE_LOAD] = 1'b1;
        known = length == 4'(dlc_isa_pkg::LOAD_UNITS);
      end
      dlc_isa_pkg::OPCODE_MATRIX: begin
        target[dlc_isa_pkg::ENGINE_MATRIX] = 1'b1;
        known = length == 4'(dlc_isa_pkg::MATRIX_UNITS);
      end
      dlc_isa_pkg::OPCODE_VECTOR: begin
        target[dlc_isa_pkg::ENGINE_VECTOR] = 1'b1;
        known = length == 4'(dlc_isa_pkg::VECTOR_UNITS) || length == 4'(dlc_isa_pkg::VECTOR_B_UNITS);
      end
      dlc_isa_pkg::OPCODE_STORE: begin
        target[dlc_isa_pkg::ENGINE_STORE] = 1'b1;
        known = length == 4'(dlc_isa_pkg::STORE_UNITS);
      end
      default: ;
    endcase
  end

  assign blocked_o      = available && known && last_unit && (|(target & full_i));
  assign consume        = available && known && !blocked_o;
  assign push_o         = (consume && last_unit) ? target : '0;
  assign busy_o         = consume;
  assign done_o         = (units_left_q == '0) || error_o;
  assign burst_consumed = consume && (burst_pos_q == BurstPosW'(BurstUnits - 1));

  always_ff @(posedge clk_i) begin
    if (start_i || !rst_ni) begin
      units_left_q <= start_i ? units_i : '0;
      available_q  <= '0;
      burst_pos_q  <= '0;
      index_q      <= '0;
      wrow_q       <= '0;
      rrow_q       <= '0;
      error_o      <= 1'b0;
    end else begin
      if (available && !known) error_o <= 1'b1;
      if (row_filled) wrow_q <= next_row(wrow_q);
      if (row_read) rrow_q <= next_row(rrow_q);
      if (row_filled || consume) begin
        available_q <= available_q + (row_filled ? UnitsW'(RowUnits) : '0) - UnitsW'(consume);
      end
      if (consume) begin
        units_left_q <= units_left_q - 1'b1;
        burst_pos_q  <= burst_pos_q == BurstPosW'(BurstUnits - 1) ? '0 : burst_pos_q + 1'b1;
        index_q      <= last_unit ? '0 : index_q + 1'b1;
      end
    end
    if (consume) begin
      opcode_q <= opcode;
      length_q <= length;
    end
  end

  // Unit i of the instruction: the current one in its place, earlier ones below, zero above.
  for (genvar i = 0; i < dlc_isa_pkg::MAX_UNITS - 1; i++) begin : gen_earlier
    always_ff @(posedge clk_i) if (consume && index_q == 4'(i)) earlier_q[i] <= unit;
  end
  for (genvar i = 0; i < dlc_isa_pkg::MAX_UNITS; i++) begin : gen_instr
    if (i < dlc_isa_pkg::LOAD_UNITS - 1) begin : gen_early
      assign instr_o[i*UnitW +: UnitW] = earlier_q[i];
    end else if (i < dlc_isa_pkg::MAX_UNITS - 1) begin : gen_middle
      assign instr_o[i*UnitW +: UnitW] = index_q == 4'(i) ? unit : (index_q > 4'(i) ? earlier_q[i] : '0);
    end else begin : gen_last
      assign instr_o[i*UnitW +: UnitW] = index_q == 4'(i) ? unit : '0;
    end
  end
endmodule
