// The systolic array with its edges: zero points are subtracted, rows and columns are skewed. A control bit reaches
// all elements of a diagonal in the same cycle, so one line of registers has it for the whole array.
//
// p: cycle of a tile's first WGT read (word k in p+k). Word k is at the top of column c in p+k+2+c and at row r
// in p+k+2+c+r; row r captures word r/PRELOAD_ROWS in p + r/PRELOAD_ROWS + r + c + 2.
// t: cycle of a step's ACT read. Its activation is at PE (r,c) in t+3+r+c, the swap one cycle ahead, and column
// c's sum leaves the bottom in t+3+ROWS+c.
// So with t >= p + TILE_WORDS every row has its weight in time, and a next preload may begin in cycle t of the
// tile's first step: its captures follow the swaps on the same diagonal (isa/README.md, MATRIX).
module dlc_array (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        wgt_read_i,    // a WGT word is read in this cycle; data in the next
  input  logic        wgt_first_i,   // the tile's first word
  input  logic        wgt_signed_i,  // for the data of the previous cycle's read
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
  localparam int unsigned Rows = dlc_pkg::ROWS;
  localparam int unsigned Cols = dlc_pkg::COLS;
  localparam int unsigned PR   = dlc_pkg::PRELOAD_ROWS;
  localparam int unsigned Tile = dlc_pkg::TILE_WORDS;
  localparam int unsigned SumW = 18 + $clog2(Rows);  // ROWS products of 9 x 9 bits never overflow

  // ---- control lines: bit i is i+1 cycles old ----
  localparam int unsigned Path = Rows + Cols;
  logic [Path:0]        valid_line_q;
  logic [Path-1:0]      swap_line_q;
  logic [Path+Tile-2:0] capture_line_q;
  logic [Path-1:0]      wgt_line_q;
  always_ff @(posedge clk_i) begin
    valid_line_q   <= {valid_line_q[Path-1:0], step_i};
    swap_line_q    <= {swap_line_q[Path-2:0], step_i && step_first_i};
    capture_line_q <= {capture_line_q[Path+Tile-3:0], wgt_read_i && wgt_first_i};
    wgt_line_q     <= {wgt_line_q[Path-2:0], wgt_read_i};
    if (!rst_ni) begin
      valid_line_q   <= '0;
      swap_line_q    <= '0;
      capture_line_q <= '0;
      wgt_line_q     <= '0;
    end
  end
  logic act_moves, wgt_moves;  // the skew registers hold something under way
  assign act_moves = |valid_line_q[Rows+1:0];
  assign wgt_moves = |wgt_line_q[Cols:0];

  // ---- the activation's sign and zero point, aligned with its data ----
  logic       act_signed_q, act_clear_q;
  logic [8:0] act_zero_q;
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      act_signed_q <= act_signed_i;
      act_zero_q   <= act_zero_i;
      act_clear_q  <= act_clear_i;
    end
  end

  // ---- edges ----
  for (genvar r = 0; r < Rows; r++) begin : gen_row_edge
    logic [7:0] raw;
    logic [8:0] operand_q, skewed;
    assign raw = act_data_i[r*8 +: 8];
    always_ff @(posedge clk_i) begin
      if (valid_line_q[0]) operand_q <= act_clear_q ? '0 : {act_signed_q & raw[7], raw} - act_zero_q;
    end
    dlc_delay #(.Width(9), .Depth(r + 1)) u_skew (
      .clk_i, .enable_i(act_moves), .data_i(operand_q), .data_o(skewed));
  end

  for (genvar c = 0; c < Cols; c++) begin : gen_col_edge
    logic [PR*9-1:0] operand_q, skewed;
    for (genvar m = 0; m < PR; m++) begin : gen_lane
      logic [7:0] raw;
      assign raw = wgt_data_i[(m*Cols + c)*8 +: 8];
      always_ff @(posedge clk_i) begin
        if (wgt_line_q[0]) operand_q[m*9 +: 9] <= {wgt_signed_i & raw[7], raw} - wgt_zero_i;
      end
    end
    dlc_delay #(.Width(PR*9), .Depth(c)) u_skew (
      .clk_i, .enable_i(wgt_moves), .data_i(operand_q), .data_o(skewed));
  end

  // ---- processing elements ----
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [Cols*PR*9-1:0] wgt_in, wgt_out;
    logic [Cols*32-1:0]   sum_in, sum_out;
    if (r == 0) begin : gen_top
      for (genvar c = 0; c < Cols; c++) begin : gen_col
        assign wgt_in[c*PR*9 +: PR*9] = gen_col_edge[c].skewed;
      end
      assign sum_in = '0;
    end else begin : gen_below
      assign wgt_in = gen_row[r-1].wgt_out;
      assign sum_in = gen_row[r-1].sum_out;
    end
    dlc_pe_row #(.Cols(Cols), .PreloadRows(PR), .Lane(r % PR), .SumW(SumW)) u_row (
      .clk_i, .act_i(gen_row_edge[r].skewed), .valid_i(valid_line_q[r + 2 +: Cols]),
      .swap_i(swap_line_q[r + 1 +: Cols]), .capture_i(capture_line_q[r + r/PR + 1 +: Cols]),
      .wgt_moves_i(|wgt_line_q[r + 1 +: Cols]), .wgt_i(wgt_in), .wgt_o(wgt_out), .sum_i(sum_in), .sum_o(sum_out));
  end
  assign sum_o = gen_row[Rows-1].sum_out;
endmodule
