// dlc: an AXI4 master for data and program, an AXI4-Lite slave for control (dlc_regs.sv has the register map).
// One clock, synchronous reset, which must be held for at least rows + cols cycles (the array's data path has no
// reset of its own). Read data and responses are always taken: RREADY = BREADY = 1. IDs: 0 FETCH, 1 LOAD; writes 0.
module dlc_top (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // AXI4 master
  output logic                        m_axi_arvalid_o,
  output logic                        m_axi_arid_o,
  output logic [dlc_pkg::DRAM_W-1:0]  m_axi_araddr_o,
  output logic [7:0]                  m_axi_arlen_o,
  output logic [2:0]                  m_axi_arsize_o,
  output logic [1:0]                  m_axi_arburst_o,
  input  logic                        m_axi_arready_i,
  input  logic                        m_axi_rvalid_i,
  input  logic                        m_axi_rid_i,
  input  logic [dlc_pkg::BUS_W-1:0]   m_axi_rdata_i,
  input  logic [1:0]                  m_axi_rresp_i,
  input  logic                        m_axi_rlast_i,
  output logic                        m_axi_rready_o,
  output logic                        m_axi_awvalid_o,
  output logic                        m_axi_awid_o,
  output logic [dlc_pkg::DRAM_W-1:0]  m_axi_awaddr_o,
  output logic [7:0]                  m_axi_awlen_o,
  output logic [2:0]                  m_axi_awsize_o,
  output logic [1:0]                  m_axi_awburst_o,
  input  logic                        m_axi_awready_i,
  output logic                        m_axi_wvalid_o,
  output logic [dlc_pkg::BUS_W-1:0]   m_axi_wdata_o,
  output logic [dlc_pkg::BUS_BYTES-1:0] m_axi_wstrb_o,
  output logic                        m_axi_wlast_o,
  input  logic                        m_axi_wready_i,
  input  logic                        m_axi_bvalid_i,
  input  logic [1:0]                  m_axi_bresp_i,
  output logic                        m_axi_bready_o,
  // AXI4-Lite slave
  input  logic                        s_axil_awvalid_i,
  input  logic [7:0]                  s_axil_awaddr_i,
  output logic                        s_axil_awready_o,
  input  logic                        s_axil_wvalid_i,
  input  logic [31:0]                 s_axil_wdata_i,
  output logic                        s_axil_wready_o,
  output logic                        s_axil_bvalid_o,
  output logic [1:0]                  s_axil_bresp_o,
  input  logic                        s_axil_bready_i,
  input  logic                        s_axil_arvalid_i,
  input  logic [7:0]                  s_axil_araddr_i,
  output logic                        s_axil_arready_o,
  output logic                        s_axil_rvalid_o,
  output logic [31:0]                 s_axil_rdata_o,
  output logic [1:0]                  s_axil_rresp_o,
  input  logic                        s_axil_rready_i,
  // trace (load, matrix, vector, store)
  output logic                        running_o,
  output logic [3:0]                  trace_start_o,
  output logic [3:0]                  trace_retire_o
);
  logic                        start, done, error;
  logic [dlc_pkg::DRAM_W-1:0]  program_address;
  logic [31:0]                 program_units;
  logic [4:0]                  counter_select;
  logic [63:0]                 counter;
  logic [dlc_pkg::BEATS_W-1:0] aw_beats;

  dlc_regs u_regs (
    .clk_i, .rst_ni, .awvalid_i(s_axil_awvalid_i), .awaddr_i(s_axil_awaddr_i), .awready_o(s_axil_awready_o),
    .wvalid_i(s_axil_wvalid_i), .wdata_i(s_axil_wdata_i), .wready_o(s_axil_wready_o), .bvalid_o(s_axil_bvalid_o),
    .bready_i(s_axil_bready_i), .arvalid_i(s_axil_arvalid_i), .araddr_i(s_axil_araddr_i),
    .arready_o(s_axil_arready_o), .rvalid_o(s_axil_rvalid_o), .rdata_o(s_axil_rdata_o), .rready_i(s_axil_rready_i),
    .start_o(start), .program_address_o(program_address), .program_units_o(program_units), .running_i(running_o),
    .done_i(done), .error_i(error), .select_o(counter_select), .counter_i(counter));
  assign s_axil_bresp_o = 2'b00;
  assign s_axil_rresp_o = 2'b00;

  dlc_core u_core (
    .clk_i, .rst_ni, .start_i(start), .program_address_i(program_address), .program_units_i(program_units),
    .running_o, .done_o(done), .error_o(error), .counter_select_i(counter_select), .counter_o(counter),
    .ar_valid_o(m_axi_arvalid_o), .ar_id_o(m_axi_arid_o), .ar_addr_o(m_axi_araddr_o), .ar_len_o(m_axi_arlen_o),
    .ar_ready_i(m_axi_arready_i), .r_valid_i(m_axi_rvalid_i), .r_id_i(m_axi_rid_i), .r_data_i(m_axi_rdata_i),
    .r_last_i(m_axi_rlast_i), .r_error_i(m_axi_rresp_i[1]), .aw_valid_o(m_axi_awvalid_o),
    .aw_addr_o(m_axi_awaddr_o), .aw_beats_o(aw_beats), .aw_ready_i(m_axi_awready_i), .w_valid_o(m_axi_wvalid_o),
    .w_data_o(m_axi_wdata_o), .w_strb_o(m_axi_wstrb_o), .w_last_o(m_axi_wlast_o), .w_ready_i(m_axi_wready_i),
    .b_valid_i(m_axi_bvalid_i), .b_error_i(m_axi_bresp_i[1]), .trace_start_o, .trace_retire_o);

  assign m_axi_arsize_o  = 3'(dlc_pkg::BUS_LOG);
  assign m_axi_arburst_o = 2'b01;  // INCR
  assign m_axi_rready_o  = 1'b1;
  assign m_axi_awid_o    = 1'b0;
  assign m_axi_awlen_o   = 8'(aw_beats) - 8'd1;
  assign m_axi_awsize_o  = 3'(dlc_pkg::BUS_LOG);
  assign m_axi_awburst_o = 2'b01;
  assign m_axi_bready_o  = 1'b1;

  logic unused;
  assign unused = m_axi_rresp_i[0] ^ m_axi_bresp_i[0];

