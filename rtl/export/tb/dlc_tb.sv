// Runs the program of dram.hex on dlc_top and compares the memory with expected.hex. The memory behind the AXI4 port is
// as simple as one may be: bursts in order, LATENCY cycles, a beat a cycle, always ready.
// Needs nothing but a simulator: verilator --binary --timing (5.x), or any other with SystemVerilog.
module dlc_tb;
  localparam int unsigned BusBytes = dlc_pkg::BUS_BYTES;
  localparam int unsigned BusW = dlc_pkg::BUS_W;
  localparam int unsigned Words = dlc_tb_pkg::DRAM_WORDS;
  localparam int unsigned Timeout = 1000000;

  logic clk = 1'b0;
  logic rst_n = 1'b0;
  always #1 clk = ~clk;

  logic arvalid, arid, rvalid, rid, rlast, awvalid, awid, wvalid, wlast, bvalid, rready, bready;
  logic [dlc_pkg::DRAM_W-1:0] araddr, awaddr;
  logic [7:0] arlen, awlen;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst;
  logic [BusW-1:0] rdata, wdata;
  logic [BusBytes-1:0] wstrb;
  logic s_awvalid = 1'b0, s_wvalid = 1'b0, s_arvalid = 1'b0;
  logic s_awready, s_wready, s_bvalid, s_arready, s_rvalid, running;
  logic [7:0] s_awaddr = '0, s_araddr = '0;
  logic [31:0] s_wdata = '0, s_rdata;
  logic [1:0] s_bresp, s_rresp;
  logic [3:0] trace_start, trace_retire;

  dlc_top u_dut (
    .clk_i(clk), .rst_ni(rst_n),
    .m_axi_arvalid_o(arvalid), .m_axi_arid_o(arid), .m_axi_araddr_o(araddr), .m_axi_arlen_o(arlen),
    .m_axi_arsize_o(arsize), .m_axi_arburst_o(arburst), .m_axi_arready_i(1'b1),
    .m_axi_rvalid_i(rvalid), .m_axi_rid_i(rid), .m_axi_rdata_i(rdata), .m_axi_rresp_i(2'b00), .m_axi_rlast_i(rlast),
    .m_axi_rready_o(rready),
    .m_axi_awvalid_o(awvalid), .m_axi_awid_o(awid), .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen),
    .m_axi_awsize_o(awsize), .m_axi_awburst_o(awburst), .m_axi_awready_i(1'b1),
    .m_axi_wvalid_o(wvalid), .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast),
    .m_axi_wready_i(1'b1), .m_axi_bvalid_i(bvalid), .m_axi_bresp_i(2'b00), .m_axi_bready_o(bready),
    .s_axil_awvalid_i(s_awvalid), .s_axil_awaddr_i(s_awaddr), .s_axil_awready_o(s_awready),
    .s_axil_wvalid_i(s_wvalid), .s_axil_wdata_i(s_wdata), .s_axil_wready_o(s_wready), .s_axil_bvalid_o(s_bvalid),
    .s_axil_bresp_o(s_bresp), .s_axil_bready_i(1'b1), .s_axil_arvalid_i(s_arvalid), .s_axil_araddr_i(s_araddr),
    .s_axil_arready_o(s_arready), .s_axil_rvalid_o(s_rvalid), .s_axil_rdata_o(s_rdata), .s_axil_rresp_o(s_rresp),
    .s_axil_rready_i(1'b1),
    .running_o(running), .trace_start_o(trace_start), .trace_retire_o(trace_retire));

  // ---- memory ----
  logic [BusW-1:0] mem[Words];
  logic [BusW-1:0] expected[Words];
  localparam int unsigned Fifo = 256;  // more than the core ever has under way
  logic [dlc_pkg::DRAM_W-1:0] read_addr[Fifo];
  logic [7:0]  read_len[Fifo];
  logic        read_id[Fifo];
  int unsigned read_time[Fifo];
  logic [7:0]  read_in = '0, read_out = '0, read_beat = '0;
  int unsigned cycle = 0;
  logic        writing = 1'b0;
  int unsigned write_word = 0;

  function automatic int unsigned word_of(input logic [dlc_pkg::DRAM_W-1:0] address);
    word_of = 32'(address / 40'(BusBytes));
  endfunction

  initial begin
    rvalid = 1'b0;
    bvalid = 1'b0;
    {rid, rlast} = 2'b00;
    rdata = '0;
  end

  always_ff @(posedge clk) begin
    cycle  <= cycle + 1;
    // reads
    if (arvalid) begin
      read_addr[read_in] <= araddr;
      read_len[read_in]  <= arlen;
      read_id[read_in]   <= arid;
      read_time[read_in] <= cycle + dlc_tb_pkg::LATENCY;
      read_in <= read_in + 1'b1;
    end
    rvalid <= 1'b0;
    if (read_in != read_out && cycle >= read_time[read_out]) begin
      rvalid <= 1'b1;
      rdata  <= mem[word_of(read_addr[read_out]) + 32'(read_beat)];
      rid    <= read_id[read_out];
      rlast  <= read_beat == read_len[read_out];
      read_beat <= read_beat == read_len[read_out] ? '0 : read_beat + 1'b1;
      if (read_beat == read_len[read_out]) read_out <= read_out + 1'b1;
    end
    // writes: the core sends a burst's address with its first beat
    bvalid <= wvalid && wlast;
    if (wvalid) begin
      for (int unsigned i = 0; i < BusBytes; i++) begin
        if (wstrb[i]) mem[writing ? write_word : word_of(awaddr)][8*i +: 8] <= wdata[8*i +: 8];
      end
      write_word <= (writing ? write_word : word_of(awaddr)) + 1;
      writing    <= !wlast;
    end
  end

  // ---- control ----
  task automatic write_register(input logic [7:0] address, input logic [31:0] value);
    s_awvalid <= 1'b1;
    s_wvalid  <= 1'b1;
    s_awaddr  <= address;
    s_wdata   <= value;
    @(posedge clk);
    while (!(s_awready && s_wready)) @(posedge clk);
    s_awvalid <= 1'b0;
    s_wvalid  <= 1'b0;
    @(posedge clk);
  endtask

  task automatic read_register(input logic [7:0] address, output logic [31:0] value);
    s_arvalid <= 1'b1;
    s_araddr  <= address;
    @(posedge clk);
    while (!s_arready) @(posedge clk);
    s_arvalid <= 1'b0;
    while (!s_rvalid) @(posedge clk);
    value = s_rdata;
    @(posedge clk);
  endtask

  logic [31:0] status, cycles;
  int unsigned differences = 0;
  initial begin
    $readmemh("tb/dram.hex", mem);
    $readmemh("tb/expected.hex", expected);
    repeat (dlc_tb_pkg::RESET_CYCLES) @(posedge clk);
    rst_n <= 1'b1;
    @(posedge clk);
    write_register(8'h08, dlc_tb_pkg::PROGRAM_ADDRESS[31:0]);
    write_register(8'h0C, dlc_tb_pkg::PROGRAM_ADDRESS[63:32]);
    write_register(8'h10, dlc_tb_pkg::PROGRAM_UNITS);
    write_register(8'h00, 32'd1);
    status = 32'd1;
    while (!status[1]) begin
      read_register(8'h04, status);
      if (cycle > Timeout) $fatal(1, "FAIL: not finished after %0d cycles", cycle);
    end
    read_register(8'hE0, cycles);
    if (status[2]) $fatal(1, "FAIL: the core reports an error");
    for (int unsigned i = 0; i < Words; i++) begin
      if (mem[i] !== expected[i]) begin
        if (differences < 10) $display("byte address %h: got %h, expected %h", i * BusBytes, mem[i], expected[i]);
        differences++;
      end
    end
    if (differences != 0) $fatal(1, "FAIL: %0d words of memory differ", differences);
    $display("PASS: %0d cycles, %0d words of memory as expected", cycles, Words);
    $finish;
  end
endmodule
