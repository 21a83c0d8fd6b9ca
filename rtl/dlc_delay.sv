// `Depth` registers in a row; they move only while enabled. They lie in vectors of at most 64 bits, which a
// simulator shifts at once.
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
    localparam int unsigned Stages = Width < 64 ? 64 / Width : 1;  // in a vector
    localparam int unsigned Vectors = (Depth + Stages - 1) / Stages;
    for (genvar v = 0; v < Vectors; v++) begin : gen_vector
      localparam int unsigned N = v + 1 < Vectors ? Stages : Depth - v * Stages;
      logic [Width-1:0]   from;
      logic [N*Width-1:0] line_q;
      if (v == 0) begin : gen_first
        assign from = data_i;
      end else begin : gen_next
        assign from = gen_vector[v-1].line_q[Stages*Width-1 -: Width];
      end
      if (N == 1) begin : gen_one
        always_ff @(posedge clk_i) if (enable_i) line_q <= from;
      end else begin : gen_many
        always_ff @(posedge clk_i) if (enable_i) line_q <= {line_q[(N-1)*Width-1:0], from};
      end
    end
    assign data_o = gen_vector[Vectors-1].line_q[(Depth-(Vectors-1)*Stages)*Width-1 -: Width];
  end
endmodule
