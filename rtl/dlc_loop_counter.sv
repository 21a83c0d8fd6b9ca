// The indices of a loop nest, level 0 outermost (in the lowest bits of the flat ports). advance_o names, one-hot,
// the level whose index the next step increments (all deeper ones start again); zero: the last iteration.
module dlc_loop_counter #(
  parameter int unsigned Levels = 3,
  parameter int unsigned CountW = 16
) (
  input  logic                     clk_i,
  input  logic                     load_i,
  input  logic [Levels*CountW-1:0] count_i,  // iterations, each >= 1
  input  logic                     step_i,
  output logic [Levels-1:0]        at_last_o,
  output logic [Levels-1:0]        advance_o
);
  logic [CountW-1:0] reload_q[Levels];  // count - 1
  logic [CountW-1:0] left_q[Levels];    // iterations left after this one
  logic [Levels-1:0] at_last;
  logic [Levels-1:0] inner_last;        // all deeper levels are at their last iteration

  for (genvar k = 0; k < Levels; k++) begin : gen_level
    assign at_last[k] = left_q[k] == '0;
    if (k == Levels - 1) begin : gen_innermost
      assign inner_last[k] = 1'b1;
    end else begin : gen_outer
      assign inner_last[k] = &at_last[Levels-1:k+1];
    end
    always_ff @(posedge clk_i) begin
      if (load_i) begin
        reload_q[k] <= count_i[k*CountW +: CountW] - 1'b1;
        left_q[k]   <= count_i[k*CountW +: CountW] - 1'b1;
      end else if (step_i && inner_last[k]) begin
        left_q[k] <= at_last[k] ? reload_q[k] : left_q[k] - 1'b1;
      end
    end
  end

  assign at_last_o = at_last;
  assign advance_o = inner_last & ~at_last;
endmodule
