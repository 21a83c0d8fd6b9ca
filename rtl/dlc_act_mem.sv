// ACT: banks of contiguous words (each of interleaved sub-memories where the bus is wider than a word) with
// READ_PORTS read ports and one write port. A bank's read ports go to whoever addresses it, in the order MATRIX,
// VECTOR A, VECTOR B, STORE; the verifier proves that there are never more (assertion here).
module dlc_act_mem (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // MATRIX: words, data in the next cycle
  input  logic                        m_re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  m_addr_i,
  output logic [dlc_pkg::ACT_WORD*8-1:0] m_data_o,
  // VECTOR: groups of LANES bytes, data in the next cycle
  input  logic                        a_re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  a_addr_i,
  output logic [dlc_pkg::LANES*8-1:0] a_data_o,
  input  logic                        b_re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  b_addr_i,
  output logic [dlc_pkg::LANES*8-1:0] b_data_o,
  input  logic                        d_we_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  d_addr_i,
  input  logic [dlc_pkg::LANES*8-1:0] d_data_i,
  // LOAD
  input  logic                        ld_valid_i,
  input  logic [dlc_pkg::SP_W-1:0]    ld_sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0] ld_lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]   ld_n_i,
  input  logic [dlc_pkg::BUS_W-1:0]   ld_data_i,
  // STORE, data two cycles later
  input  logic                        st_valid_i,
  input  logic [dlc_pkg::SP_W-1:0]    st_sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0] st_lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]   st_n_i,
  output logic [dlc_pkg::BUS_W-1:0]   st_data_o
);
  localparam int unsigned AddrW  = dlc_pkg::ADDR_W;
  localparam int unsigned WordW  = dlc_pkg::ACT_WORD * 8;
  localparam int unsigned Sub    = dlc_pkg::ACT_SUB;
  localparam int unsigned Banks  = dlc_pkg::ACT_BANKS;
  localparam int unsigned BankWords = dlc_pkg::ACT_BANK_WORDS;
  localparam int unsigned Phys   = Banks * Sub;  // SRAM number = bank * Sub + word % Sub
  localparam int unsigned PhysW  = Phys > 1 ? $clog2(Phys) : 1;
  localparam int unsigned Depth  = BankWords / Sub;
  localparam int unsigned RowW   = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned Ports  = dlc_config_pkg::ACT_READ_PORTS;
  localparam int unsigned LanesW = dlc_pkg::LANES * 8;
  localparam int unsigned Groups = dlc_pkg::ACT_WORD / dlc_pkg::LANES;
  localparam int unsigned GroupLog = $clog2(Groups);
  localparam int unsigned GroupW = Groups > 1 ? GroupLog : 1;
  // The write granule: the narrower of a VECTOR group and a LOAD chunk.
  localparam int unsigned ChunkW  = dlc_pkg::BUS_W < WordW ? dlc_pkg::BUS_W : WordW;
  localparam int unsigned Granule = LanesW < ChunkW ? LanesW : ChunkW;
  localparam int unsigned Granules = WordW / Granule;

  // ---- requests ----
  logic [PhysW-1:0] m_sram, a_sram, b_sram, d_sram, m_sram_q, a_sram_q, b_sram_q;
  logic [RowW-1:0]  m_row, a_row, b_row, d_row;
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_m_address (
    .word_i(m_addr_i), .sram_o(m_sram), .row_o(m_row));
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_a_address (
    .word_i(a_addr_i >> GroupLog), .sram_o(a_sram), .row_o(a_row));
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_b_address (
    .word_i(b_addr_i >> GroupLog), .sram_o(b_sram), .row_o(b_row));
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_d_address (
    .word_i(d_addr_i >> GroupLog), .sram_o(d_sram), .row_o(d_row));

  logic [Sub-1:0]       st_re, ld_we;
  logic [Sub*AddrW-1:0] st_word, ld_word;
  logic [dlc_pkg::ACT_PORT*8-1:0] st_rdata;
  logic [Sub*PhysW-1:0] st_sram_q;
  localparam int unsigned LdGroups = dlc_pkg::ACT_PORT / dlc_pkg::BUS_BYTES;
  localparam int unsigned LdGroupW = LdGroups > 1 ? $clog2(LdGroups) : 1;
  logic [LdGroupW-1:0]       ld_group;
  logic [dlc_pkg::BUS_W-1:0] ld_data;
  dlc_dma_read_align #(.WordBytes(dlc_pkg::ACT_WORD)) u_store (
    .clk_i, .valid_i(st_valid_i), .sp_i(st_sp_i), .lo_i(st_lo_i), .n_i(st_n_i), .re_o(st_re), .addr_o(st_word),
    .rdata_i(st_rdata), .data_o(st_data_o));
  dlc_dma_write_align #(.WordBytes(dlc_pkg::ACT_WORD)) u_load (
    .valid_i(ld_valid_i), .sp_i(ld_sp_i), .lo_i(ld_lo_i), .n_i(ld_n_i), .data_i(ld_data_i),
    .we_o(ld_we), .addr_o(ld_word), .group_o(ld_group), .data_o(ld_data));

  // STORE's and LOAD's words: one a sub-memory.
  logic [Sub*PhysW-1:0] st_sram, ld_sram;
  logic [Sub*RowW-1:0]  st_row, ld_row;
  for (genvar s = 0; s < Sub; s++) begin : gen_dma_address
    dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_store_address (
      .word_i(st_word[s*AddrW +: AddrW]), .sram_o(st_sram[s*PhysW +: PhysW]), .row_o(st_row[s*RowW +: RowW]));
    dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_load_address (
      .word_i(ld_word[s*AddrW +: AddrW]), .sram_o(ld_sram[s*PhysW +: PhysW]), .row_o(ld_row[s*RowW +: RowW]));
  end

  // ---- write enables and data: a granule's column is the same in every SRAM ----
  logic [GroupW-1:0]   d_group;
  logic [Granules-1:0] d_granules, ld_granules;
  if (Groups > 1) begin : gen_groups
    assign d_group = d_addr_i[GroupLog-1:0];
  end else begin : gen_no_groups
    assign d_group = '0;
  end
  for (genvar g = 0; g < Granules; g++) begin : gen_granule
    assign d_granules[g]  = d_group == GroupW'(g * Granule / LanesW);
    assign ld_granules[g] = ld_group == LdGroupW'(g * Granule / ChunkW);
  end

  // ---- SRAMs ----
  logic [WordW-1:0] rdata[Phys*Ports];
  logic [Phys-1:0]  m_second, a_second, b_second, s_second;  // on the second port
  for (genvar i = 0; i < Phys; i++) begin : gen_sram
    localparam int unsigned S = i % Sub;
    logic m_hit, a_hit, b_hit, s_hit, d_hit, ld_hit;
    logic [RowW-1:0]       s_row, first_row;
    logic [Ports-1:0]      re;
    logic [Ports*RowW-1:0] raddr;
    logic [WordW-1:0]      wdata;
    assign m_hit  = m_re_i && (m_sram == PhysW'(i));
    assign a_hit  = a_re_i && (a_sram == PhysW'(i));
    assign b_hit  = b_re_i && (b_sram == PhysW'(i));
    assign s_hit  = st_re[S] && (st_sram[S*PhysW +: PhysW] == PhysW'(i));
    assign d_hit  = d_we_i && (d_sram == PhysW'(i));
    assign ld_hit = ld_we[S] && (ld_sram[S*PhysW +: PhysW] == PhysW'(i));
    assign s_row  = st_row[S*RowW +: RowW];
`ifndef SYNTHESIS
    logic [2:0] readers;
    assign readers = 3'(m_hit) + 3'(a_hit) + 3'(b_hit) + 3'(s_hit);
`endif
    assign first_row = m_hit ? m_row : a_hit ? a_row : b_hit ? b_row : s_row;
    if (Ports == 1) begin : gen_one_port
      assign re    = m_hit || a_hit || b_hit || s_hit;
      assign raddr = first_row;
      assign m_second[i] = 1'b0;
      assign a_second[i] = 1'b0;
      assign b_second[i] = 1'b0;
      assign s_second[i] = 1'b0;
`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (rst_ni) assert (readers <= 3'd1) else $error("ACT bank: two readers");
      end
`endif
    end else begin : gen_two_ports
      // The first requester takes port 0, every other one port 1.
      assign m_second[i] = 1'b0;
      assign a_second[i] = m_hit;
      assign b_second[i] = m_hit || a_hit;
      assign s_second[i] = m_hit || a_hit || b_hit;
      assign re[0] = m_hit || a_hit || b_hit || s_hit;
      assign re[1] = (a_hit && a_second[i]) || (b_hit && b_second[i]) || (s_hit && s_second[i]);
      assign raddr[0 +: RowW]    = first_row;
      assign raddr[RowW +: RowW] = (a_hit && a_second[i]) ? a_row : (b_hit && b_second[i]) ? b_row : s_row;
`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (rst_ni) assert (readers <= 3'd2) else $error("ACT bank: three readers");
      end
`endif
    end
    for (genvar g = 0; g < Granules; g++) begin : gen_wdata
      assign wdata[g*Granule +: Granule] = d_hit ? d_data_i[(g*Granule) % LanesW +: Granule]
                                                 : ld_data[S*ChunkW + (g*Granule) % ChunkW +: Granule];
    end
    logic [Ports*WordW-1:0] rdata_flat;
    dlc_scratchpad_bank #(.Width(WordW), .Granule(Granule), .Words(Depth), .ReadPorts(Ports)) u_sram (
      .clk_i,
      .we_i(({Granules{d_hit}} & d_granules) | ({Granules{ld_hit}} & ld_granules)),
      .waddr_i(d_hit ? d_row : ld_row[S*RowW +: RowW]), .wdata_i(wdata),
      .re_i(re), .raddr_i(raddr), .rdata_o(rdata_flat));
    for (genvar p = 0; p < Ports; p++) begin : gen_port
      assign rdata[i*Ports + p] = rdata_flat[p*WordW +: WordW];
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) assert (!(d_hit && ld_hit)) else $error("ACT bank: VECTOR and LOAD write");
    end
`endif
  end

  // ---- read data ----
  logic a_port_q, b_port_q;
  logic [Sub-1:0] s_port_q;
  always_ff @(posedge clk_i) begin
    if (m_re_i) m_sram_q <= m_sram;
    if (a_re_i) begin
      a_sram_q <= a_sram;
      a_port_q <= a_second[a_sram];
    end
    if (b_re_i) begin
      b_sram_q <= b_sram;
      b_port_q <= b_second[b_sram];
    end
  end
  for (genvar s = 0; s < Sub; s++) begin : gen_store
    logic [PhysW-1:0] sram;
    assign sram = st_sram[s*PhysW +: PhysW];
    always_ff @(posedge clk_i) begin
      if (st_re[s]) begin
        st_sram_q[s*PhysW +: PhysW] <= sram;
        s_port_q[s] <= s_second[sram];
      end
    end
    assign st_rdata[s*WordW +: WordW] = rdata[32'(st_sram_q[s*PhysW +: PhysW])*Ports + 32'(s_port_q[s])];
  end

  logic [WordW-1:0] a_word, b_word;
  assign m_data_o = rdata[32'(m_sram_q)*Ports];
  assign a_word   = rdata[32'(a_sram_q)*Ports + 32'(a_port_q)];
  assign b_word   = rdata[32'(b_sram_q)*Ports + 32'(b_port_q)];
  if (Groups > 1) begin : gen_group_data
    logic [GroupW-1:0] a_group_q, b_group_q;
    always_ff @(posedge clk_i) begin
      if (a_re_i) a_group_q <= a_addr_i[GroupLog-1:0];
      if (b_re_i) b_group_q <= b_addr_i[GroupLog-1:0];
    end
    assign a_data_o = a_word[32'(a_group_q)*LanesW +: LanesW];
    assign b_data_o = b_word[32'(b_group_q)*LanesW +: LanesW];
  end else begin : gen_word_data
    assign a_data_o = a_word;
    assign b_data_o = b_word;
  end
endmodule
