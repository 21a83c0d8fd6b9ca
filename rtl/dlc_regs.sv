// AXI4-Lite control and status.
//   0x00 W  control: bit 0 starts the program (ignored while one runs)
//   0x04 R  status: bit 0 running, bit 1 done, bit 2 error (not an instruction, or a bus error)
//   0x08 RW program address, bits 31..0    0x0C RW bits 39..32   (multiple of 4 KiB)
//   0x10 RW program size in 16-byte units
//   0x14 R  version of the instruction set
//   0x40 + 8 * (4 * engine + counter) R  64-bit counters, low word first; engines load, matrix, vector, store,
//           fetch; counters busy, wait_dependency, wait_memory, idle. 0xE0: cycles of the run.
module dlc_regs (
  input  logic        clk_i,
  input  logic        rst_ni,
  // AXI4-Lite
  input  logic        awvalid_i,
  input  logic [7:0]  awaddr_i,
  output logic        awready_o,
  input  logic        wvalid_i,
  input  logic [31:0] wdata_i,
  output logic        wready_o,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic        arvalid_i,
  input  logic [7:0]  araddr_i,
  output logic        arready_o,
  output logic        rvalid_o,
  output logic [31:0] rdata_o,
  input  logic        rready_i,
  // core
  output logic        start_o,
  output logic [dlc_pkg::DRAM_W-1:0] program_address_o,
  output logic [31:0] program_units_o,
  input  logic        running_i,
  input  logic        done_i,
  input  logic        error_i,
  output logic [4:0]  select_o,
  input  logic [63:0] counter_i
);
  localparam logic [5:0] Control = 6'h0, Status = 6'h1, AddressLow = 6'h2, AddressHigh = 6'h3, Units = 6'h4,
                         Version = 6'h5;
  logic [dlc_pkg::DRAM_W-1:0] address_q;
  logic [31:0]                units_q;
  logic                       write, read;

  // A write is taken when address and data are there and the last response is gone; a read likewise.
  assign write     = awvalid_i && wvalid_i && (!bvalid_o || bready_i);
  assign awready_o = write;
  assign wready_o  = write;
  assign read      = arvalid_i && (!rvalid_o || rready_i);
  assign arready_o = read;
  assign select_o  = 5'(araddr_i[7:3] - 5'd8);

  always_ff @(posedge clk_i) begin
    start_o <= write && (awaddr_i[7:2] == Control) && wdata_i[0] && !running_i && !start_o;
    if (write) begin
      unique case (awaddr_i[7:2])
        AddressLow:  address_q[31:0] <= wdata_i;
        AddressHigh: address_q[dlc_pkg::DRAM_W-1:32] <= wdata_i[dlc_pkg::DRAM_W-33:0];
        Units:       units_q <= wdata_i;
        default: ;
      endcase
    end
    if (read) begin
      unique case (araddr_i[7:2])
        Status:      rdata_o <= {29'd0, error_i, done_i, running_i};
        AddressLow:  rdata_o <= address_q[31:0];
        AddressHigh: rdata_o <= 32'(address_q[dlc_pkg::DRAM_W-1:32]);
        Units:       rdata_o <= units_q;
        Version:     rdata_o <= 32'(dlc_isa_pkg::ISA_VERSION);
        default:     rdata_o <= araddr_i[2] ? counter_i[63:32] : counter_i[31:0];
      endcase
    end
    if (!rst_ni) begin
      start_o  <= 1'b0;
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      if (read) rvalid_o <= 1'b1;
      else if (rready_i) rvalid_o <= 1'b0;
    end
  end

  assign program_address_o = address_q;
  assign program_units_o   = units_q;

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0]};
endmodule