`ifndef SYNTHESIS
  // AXI4 A3.2.1: once VALID is high, it and what goes with it stay until READY.
  localparam int unsigned ArW = dlc_pkg::DRAM_W + 9;
  localparam int unsigned AwW = dlc_pkg::DRAM_W + 8;
  localparam int unsigned WW  = dlc_pkg::BUS_W + dlc_pkg::BUS_BYTES + 1;
  logic           ar_held_q, aw_held_q, w_held_q;
  logic [ArW-1:0] ar_q;
  logic [AwW-1:0] aw_q;
  logic [WW-1:0]  w_q;
  always_ff @(posedge clk_i) begin
    ar_held_q <= rst_ni && m_axi_arvalid_o && !m_axi_arready_i;
    aw_held_q <= rst_ni && m_axi_awvalid_o && !m_axi_awready_i;
    w_held_q  <= rst_ni && m_axi_wvalid_o && !m_axi_wready_i;
    if (m_axi_arvalid_o && !m_axi_arready_i) ar_q <= {m_axi_arid_o, m_axi_araddr_o, m_axi_arlen_o};
    if (m_axi_awvalid_o && !m_axi_awready_i) aw_q <= {m_axi_awaddr_o, m_axi_awlen_o};
    if (m_axi_wvalid_o && !m_axi_wready_i) w_q <= {m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o};
    if (rst_ni) begin
      if (ar_held_q) assert (m_axi_arvalid_o && ar_q == {m_axi_arid_o, m_axi_araddr_o, m_axi_arlen_o})
        else $error("AXI: AR changed before ARREADY");
      if (aw_held_q) assert (m_axi_awvalid_o && aw_q == {m_axi_awaddr_o, m_axi_awlen_o})
        else $error("AXI: AW changed before AWREADY");
      if (w_held_q) assert (m_axi_wvalid_o && w_q == {m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o})
        else $error("AXI: W changed before WREADY");
      if (m_axi_arvalid_o) assert (32'(m_axi_araddr_o[11:0]) + (32'(m_axi_arlen_o) + 1) * dlc_pkg::BUS_BYTES <= 4096)
        else $error("AXI: a read burst crosses 4 KiB");
      if (m_axi_awvalid_o) assert (32'(m_axi_awaddr_o[11:0]) + (32'(m_axi_awlen_o) + 1) * dlc_pkg::BUS_BYTES <= 4096)
        else $error("AXI: a write burst crosses 4 KiB");
    end
  end
`endif
endmodule
