// One column of ACC: its SRAMs (banks, interleaved where the bus is wider than a word) and the accumulate
// pipeline under the array's column. The control bundle passes to the next column a cycle later, as the sums do.
// No reset: valid bits leave the columns within COLS + 2 cycles of it.
//   A: ctrl_i, the old value is read    B: the array's sum is there, added    C: written
module dlc_acc_column #(
  parameter int unsigned CtrlW = 4 + dlc_pkg::ACC_PHYS_W + dlc_pkg::ACC_ROW_W
) (
  input  logic             clk_i,
  input  logic [CtrlW-1:0] ctrl_i,  // {valid, overwrite, forward1, forward2, sram, row}
  output logic [CtrlW-1:0] ctrl_o,
  input  logic [31:0]      sum_i,
  // other engines: one read and one write an SRAM, addresses common to all columns
  input  logic [dlc_pkg::ACC_PHYS-1:0]                      re_i,
  input  logic [dlc_pkg::ACC_PHYS*dlc_pkg::ACC_ROW_W-1:0]   raddr_i,
  input  logic [dlc_pkg::ACC_PHYS-1:0]                      we_i,
  input  logic [dlc_pkg::ACC_PHYS*dlc_pkg::ACC_ROW_W-1:0]   waddr_i,
  input  logic [dlc_pkg::ACC_PHYS*32-1:0]                   wdata_i,
  // read data, the cycle after: of VECTOR A, VECTOR B (SRAM number), STORE (a number a sub-memory)
  input  logic [dlc_pkg::ACC_PHYS_W-1:0]                    a_sel_i,
  input  logic [dlc_pkg::ACC_PHYS_W-1:0]                    b_sel_i,
  input  logic [dlc_pkg::ACC_SUB*dlc_pkg::ACC_PHYS_W-1:0]   s_sel_i,
  output logic [31:0]                                       a_data_o,
  output logic [31:0]                                       b_data_o,
  output logic [dlc_pkg::ACC_SUB*32-1:0]                    s_data_o
);
  localparam int unsigned Phys = dlc_pkg::ACC_PHYS;
  localparam int unsigned PhysW = dlc_pkg::ACC_PHYS_W;
  localparam int unsigned RowW = dlc_pkg::ACC_ROW_W;

  // ---- stages ----
  logic             valid_a, valid_b, overwrite_a, overwrite_b, forward1_b, forward2_b;
  logic [CtrlW-1:0] ctrl_q;
  logic             valid_c_q;
  logic [PhysW-1:0] sram_a, sram_b, sram_c_q;
  logic [RowW-1:0]  row_a, row_b, row_c_q;
  logic [31:0]      sum_q, sum_old_q, old_sum;

  assign valid_a     = ctrl_i[CtrlW-1];
  assign overwrite_a = ctrl_i[CtrlW-2];
  assign sram_a      = ctrl_i[RowW +: PhysW];
  assign row_a       = ctrl_i[RowW-1:0];
  assign {valid_b, overwrite_b, forward1_b, forward2_b, sram_b, row_b} = ctrl_q;
  assign ctrl_o = ctrl_q;

  logic [31:0] rdata[Phys];
  // What the word holds: the write of the previous step may still be in stage C, that of the one before was
  // written in the very cycle in which this step read.
  always_comb begin
    old_sum = rdata[sram_b];
    if (forward2_b) old_sum = sum_old_q;
    if (forward1_b) old_sum = sum_q;
    if (overwrite_b) old_sum = '0;
  end

  always_ff @(posedge clk_i) begin
    ctrl_q <= ctrl_i;
    if (valid_b) begin
      sum_q    <= old_sum + sum_i;
      sram_c_q <= sram_b;
      row_c_q  <= row_b;
    end
    if (valid_c_q) sum_old_q <= sum_q;
    valid_c_q <= valid_b;
  end

  // ---- SRAMs ----
  for (genvar i = 0; i < Phys; i++) begin : gen_sram
    logic m_read, m_write;
    assign m_read  = valid_a && !overwrite_a && (sram_a == PhysW'(i));
    assign m_write = valid_c_q && (sram_c_q == PhysW'(i));
    dlc_scratchpad_bank #(.Width(32), .Granule(32), .Words(dlc_pkg::ACC_ROWS), .ReadPorts(1)) u_sram (
      .clk_i,
      .we_i(m_write || we_i[i]),
      .waddr_i(m_write ? row_c_q : waddr_i[i*RowW +: RowW]),
      .wdata_i(m_write ? sum_q : wdata_i[i*32 +: 32]),
      .re_i(m_read || re_i[i]),
      .raddr_i(m_read ? row_a : raddr_i[i*RowW +: RowW]),
      .rdata_o(rdata[i]));
  end

  assign a_data_o = rdata[a_sel_i];
  assign b_data_o = rdata[b_sel_i];
  for (genvar s = 0; s < dlc_pkg::ACC_SUB; s++) begin : gen_store
    assign s_data_o[s*32 +: 32] = rdata[s_sel_i[s*PhysW +: PhysW]];
  end
endmodule
