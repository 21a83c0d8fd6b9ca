// An engine's instruction queue with its wait check. An entry pushed in cycle p can be started from p+1; a pop
// frees its slot for FETCH in the next cycle (full_o comes from the registered count).
// The engine's header bits and the instruction's body lie apart, so that neither is shifted on its way.
module dlc_queue #(
  parameter int unsigned OwnW = 24,    // bits of the first unit that belong to the engine
  parameter int unsigned BodyW = 128,  // the other units
  parameter int unsigned Depth = 8,
  parameter int unsigned WaitW = dlc_isa_pkg::HEADER_WAIT_N * dlc_isa_pkg::HEADER_WAIT_W
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             push_i,
  input  logic [WaitW-1:0] push_wait_i,
  input  logic [OwnW-1:0]  push_own_i,
  input  logic [BodyW-1:0] push_body_i,
  output logic             full_o,
  input  logic [WaitW-1:0] retired_i,  // retire counters of all engines
  output logic             valid_o,    // there is a head
  output logic             ready_o,    // ... and all that it waits for has retired
  output logic [OwnW-1:0]  own_o,
  output logic [BodyW-1:0] body_o,
  input  logic             pop_i
);
  localparam int unsigned N = dlc_isa_pkg::HEADER_WAIT_N;
  localparam int unsigned W = dlc_isa_pkg::HEADER_WAIT_W;
  localparam int unsigned PtrW = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountW = $clog2(Depth + 1);

  logic [WaitW-1:0]  wait_q[Depth];
  logic [OwnW-1:0]   own_q[Depth];
  logic [BodyW-1:0]  body_q[Depth];
  logic [PtrW-1:0]   rptr_q, wptr_q;
  logic [CountW-1:0] count_q;

  function automatic logic [PtrW-1:0] next_ptr(input logic [PtrW-1:0] ptr);
    next_ptr = ptr == PtrW'(Depth - 1) ? '0 : ptr + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      wait_q[wptr_q] <= push_wait_i;
      own_q[wptr_q]  <= push_own_i;
      body_q[wptr_q] <= push_body_i;
      wptr_q <= next_ptr(wptr_q);
    end
    if (pop_i) rptr_q <= next_ptr(rptr_q);
    if (push_i != pop_i) count_q <= push_i ? count_q + 1'b1 : count_q - 1'b1;
    if (!rst_ni) begin
      rptr_q <= '0;
      wptr_q <= '0;
      count_q <= '0;
    end
  end

  logic [WaitW-1:0] head_wait;
  logic [N-1:0]     met;
  assign head_wait = wait_q[rptr_q];
  for (genvar e = 0; e < N; e++) begin : gen_wait
    assign met[e] = retired_i[e*W +: W] >= head_wait[e*W +: W];
  end

  assign full_o  = count_q == CountW'(Depth);
  assign valid_o = count_q != '0;
  assign ready_o = valid_o && (&met);
  assign own_o   = own_q[rptr_q];
  assign body_o  = body_q[rptr_q];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(push_i && full_o)) else $error("push into a full queue");
      assert (!(pop_i && !valid_o)) else $error("pop from an empty queue");
    end
  end
`endif
endmodule
