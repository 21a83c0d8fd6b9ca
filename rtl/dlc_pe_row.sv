// A row of processing elements of the weight-stationary array. Activations pass to the right, weights and partial
// sums down, one register each. Control bits travel with the activations, along the diagonals of the array:
//   capture: take the passing weight into the shadow register
//   swap:    make the shadow weight the active one (one cycle ahead of the first activation that needs it)
//   valid:   multiply and add
// A row is clocked as one: while any of its elements has something to add, all of them do; what the others make of
// it belongs to no step and goes nowhere (ACC takes sums by its own control bundle).
// Operands lie sign extended in lanes of 32 bits: the same registers (synthesis merges equal ones), and a simulator
// multiplies a whole row with a few vector instructions instead of 256 times by itself.
// No reset: the control bits have it.
module dlc_pe_row #(
  parameter int unsigned Cols = 16,
  parameter int unsigned PreloadRows = 2,  // weight pipelines
  parameter int unsigned Lane = 0,         // the one that carries this row's weights
  parameter int unsigned SumW = 22
) (
  input  logic                          clk_i,
  input  logic [8:0]                    act_i,       // left edge
  input  logic [Cols-1:0]               valid_i,     // bit c: at element c
  input  logic [Cols-1:0]               swap_i,
  input  logic [Cols-1:0]               capture_i,
  input  logic                          wgt_moves_i, // weights pass through this row
  input  logic [Cols*PreloadRows*9-1:0] wgt_i,
  output logic [Cols*PreloadRows*9-1:0] wgt_o,
  input  logic [Cols*32-1:0]            sum_i,       // SUM_W bits, sign extended
  output logic [Cols*32-1:0]            sum_o
);
  // ---- weights ----
  logic [Cols*PreloadRows*9-1:0] wgt_q;
  logic [Cols*9-1:0]             shadow_q;
  logic [Cols*32-1:0]            active_q;
  always_ff @(posedge clk_i) begin
    if (wgt_moves_i) wgt_q <= wgt_i;
    if (|capture_i) begin
      for (int unsigned c = 0; c < Cols; c++) begin
        if (capture_i[c]) shadow_q[c*9 +: 9] <= wgt_i[(c*PreloadRows + Lane)*9 +: 9];
      end
    end
    if (|swap_i) begin
      for (int unsigned c = 0; c < Cols; c++) begin
        if (swap_i[c]) active_q[c*32 +: 32] <= 32'($signed(shadow_q[c*9 +: 9]));
      end
    end
  end
  assign wgt_o = wgt_q;

  // ---- multiply and add ----
  logic [(Cols-1)*32-1:0] act_q;
  logic [Cols*32-1:0]     act, sum_q;
  assign act = {act_q, 32'($signed(act_i))};
  always_ff @(posedge clk_i) begin
    if (|valid_i) begin
      act_q <= act[(Cols-1)*32-1:0];
      for (int unsigned c = 0; c < Cols; c++) begin
        sum_q[c*32 +: 32] <= 32'($signed(SumW'(sum_i[c*32 +: 32] + act[c*32 +: 32] * active_q[c*32 +: 32])));
      end
    end
  end
  assign sum_o = sum_q;
endmodule
