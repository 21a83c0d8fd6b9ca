// Cycle counter and, per engine (load, matrix, vector, store, fetch), the counters busy, wait_dependency,
// wait_memory, idle: in every running cycle exactly one of an engine's four counts.
module dlc_counters (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        running_i,
  input  logic [4:0]  busy_i,
  input  logic [4:0]  wait_dependency_i,  // used if not busy
  input  logic [4:0]  wait_memory_i,      // used if neither
  input  logic [4:0]  select_i,           // engine * 4 + counter, 20: cycles
  output logic [63:0] value_o
);
  logic [63:0] cycles_q;
  logic [63:0] count_q[20];
  always_ff @(posedge clk_i) begin
    if (clear_i) cycles_q <= '0;
    else if (running_i) cycles_q <= cycles_q + 1'b1;
  end
  for (genvar e = 0; e < 5; e++) begin : gen_engine
    always_ff @(posedge clk_i) begin
      if (clear_i) begin
        for (int unsigned k = 0; k < 4; k++) count_q[e*4 + k] <= '0;
      end else if (running_i) begin
        if (busy_i[e]) count_q[e*4] <= count_q[e*4] + 1'b1;
        else if (wait_dependency_i[e]) count_q[e*4 + 1] <= count_q[e*4 + 1] + 1'b1;
        else if (wait_memory_i[e]) count_q[e*4 + 2] <= count_q[e*4 + 2] + 1'b1;
        else count_q[e*4 + 3] <= count_q[e*4 + 3] + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  // In each cycle exactly one of an engine's four counts: at the end they add up to all cycles.
  logic running_q;
  for (genvar e = 0; e < 5; e++) begin : gen_check
    always_ff @(posedge clk_i) begin
      if (rst_ni && running_q && !running_i) begin
        assert (count_q[e*4] + count_q[e*4 + 1] + count_q[e*4 + 2] + count_q[e*4 + 3] == cycles_q)
          else $error("counters: an engine's four do not add up to the cycles");
      end
    end
  end
  always_ff @(posedge clk_i) running_q <= rst_ni && running_i;
`endif

  assign value_o = select_i < 5'd20 ? count_q[select_i] : cycles_q;
endmodule
