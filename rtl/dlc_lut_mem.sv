// LUT: tables of 256 bytes, one writer (LOAD) and one reader a lane. A memory with one read port a lane is built as
// copies of the tables, all written at once; a row of a copy is a beat wide.
module dlc_lut_mem (
  input  logic                           clk_i,
  input  logic                           re_i,
  input  logic [dlc_pkg::LUT_ADDR_W-1:0] table_i,
  input  logic [dlc_pkg::LANES*8-1:0]    index_i,
  output logic [dlc_pkg::LANES*8-1:0]    data_o,  // the cycle after
  input  logic                           ld_valid_i,
  input  logic [dlc_pkg::SP_W-1:0]       ld_sp_i,
  input  logic [dlc_pkg::BUS_W-1:0]      ld_data_i
);
  localparam int unsigned Lanes = dlc_pkg::LANES;
  localparam int unsigned RowLog = dlc_pkg::BUS_LOG;  // bytes of a row
  localparam int unsigned RowW  = dlc_pkg::LUT_ADDR_W + dlc_pkg::LUT_LOG - RowLog;
  localparam int unsigned BusW  = dlc_pkg::BUS_W;

  logic [Lanes*RowW-1:0]   rows;
  logic [Lanes*BusW-1:0]   rdata;
  logic [Lanes*RowLog-1:0] byte_q;
  dlc_scratchpad_bank #(.Width(BusW), .Granule(BusW), .Words(1 << RowW), .ReadPorts(Lanes)) u_sram (
    .clk_i, .we_i(ld_valid_i), .waddr_i(ld_sp_i[RowLog +: RowW]), .wdata_i(ld_data_i),
    .re_i({Lanes{re_i}}), .raddr_i(rows), .rdata_o(rdata));

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [BusW-1:0] row;
    assign rows[l*RowW +: RowW] = {table_i, index_i[l*8 + RowLog +: 8 - RowLog]};
    assign row = rdata[l*BusW +: BusW];
    always_ff @(posedge clk_i) if (re_i) byte_q[l*RowLog +: RowLog] <= index_i[l*8 +: RowLog];
    assign data_o[l*8 +: 8] = row[{byte_q[l*RowLog +: RowLog], 3'b000} +: 8];
  end

  logic unused;
  assign unused = ^ld_sp_i;
endmodule
