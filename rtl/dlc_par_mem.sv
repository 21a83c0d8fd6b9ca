// PAR: a 16-byte entry a lane and word, either rescale parameters (bias, multiplier, shift) or 16 taps. One writer
// (LOAD), two readers (parameters, taps); its banks bring no ports, so they are not modelled.
module dlc_par_mem (
  input  logic                            clk_i,
  input  logic                            param_re_i,
  input  logic [dlc_pkg::PAR_ADDR_W-1:0]  param_addr_i,
  output logic [dlc_pkg::LANES*128-1:0]   param_data_o,  // the cycle after
  input  logic                            tap_re_i,
  input  logic [dlc_pkg::PAR_ADDR_W-1:0]  tap_addr_i,
  input  logic [3:0]                      tap_index_i,   // byte of the entry
  output logic [dlc_pkg::LANES*8-1:0]     tap_data_o,    // the cycle after
  input  logic                            ld_valid_i,
  input  logic [dlc_pkg::SP_W-1:0]        ld_sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0]     ld_lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]       ld_n_i,
  input  logic [dlc_pkg::BUS_W-1:0]       ld_data_i
);
  localparam int unsigned AddrW  = dlc_pkg::ADDR_W;
  localparam int unsigned Lanes  = dlc_pkg::LANES;
  localparam int unsigned Sub    = dlc_pkg::PAR_SUB;
  localparam int unsigned SubLog = Sub > 1 ? $clog2(Sub) : 0;
  localparam int unsigned SubW   = Sub > 1 ? SubLog : 1;
  localparam int unsigned Depth  = dlc_pkg::PAR_WORDS / Sub;
  localparam int unsigned RowW   = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned Chunk  = dlc_pkg::BUS_BYTES < dlc_pkg::PAR_WORD ? dlc_pkg::BUS_BYTES : dlc_pkg::PAR_WORD;
  localparam int unsigned Groups = dlc_pkg::PAR_WORD / Chunk;
  localparam int unsigned GroupW = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned WordW  = dlc_pkg::PAR_WORD * 8;

  logic [Sub-1:0]            ld_we;
  logic [Sub*AddrW-1:0]      ld_word;
  logic [GroupW-1:0]         ld_group;
  logic [dlc_pkg::BUS_W-1:0] ld_data;
  dlc_dma_write_align #(.WordBytes(dlc_pkg::PAR_WORD)) u_load (
    .valid_i(ld_valid_i), .sp_i(ld_sp_i), .lo_i(ld_lo_i), .n_i(ld_n_i), .data_i(ld_data_i),
    .we_o(ld_we), .addr_o(ld_word), .group_o(ld_group), .data_o(ld_data));

  logic [SubW-1:0] param_sub, tap_sub;
  logic [RowW-1:0] param_row, tap_row;
  logic [3:0]      tap_index_q;
  assign param_row = RowW'(param_addr_i >> SubLog);
  assign tap_row   = RowW'(tap_addr_i >> SubLog);
  if (Sub > 1) begin : gen_sub_number
    assign param_sub = param_addr_i[SubLog-1:0];
    assign tap_sub   = tap_addr_i[SubLog-1:0];
  end else begin : gen_no_sub
    assign param_sub = '0;
    assign tap_sub   = '0;
  end
  always_ff @(posedge clk_i) if (tap_re_i) tap_index_q <= tap_index_i;

  logic [WordW-1:0] param, tap_word;
  logic [2*WordW-1:0] rdata[Sub];
  for (genvar s = 0; s < Sub; s++) begin : gen_sram
    logic [Groups-1:0] we;
    logic [WordW-1:0]  wdata;
    for (genvar g = 0; g < Groups; g++) begin : gen_group
      assign we[g] = ld_we[s] && (ld_group == GroupW'(g));
      assign wdata[g*Chunk*8 +: Chunk*8] = ld_data[s*Chunk*8 +: Chunk*8];
    end
    dlc_scratchpad_bank #(.Width(WordW), .Granule(8*Chunk), .Words(Depth), .ReadPorts(2)) u_sram (
      .clk_i, .we_i(we), .waddr_i(RowW'(ld_word[s*AddrW +: AddrW] >> SubLog)), .wdata_i(wdata),
      .re_i({tap_re_i && (tap_sub == SubW'(s)), param_re_i && (param_sub == SubW'(s))}),
      .raddr_i({tap_row, param_row}), .rdata_o(rdata[s]));
  end
  if (Sub == 1) begin : gen_one
    assign param    = rdata[0][WordW-1:0];
    assign tap_word = rdata[0][2*WordW-1:WordW];
  end else begin : gen_select
    logic [SubW-1:0] param_sub_q, tap_sub_q;
    always_ff @(posedge clk_i) begin
      if (param_re_i) param_sub_q <= param_sub;
      if (tap_re_i) tap_sub_q <= tap_sub;
    end
    assign param    = rdata[param_sub_q][WordW-1:0];
    assign tap_word = rdata[tap_sub_q][2*WordW-1:WordW];
  end

  assign param_data_o = param;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [127:0] tap_entry;
    logic [31:0]  tap_quarter;
    assign tap_entry = tap_word[l*128 +: 128];
    always_comb begin
      unique case (tap_index_q[3:2])
        2'd0:    tap_quarter = tap_entry[31:0];
        2'd1:    tap_quarter = tap_entry[63:32];
        2'd2:    tap_quarter = tap_entry[95:64];
        default: tap_quarter = tap_entry[127:96];
      endcase
    end
    assign tap_data_o[l*8 +: 8] = 8'(tap_quarter >> {tap_index_q[1:0], 3'b000});
  end
endmodule
