// The address that belongs to a dlc_loop_counter: base + sum(index * stride), with one adder. Each level keeps
// the address of its current iteration's start.
module dlc_address_walker #(
  parameter int unsigned Levels = 3,
  parameter int unsigned AddrW = 20,
  parameter int unsigned StrideW = 20
) (
  input  logic                      clk_i,
  input  logic                      load_i,
  input  logic [AddrW-1:0]          base_i,
  input  logic [Levels*StrideW-1:0] stride_i,
  input  logic                      step_i,
  input  logic [Levels-1:0]         advance_i,
  output logic [AddrW-1:0]          addr_o,
  output logic [AddrW-1:0]          next_o    // address after the coming step
);
  logic [AddrW-1:0]   base_q[Levels];
  logic [StrideW-1:0] stride_q[Levels];

  always_comb begin
    next_o = base_q[Levels-1];
    for (int unsigned k = 0; k < Levels; k++) begin
      if (advance_i[k]) next_o = base_q[k] + AddrW'($signed(stride_q[k]));
    end
  end

  for (genvar m = 0; m < Levels; m++) begin : gen_level
    always_ff @(posedge clk_i) begin
      if (load_i) begin
        base_q[m]   <= base_i;
        stride_q[m] <= stride_i[m*StrideW +: StrideW];
      end else if (step_i && (|advance_i[m:0])) begin
        base_q[m] <= next_o;
      end
    end
  end

  assign addr_o = base_q[Levels-1];
endmodule
