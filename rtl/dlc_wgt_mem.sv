// WGT: one writer (LOAD), one reader (MATRIX). Its banks bring no ports, so they are not modelled. A word wider than
// the bus (broadcast: a whole tile) is filled chunk by chunk: an SRAM a chunk, read side by side.
module dlc_wgt_mem (
  input  logic                        clk_i,
  input  logic                        re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  addr_i,
  output logic [dlc_pkg::WGT_WORD*8-1:0] data_o,  // the cycle after
  input  logic                        ld_valid_i,
  input  logic [dlc_pkg::SP_W-1:0]    ld_sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0] ld_lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]   ld_n_i,
  input  logic [dlc_pkg::BUS_W-1:0]   ld_data_i
);
  localparam int unsigned AddrW  = dlc_pkg::ADDR_W;
  localparam int unsigned WordW  = dlc_pkg::WGT_WORD * 8;
  localparam int unsigned Sub    = dlc_pkg::WGT_SUB;
  localparam int unsigned SubLog = Sub > 1 ? $clog2(Sub) : 0;
  localparam int unsigned SubW   = Sub > 1 ? SubLog : 1;
  localparam int unsigned Depth  = dlc_pkg::WGT_WORDS / Sub;
  localparam int unsigned RowW   = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned ChunkW = dlc_pkg::BUS_W < WordW ? dlc_pkg::BUS_W : WordW;
  localparam int unsigned Chunks = WordW / ChunkW;
  localparam int unsigned ChunkNumW = Chunks > 1 ? $clog2(Chunks) : 1;

  logic [Sub-1:0]            ld_we;
  logic [Sub*AddrW-1:0]      ld_word;
  logic [ChunkNumW-1:0]      ld_group;
  logic [dlc_pkg::BUS_W-1:0] ld_data;
  dlc_dma_write_align #(.WordBytes(dlc_pkg::WGT_WORD)) u_load (
    .valid_i(ld_valid_i), .sp_i(ld_sp_i), .lo_i(ld_lo_i), .n_i(ld_n_i), .data_i(ld_data_i),
    .we_o(ld_we), .addr_o(ld_word), .group_o(ld_group), .data_o(ld_data));

  logic [SubW-1:0]      sub;
  logic [Sub*WordW-1:0] rdata;
  if (Sub > 1) begin : gen_sub_number
    assign sub = addr_i[SubLog-1:0];
  end else begin : gen_no_sub
    assign sub = '0;
  end

  for (genvar s = 0; s < Sub; s++) begin : gen_sram
    for (genvar g = 0; g < Chunks; g++) begin : gen_chunk
      dlc_scratchpad_bank #(.Width(ChunkW), .Granule(ChunkW), .Words(Depth), .ReadPorts(1)) u_sram (
        .clk_i, .we_i(ld_we[s] && (ld_group == ChunkNumW'(g))),
        .waddr_i(RowW'(ld_word[s*AddrW +: AddrW] >> SubLog)), .wdata_i(ld_data[s*ChunkW +: ChunkW]),
        .re_i(re_i && (sub == SubW'(s))), .raddr_i(RowW'(addr_i >> SubLog)),
        .rdata_o(rdata[s*WordW + g*ChunkW +: ChunkW]));
    end
  end
  if (Sub == 1) begin : gen_one
    assign data_o = rdata;
  end else begin : gen_select
    logic [SubW-1:0] sub_q;
    always_ff @(posedge clk_i) if (re_i) sub_q <= sub;
    assign data_o = rdata[32'(sub_q)*WordW +: WordW];
  end
endmodule
