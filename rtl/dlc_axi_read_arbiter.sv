// The read address channel: FETCH before LOAD, one request a cycle, when the AR register is empty or accepted in
// this cycle. ARID tells whose data comes back: 0 FETCH, 1 LOAD.
module dlc_axi_read_arbiter (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        fetch_valid_i,
  input  logic [dlc_pkg::DRAM_W-1:0]  fetch_addr_i,
  input  logic [dlc_pkg::BEATS_W-1:0] fetch_beats_i,
  output logic                        fetch_ready_o,
  input  logic                        load_valid_i,
  input  logic [dlc_pkg::DRAM_W-1:0]  load_addr_i,
  input  logic [dlc_pkg::BEATS_W-1:0] load_beats_i,
  output logic                        load_ready_o,
  output logic                        ar_valid_o,
  output logic                        ar_id_o,
  output logic [dlc_pkg::DRAM_W-1:0]  ar_addr_o,
  output logic [7:0]                  ar_len_o,
  input  logic                        ar_ready_i
);
  logic free;
  assign free          = !ar_valid_o || ar_ready_i;
  assign fetch_ready_o = free;
  assign load_ready_o  = free && !fetch_valid_i;

  always_ff @(posedge clk_i) begin
    if (free && (fetch_valid_i || load_valid_i)) begin
      ar_id_o   <= !fetch_valid_i;
      ar_addr_o <= fetch_valid_i ? fetch_addr_i : load_addr_i;
      ar_len_o  <= (fetch_valid_i ? 8'(fetch_beats_i) : 8'(load_beats_i)) - 8'd1;
    end
    if (!rst_ni) ar_valid_o <= 1'b0;
    else if (free) ar_valid_o <= fetch_valid_i || load_valid_i;
  end
endmodule
