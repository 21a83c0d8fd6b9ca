// A column of the broadcast array: its weights, ROWS multipliers and an adder tree with a register a level. The
// first level multiplies two operand pairs and adds the products, as deep as a PE of the systolic array.
module dlc_dot_product #(
  parameter int unsigned Rows = 16,
  parameter int unsigned SumW = 22,
  parameter int unsigned Levels = $clog2(Rows)
) (
  input  logic               clk_i,
  input  logic               tile_i,        // take over the weights
  input  logic               wgt_signed_i,
  input  logic [8:0]         wgt_zero_i,
  input  logic [Rows*8-1:0]  wgt_i,
  input  logic [Levels-1:0]  valid_i,       // bit k: level k has something to add
  input  logic [Rows*16-1:0] act_i,         // 9 bit operands, sign extended
  output logic [SumW-1:0]    sum_o          // Levels cycles after act_i
);
  for (genvar r = 0; r < Rows; r++) begin : gen_weight
    logic [7:0] raw;
    logic [8:0] weight_q;
    assign raw = wgt_i[r*8 +: 8];
    always_ff @(posedge clk_i) begin
      if (tile_i) weight_q <= {wgt_signed_i & raw[7], raw} - wgt_zero_i;
    end
  end

  // A heap: node n adds nodes 2n and 2n+1, node 1 is the root; the lower half are the first level.
  for (genvar n = 1; n < Rows; n++) begin : gen_node
    localparam int unsigned Level = Levels - $clog2(n + 1);
    logic [SumW-1:0] sum_q;
    if (Level == 0) begin : gen_multiply
      localparam int unsigned R = 2 * n - Rows;
      logic [8:0] act0, act1;
      assign act0 = act_i[R*16 +: 9];
      assign act1 = act_i[R*16 + 16 +: 9];
      always_ff @(posedge clk_i) begin
        if (valid_i[Level]) begin
          sum_q <= SumW'(32'($signed(act0)) * 32'($signed(gen_weight[R].weight_q)) +
                         32'($signed(act1)) * 32'($signed(gen_weight[R+1].weight_q)));
        end
      end
    end else begin : gen_add
      always_ff @(posedge clk_i) begin
        if (valid_i[Level]) sum_q <= gen_node[2*n].sum_q + gen_node[2*n+1].sum_q;
      end
    end
  end
  assign sum_o = gen_node[1].sum_q;
endmodule
