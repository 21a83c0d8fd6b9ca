// `Depth` registers in a row; they move only while enabled.
module dlc_delay #(
  parameter int unsigned Width = 9,
  parameter int unsigned Depth = 4
) (
  input  logic             clk_i,
  input  logic             enable_i,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);
  if (Depth == 0) begin : gen_wire
    assign data_o = data_i;
    logic unused;
    assign unused = clk_i ^ enable_i;
  end else begin : gen_line
    logic [Width-1:0] line_q[Depth];
    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        line_q[0] <= data_i;
        for (int unsigned i = 1; i < Depth; i++) line_q[i] <= line_q[i-1];
      end
    end
    assign data_o = line_q[Depth-1];
  end
endmodule
