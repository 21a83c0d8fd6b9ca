// ACC: its columns, and the ports of MATRIX, VECTOR (A, B, D), LOAD and STORE. Within a bank only one engine
// reads and one writes at a time (the verifier proves it; assertions here).
module dlc_acc (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // MATRIX: a step in this cycle; column c's sum is on sum_i in step + SUM_LATENCY + c (broadcast: without the c)
  input  logic                        step_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  step_addr_i,
  input  logic                        overwrite_i,
  input  logic                        forward1_i,
  input  logic                        forward2_i,
  input  logic [dlc_pkg::COLS*32-1:0] sum_i,
  // VECTOR: addresses in groups of LANES, data in the next cycle
  input  logic                        a_re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  a_addr_i,
  output logic [dlc_pkg::LANES*32-1:0] a_data_o,
  input  logic                        b_re_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  b_addr_i,
  output logic [dlc_pkg::LANES*32-1:0] b_data_o,
  input  logic                        d_we_i,
  input  logic [dlc_pkg::ADDR_W-1:0]  d_addr_i,
  input  logic [dlc_pkg::LANES*32-1:0] d_data_i,
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
  localparam int unsigned AddrW = dlc_pkg::ADDR_W;
  localparam int unsigned Cols  = dlc_pkg::COLS;
  localparam int unsigned Lanes = dlc_pkg::LANES;
  localparam int unsigned Sub   = dlc_pkg::ACC_SUB;
  localparam int unsigned Phys  = dlc_pkg::ACC_PHYS;
  localparam int unsigned PhysW = dlc_pkg::ACC_PHYS_W;
  localparam int unsigned RowW  = dlc_pkg::ACC_ROW_W;
  localparam int unsigned BankWords = dlc_pkg::ACC_BANK_WORDS;
  localparam int unsigned Groups   = Cols / Lanes;
  localparam int unsigned GroupLog = $clog2(Groups);
  localparam int unsigned GroupW   = Groups > 1 ? GroupLog : 1;
  localparam int unsigned CtrlW = 4 + PhysW + RowW;

  // ---- MATRIX: the step's ACC access comes a cycle before its sum ----
  localparam int unsigned Delay = dlc_pkg::SUM_LATENCY - 1;
  localparam int unsigned DelayW = $clog2(Delay);
  logic [PhysW-1:0]  step_sram;
  logic [RowW-1:0]   step_row;
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_step_address (
    .word_i(step_addr_i), .sram_o(step_sram), .row_o(step_row));
  logic [Delay-1:0]  valid_line_q;
  logic [DelayW-1:0] slot_q;
  logic [CtrlW-2:0]  delay_q[Delay];  // a ring: written now, read Delay cycles later
  logic [CtrlW-1:0]  ctrl;
  always_ff @(posedge clk_i) begin
    valid_line_q <= {valid_line_q[Delay-2:0], step_i};
    slot_q <= slot_q == DelayW'(Delay - 1) ? '0 : slot_q + 1'b1;
    if (step_i) delay_q[slot_q] <= {overwrite_i, forward1_i, forward2_i, step_sram, step_row};
    if (!rst_ni) begin
      valid_line_q <= '0;
      slot_q       <= '0;
    end
  end
  assign ctrl = {valid_line_q[Delay-1], delay_q[slot_q]};

  // ---- VECTOR and STORE reads ----
  logic [AddrW-1:0] a_word, b_word, d_word;
  logic [PhysW-1:0] a_sram, b_sram, d_sram, a_sram_q, b_sram_q;
  logic [RowW-1:0]  a_row, b_row, d_row;
  assign a_word = a_addr_i >> GroupLog;
  assign b_word = b_addr_i >> GroupLog;
  assign d_word = d_addr_i >> GroupLog;
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_a_address (
    .word_i(a_word), .sram_o(a_sram), .row_o(a_row));
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_b_address (
    .word_i(b_word), .sram_o(b_sram), .row_o(b_row));
  dlc_bank_address #(.BankWords(BankWords), .Sub(Sub), .SramW(PhysW), .RowW(RowW)) u_d_address (
    .word_i(d_word), .sram_o(d_sram), .row_o(d_row));

  logic [Sub-1:0]       st_re;
  logic [Sub*AddrW-1:0] st_word;
  logic [Sub*PhysW-1:0] st_sram_q;
  logic [dlc_pkg::ACC_PORT*8-1:0] st_rdata;
  dlc_dma_read_align #(.WordBytes(dlc_pkg::ACC_WORD)) u_store (
    .clk_i, .valid_i(st_valid_i), .sp_i(st_sp_i), .lo_i(st_lo_i), .n_i(st_n_i), .re_o(st_re), .addr_o(st_word),
    .rdata_i(st_rdata), .data_o(st_data_o));

  // ---- LOAD writes ----
  localparam int unsigned LdGroups = dlc_pkg::ACC_PORT / dlc_pkg::BUS_BYTES;
  localparam int unsigned LdGroupW = LdGroups > 1 ? $clog2(LdGroups) : 1;
  localparam int unsigned LdCols   = Cols / LdGroups;  // columns that a beat reaches
  logic [Sub-1:0]            ld_we;
  logic [Sub*AddrW-1:0]      ld_word;
  logic [LdGroupW-1:0]       ld_group;
  logic [dlc_pkg::BUS_W-1:0] ld_data;
  dlc_dma_write_align #(.WordBytes(dlc_pkg::ACC_WORD)) u_load (
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

  // ---- one read and one write an SRAM ----
  logic [Phys-1:0]      re, ld_hit, d_hit;
  logic [Phys*RowW-1:0] raddr, waddr;
  for (genvar i = 0; i < Phys; i++) begin : gen_port
    localparam int unsigned S = i % Sub;
    logic a_hit, b_hit, s_hit;
    assign a_hit = a_re_i && (a_sram == PhysW'(i));
    assign b_hit = b_re_i && (b_sram == PhysW'(i));
    assign s_hit = st_re[S] && (st_sram[S*PhysW +: PhysW] == PhysW'(i));
    assign re[i] = a_hit || b_hit || s_hit;
    assign raddr[i*RowW +: RowW] = a_hit ? a_row : b_hit ? b_row : st_row[S*RowW +: RowW];
    assign d_hit[i]  = d_we_i && (d_sram == PhysW'(i));
    assign ld_hit[i] = ld_we[S] && (ld_sram[S*PhysW +: PhysW] == PhysW'(i));
    assign waddr[i*RowW +: RowW] = d_hit[i] ? d_row : ld_row[S*RowW +: RowW];
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        assert (!((a_hit && b_hit) || (a_hit && s_hit) || (b_hit && s_hit)))
          else $error("ACC bank: two of VECTOR A, VECTOR B, STORE read");
        assert (!(d_hit[i] && ld_hit[i])) else $error("ACC bank: VECTOR and LOAD write");
      end
    end
    // MATRIX passes from column to column: it reads in 0 .. Pass-1 cycles from now, and writes two later.
    localparam int unsigned Pass = dlc_pkg::BROADCAST != 0 ? 1 : Cols;
    logic [Pass:0]   m_line_q;  // bit k: an access that column 0 has made k+1 cycles ago
    logic [Pass-1:0] m_read, m_read_q;  // bit k: ... k cycles ago, and that reads
    logic            m_here;
    assign m_read = Pass'({m_read_q, m_here && !ctrl[CtrlW-2]});
    assign m_here = ctrl[CtrlW-1] && (ctrl[RowW +: PhysW] == PhysW'(i));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        m_line_q <= '0;
        m_read_q <= '0;
      end else begin
        m_line_q <= {m_line_q[Pass-1:0], m_here};
        m_read_q <= m_read;
        assert (!(re[i] && (|m_read)))
          else $error("ACC bank: MATRIX and another engine read");
        assert (!((d_hit[i] || ld_hit[i]) && (|m_line_q[Pass:1])))
          else $error("ACC bank: MATRIX and another engine write");
      end
    end
`endif
  end

  logic [GroupW-1:0] a_group_q, b_group_q, d_group;
  if (Groups > 1) begin : gen_groups
    assign d_group = d_addr_i[GroupLog-1:0];
    always_ff @(posedge clk_i) begin
      if (a_re_i) a_group_q <= a_addr_i[GroupLog-1:0];
      if (b_re_i) b_group_q <= b_addr_i[GroupLog-1:0];
    end
  end else begin : gen_no_groups
    assign d_group   = '0;
    assign a_group_q = '0;
    assign b_group_q = '0;
  end
  always_ff @(posedge clk_i) begin
    if (a_re_i) a_sram_q <= a_sram;
    if (b_re_i) b_sram_q <= b_sram;
  end
  for (genvar s = 0; s < Sub; s++) begin : gen_store_sel
    always_ff @(posedge clk_i) begin
      if (st_re[s]) st_sram_q[s*PhysW +: PhysW] <= st_sram[s*PhysW +: PhysW];
    end
  end

  // ---- columns ----
  logic [31:0] a_col[Cols];
  logic [31:0] b_col[Cols];
  for (genvar c = 0; c < Cols; c++) begin : gen_col
    logic [CtrlW-1:0]   ctrl_in, ctrl_out;
    logic [Phys-1:0]    we;
    logic [Phys*32-1:0] wdata;
    logic [Sub*32-1:0]  s_data;
    logic               d_here, ld_here;
    if (c == 0 || dlc_pkg::BROADCAST != 0) begin : gen_first
      assign ctrl_in = ctrl;
    end else begin : gen_next
      assign ctrl_in = gen_col[c-1].ctrl_out;
    end
    assign d_here  = d_group == GroupW'(c / Lanes);
    assign ld_here = ld_group == LdGroupW'(c / LdCols);
    for (genvar i = 0; i < Phys; i++) begin : gen_write
      localparam int unsigned S = i % Sub;
      assign we[i] = (d_hit[i] && d_here) || (ld_hit[i] && ld_here);
      assign wdata[i*32 +: 32] = d_hit[i] ? d_data_i[(c%Lanes)*32 +: 32] : ld_data[(S*Cols + c%LdCols)*32 +: 32];
    end
    dlc_acc_column u_column (
      .clk_i, .ctrl_i(ctrl_in), .ctrl_o(ctrl_out), .sum_i(sum_i[c*32 +: 32]),
      .re_i(re), .raddr_i(raddr), .we_i(we), .waddr_i(waddr), .wdata_i(wdata),
      .a_sel_i(a_sram_q), .b_sel_i(b_sram_q), .s_sel_i(st_sram_q),
      .a_data_o(a_col[c]), .b_data_o(b_col[c]), .s_data_o(s_data));
    for (genvar s = 0; s < Sub; s++) begin : gen_store_data
      assign st_rdata[(s*Cols + c)*32 +: 32] = s_data[s*32 +: 32];
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign a_data_o[l*32 +: 32] = a_col[32'(a_group_q)*Lanes + l];
    assign b_data_o[l*32 +: 32] = b_col[32'(b_group_q)*Lanes + l];
  end
endmodule
