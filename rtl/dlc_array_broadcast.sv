// The broadcast array (VTA's style) with its edges: an ACT word goes to all columns, each of which multiplies it
// with its column of the tile and adds up. Same ports as dlc_array; the tile is one WGT word, read in the cycle of its
// first step.
//
// t: cycle of a step's ACT read, and of the tile's WGT read. Operands without their zero points in t+2, all columns'
// sums in t+2+TREE_LEVELS = t+SUM_LATENCY.
module dlc_array_broadcast (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        wgt_read_i,    // the tile is read in this cycle; data in the next
  input  logic        wgt_first_i,   // the same: a tile is one word
  input  logic        wgt_signed_i,  // for the tile of this cycle's read
  input  logic [8:0]  wgt_zero_i,
  input  logic [dlc_pkg::WGT_WORD*8-1:0] wgt_data_i,
  input  logic        step_i,        // an ACT word is read in this cycle; data in the next
  input  logic        step_first_i,  // the tile's first step
  input  logic        act_signed_i,  // for the step of this cycle
  input  logic [8:0]  act_zero_i,
  input  logic        act_clear_i,   // activations count as zero
  input  logic [dlc_pkg::ACT_WORD*8-1:0] act_data_i,
  output logic [dlc_pkg::COLS*32-1:0] sum_o
);
  localparam int unsigned Rows   = dlc_pkg::ROWS;
  localparam int unsigned Cols   = dlc_pkg::COLS;
  localparam int unsigned Levels = dlc_pkg::TREE_LEVELS;
  localparam int unsigned SumW   = 18 + Levels;  // ROWS products of 9 x 9 bits never overflow

  // ---- control: bit i is i+1 cycles old ----
  logic [Levels:0] valid_line_q;
  logic            tile_q;
  always_ff @(posedge clk_i) begin
    valid_line_q <= {valid_line_q[Levels-1:0], step_i};
    tile_q       <= wgt_read_i;
    if (!rst_ni) begin
      valid_line_q <= '0;
      tile_q       <= 1'b0;
    end
  end

  // ---- signs and zero points, aligned with the data ----
  logic       act_signed_q, act_clear_q, wgt_signed_q;
  logic [8:0] act_zero_q, wgt_zero_q;
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      act_signed_q <= act_signed_i;
      act_zero_q   <= act_zero_i;
      act_clear_q  <= act_clear_i;
    end
    if (wgt_read_i) begin
      wgt_signed_q <= wgt_signed_i;
      wgt_zero_q   <= wgt_zero_i;
    end
  end

  // ---- activations: one register a row, for all columns ----
  logic [Rows*16-1:0] act;  // in halfwords, which a simulator takes out of a wide bus with one shift
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [7:0] raw;
    logic [8:0] operand_q;
    assign raw = act_data_i[r*8 +: 8];
    always_ff @(posedge clk_i) begin
      if (valid_line_q[0]) operand_q <= act_clear_q ? '0 : {act_signed_q & raw[7], raw} - act_zero_q;
    end
    assign act[r*16 +: 16] = 16'($signed(operand_q));
  end

  // ---- columns ----
  for (genvar c = 0; c < Cols; c++) begin : gen_col
    logic [Rows*8-1:0] weights;
    logic [SumW-1:0]   sum;
    for (genvar r = 0; r < Rows; r++) begin : gen_weight
      assign weights[r*8 +: 8] = wgt_data_i[(r*Cols + c)*8 +: 8];
    end
    dlc_dot_product #(.Rows(Rows), .SumW(SumW)) u_dot (
      .clk_i, .tile_i(tile_q), .wgt_signed_i(wgt_signed_q), .wgt_zero_i(wgt_zero_q), .wgt_i(weights),
      .valid_i(valid_line_q[Levels:1]), .act_i(act), .sum_o(sum));
    assign sum_o[c*32 +: 32] = 32'($signed(sum));
  end

  logic unused;
  assign unused = wgt_first_i ^ step_first_i;
endmodule
