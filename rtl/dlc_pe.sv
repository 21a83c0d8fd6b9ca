// A processing element of the weight-stationary array: activations pass to the right, weights and partial sums
// down, one register each. The control bits travel with the activations, along the diagonal:
//   capture: take the passing weight into the shadow register
//   swap:    make the shadow weight the active one (one cycle ahead of the first activation that needs it)
//   valid:   multiply and add
// No reset: dlc_array's edges are clear, and garbage bits leave within COLS cycles of reset.
module dlc_pe #(
  parameter int unsigned PreloadRows = 2,  // weight pipelines
  parameter int unsigned Lane = 0,         // the one that carries this row's weight
  parameter int unsigned SumW = 32
) (
  input  logic                     clk_i,
  input  logic [11:0]              act_i,   // {capture, swap, valid, activation[8:0]}
  output logic [11:0]              act_o,
  input  logic [PreloadRows*9-1:0] wgt_i,
  output logic [PreloadRows*9-1:0] wgt_o,
  input  logic [SumW-1:0]          sum_i,
  output logic [SumW-1:0]          sum_o
);
  logic [11:0]              act_q;
  logic [PreloadRows*9-1:0] wgt_q;
  logic [8:0]               shadow_q, active_q;
  logic [SumW-1:0]          sum_q;

  always_ff @(posedge clk_i) begin
    act_q <= act_i;
    wgt_q <= wgt_i;
    if (|act_i[11:10]) begin  // rare: one test in the usual cycle keeps the simulation fast
      if (act_i[11]) shadow_q <= wgt_i[Lane*9 +: 9];
      if (act_i[10]) active_q <= shadow_q;
    end
    if (act_i[9]) sum_q <= SumW'(32'(sum_i) + 32'($signed(act_i[8:0])) * 32'($signed(active_q)));
  end

  assign act_o = act_q;
  assign wgt_o = wgt_q;
  assign sum_o = sum_q;
endmodule
