// The core: FETCH, four engines with their queues, retire counters, scratchpads. Everything between engines is
// registered (isa/README.md, section 4).
module dlc_core (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        start_i,        // the next cycle is cycle 0
  input  logic [dlc_pkg::DRAM_W-1:0]  program_address_i,
  input  logic [31:0]                 program_units_i,
  output logic                        running_o,
  output logic                        done_o,
  output logic                        error_o,
  input  logic [4:0]                  counter_select_i,
  output logic [63:0]                 counter_o,
  // AXI4 channels without their constant signals
  output logic                        ar_valid_o,
  output logic                        ar_id_o,
  output logic [dlc_pkg::DRAM_W-1:0]  ar_addr_o,
  output logic [7:0]                  ar_len_o,
  input  logic                        ar_ready_i,
  input  logic                        r_valid_i,
  input  logic                        r_id_i,
  input  logic [dlc_pkg::BUS_W-1:0]   r_data_i,
  input  logic                        r_last_i,
  input  logic                        r_error_i,
  output logic                        aw_valid_o,
  output logic [dlc_pkg::DRAM_W-1:0]  aw_addr_o,
  output logic [dlc_pkg::BEATS_W-1:0] aw_beats_o,
  input  logic                        aw_ready_i,
  output logic                        w_valid_o,
  output logic [dlc_pkg::BUS_W-1:0]   w_data_o,
  output logic [dlc_pkg::BUS_BYTES-1:0] w_strb_o,
  output logic                        w_last_o,
  input  logic                        w_ready_i,
  input  logic                        b_valid_i,
  input  logic                        b_error_i,
  // trace: in the very cycle of start and retire; load, matrix, vector, store
  output logic [3:0]                  trace_start_o,
  output logic [3:0]                  trace_retire_o
);
  localparam int unsigned AddrW   = dlc_pkg::ADDR_W;
  localparam int unsigned RetireW = dlc_pkg::RETIRE_W;
  localparam int unsigned WaitLsb = dlc_isa_pkg::HEADER_WAIT_LSB;
  localparam int unsigned WaitW   = dlc_isa_pkg::HEADER_WAIT_N * dlc_isa_pkg::HEADER_WAIT_W;
  localparam int unsigned OwnLsb  = 8;                 // an opcode's own header bits: 8 .. WaitLsb-1
  localparam int unsigned OwnW    = WaitLsb - OwnLsb;
  localparam int unsigned UnitW   = dlc_isa_pkg::UNIT_BITS;

  logic [3:0] full, push, valid, ready, start, retire, active, idle;
  logic [dlc_isa_pkg::MAX_UNITS*UnitW-1:0] fetched;
  logic running_q, done_q, error_q, finished, fetch_done, fetch_error, fetch_busy, fetch_blocked;

  // ---- run control: the end is seen a cycle after the last event, running falls in the next ----
  assign finished = fetch_done && !(|valid) && (&idle);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      done_q    <= 1'b0;
      error_q   <= 1'b0;
    end else if (start_i) begin
      running_q <= 1'b1;
      done_q    <= 1'b0;
      error_q   <= 1'b0;
    end else if (running_q) begin
      if (finished) begin
        running_q <= 1'b0;
        done_q    <= 1'b1;
      end
      if (fetch_error || (r_valid_i && r_error_i) || (b_valid_i && b_error_i)) error_q <= 1'b1;
    end
  end
  assign running_o = running_q;
  assign done_o    = done_q;
  assign error_o   = error_q;

  // ---- retire counters ----
  logic [RetireW-1:0] retired_q[4];
  logic [WaitW-1:0]   retired;
  for (genvar e = 0; e < 4; e++) begin : gen_retired
    always_ff @(posedge clk_i) begin
      if (start_i || !rst_ni) retired_q[e] <= '0;
      else if (retire[e]) retired_q[e] <= retired_q[e] + 1'b1;
    end
    assign retired[e*RetireW +: RetireW] = retired_q[e];
  end

  // ---- FETCH and the read channel ----
  logic                        fetch_req_valid, fetch_req_ready, load_req_valid, load_req_ready;
  logic [dlc_pkg::DRAM_W-1:0]  fetch_req_addr, load_req_addr;
  logic [dlc_pkg::BEATS_W-1:0] fetch_req_beats, load_req_beats;
  dlc_fetch u_fetch (
    .clk_i, .rst_ni, .start_i, .running_i(running_q), .address_i(program_address_i), .units_i(program_units_i),
    .req_valid_o(fetch_req_valid), .req_addr_o(fetch_req_addr), .req_beats_o(fetch_req_beats),
    .req_ready_i(fetch_req_ready), .beat_i(r_valid_i && !r_id_i), .beat_data_i(r_data_i), .full_i(full),
    .push_o(push), .instr_o(fetched), .busy_o(fetch_busy), .blocked_o(fetch_blocked), .done_o(fetch_done),
    .error_o(fetch_error));
  dlc_axi_read_arbiter u_arbiter (
    .clk_i, .rst_ni, .fetch_valid_i(fetch_req_valid), .fetch_addr_i(fetch_req_addr),
    .fetch_beats_i(fetch_req_beats), .fetch_ready_o(fetch_req_ready), .load_valid_i(load_req_valid),
    .load_addr_i(load_req_addr), .load_beats_i(load_req_beats), .load_ready_o(load_req_ready),
    .ar_valid_o, .ar_id_o, .ar_addr_o, .ar_len_o, .ar_ready_i);

  // ---- queues: the waits and the engine's own fields ----
  logic [dlc_isa_pkg::LOAD_BITS-1:0]   load_instr;
  logic [dlc_isa_pkg::MATRIX_BITS-1:0] matrix_instr;
  logic [dlc_isa_pkg::VECTOR_BITS-1:0] vector_instr;
  logic [dlc_isa_pkg::STORE_BITS-1:0]  store_instr;
  for (genvar e = 0; e < 4; e++) begin : gen_queue
    localparam int unsigned Bits = e == dlc_isa_pkg::ENGINE_LOAD   ? dlc_isa_pkg::LOAD_BITS
                                 : e == dlc_isa_pkg::ENGINE_MATRIX ? dlc_isa_pkg::MATRIX_BITS
                                 : e == dlc_isa_pkg::ENGINE_VECTOR ? dlc_isa_pkg::VECTOR_BITS
                                                                   : dlc_isa_pkg::STORE_BITS;
    logic [OwnW-1:0]       own;
    logic [Bits-UnitW-1:0] body;
    dlc_queue #(.OwnW(OwnW), .BodyW(Bits - UnitW), .Depth(dlc_config_pkg::QUEUE_DEPTH)) u_queue (
      .clk_i, .rst_ni, .push_i(push[e]), .push_wait_i(fetched[WaitLsb +: WaitW]),
      .push_own_i(fetched[WaitLsb-1:OwnLsb]), .push_body_i(fetched[Bits-1:UnitW]), .full_o(full[e]),
      .retired_i(retired), .valid_o(valid[e]), .ready_o(ready[e]), .own_o(own), .body_o(body), .pop_i(start[e]));
  end
  assign load_instr = {gen_queue[dlc_isa_pkg::ENGINE_LOAD].body, {WaitW{1'b0}},
    gen_queue[dlc_isa_pkg::ENGINE_LOAD].own, {OwnLsb{1'b0}}};
  assign matrix_instr = {gen_queue[dlc_isa_pkg::ENGINE_MATRIX].body, {WaitW{1'b0}},
    gen_queue[dlc_isa_pkg::ENGINE_MATRIX].own, {OwnLsb{1'b0}}};
  assign vector_instr = {gen_queue[dlc_isa_pkg::ENGINE_VECTOR].body, {WaitW{1'b0}},
    gen_queue[dlc_isa_pkg::ENGINE_VECTOR].own, {OwnLsb{1'b0}}};
  assign store_instr = {gen_queue[dlc_isa_pkg::ENGINE_STORE].body, {WaitW{1'b0}},
    gen_queue[dlc_isa_pkg::ENGINE_STORE].own, {OwnLsb{1'b0}}};

  // ---- LOAD ----
  logic [4:0]                  ld_valid;
  logic [dlc_pkg::SP_W-1:0]    ld_sp;
  logic [dlc_pkg::BUS_LOG-1:0] ld_lo;
  logic [dlc_pkg::BUS_LOG:0]   ld_n;
  logic [dlc_pkg::BUS_W-1:0]   ld_data;
  logic                        load_beat;
  assign load_beat = r_valid_i && r_id_i;
  dlc_load u_load (
    .clk_i, .rst_ni, .ready_i(ready[dlc_isa_pkg::ENGINE_LOAD]), .instr_i(load_instr),
    .start_o(start[dlc_isa_pkg::ENGINE_LOAD]), .req_valid_o(load_req_valid), .req_addr_o(load_req_addr),
    .req_beats_o(load_req_beats), .req_ready_i(load_req_ready), .beat_i(load_beat), .beat_last_i(r_last_i),
    .beat_data_i(r_data_i), .wr_valid_o(ld_valid), .wr_sp_o(ld_sp), .wr_lo_o(ld_lo), .wr_n_o(ld_n),
    .wr_data_o(ld_data), .retire_o(retire[dlc_isa_pkg::ENGINE_LOAD]), .active_o(active[dlc_isa_pkg::ENGINE_LOAD]),
    .idle_o(idle[dlc_isa_pkg::ENGINE_LOAD]));

  // ---- MATRIX ----
  logic             wgt_read, wgt_first, wgt_re, wgt_signed, step, step_first, m_act_re, act_signed, act_clear;
  logic             acc_overwrite, acc_forward1, acc_forward2;
  logic [AddrW-1:0] wgt_addr, m_act_addr, m_acc_addr;
  logic [8:0]       wgt_zero, act_zero;
  logic [dlc_pkg::WGT_WORD*8-1:0] wgt_data;
  logic [dlc_pkg::ACT_WORD*8-1:0] m_act_data;
  logic [dlc_pkg::COLS*32-1:0]    sums;
  dlc_matrix u_matrix (
    .clk_i, .rst_ni, .ready_i(ready[dlc_isa_pkg::ENGINE_MATRIX]), .instr_i(matrix_instr),
    .start_o(start[dlc_isa_pkg::ENGINE_MATRIX]), .wgt_read_o(wgt_read), .wgt_first_o(wgt_first), .wgt_re_o(wgt_re),
    .wgt_addr_o(wgt_addr), .wgt_signed_o(wgt_signed), .wgt_zero_o(wgt_zero), .step_o(step),
    .step_first_o(step_first), .act_re_o(m_act_re), .act_addr_o(m_act_addr), .act_signed_o(act_signed),
    .act_zero_o(act_zero), .act_clear_o(act_clear), .acc_addr_o(m_acc_addr), .acc_overwrite_o(acc_overwrite),
    .acc_forward1_o(acc_forward1), .acc_forward2_o(acc_forward2), .retire_o(retire[dlc_isa_pkg::ENGINE_MATRIX]),
    .active_o(active[dlc_isa_pkg::ENGINE_MATRIX]), .idle_o(idle[dlc_isa_pkg::ENGINE_MATRIX]));
  if (dlc_pkg::BROADCAST != 0) begin : gen_broadcast
    dlc_array_broadcast u_array (
      .clk_i, .rst_ni, .wgt_read_i(wgt_read), .wgt_first_i(wgt_first), .wgt_signed_i(wgt_signed),
      .wgt_zero_i(wgt_zero), .wgt_data_i(wgt_data), .step_i(step), .step_first_i(step_first),
      .act_signed_i(act_signed), .act_zero_i(act_zero), .act_clear_i(act_clear), .act_data_i(m_act_data),
      .sum_o(sums));
  end else begin : gen_systolic
    dlc_array u_array (
      .clk_i, .rst_ni, .wgt_read_i(wgt_read), .wgt_first_i(wgt_first), .wgt_signed_i(wgt_signed),
      .wgt_zero_i(wgt_zero), .wgt_data_i(wgt_data), .step_i(step), .step_first_i(step_first),
      .act_signed_i(act_signed), .act_zero_i(act_zero), .act_clear_i(act_clear), .act_data_i(m_act_data),
      .sum_o(sums));
  end

  // ---- VECTOR ----
  logic                         a_act_re, a_acc_re, b_act_re, b_acc_re, d_act_we, d_acc_we, tap_re, param_re;
  logic [AddrW-1:0]             a_addr, b_addr, d_addr;
  logic [dlc_pkg::LANES*8-1:0]  a_act, b_act, d_act, taps, lut_index, looked_up;
  logic                         lut_re;
  logic [dlc_pkg::LUT_ADDR_W-1:0] lut_table;
  logic [dlc_pkg::LANES*32-1:0] a_acc, b_acc, d_acc;
  logic [dlc_pkg::PAR_ADDR_W-1:0] tap_addr, param_addr;
  logic [3:0]                   tap_index;
  logic [dlc_pkg::LANES*128-1:0] params;
  dlc_vector u_vector (
    .clk_i, .rst_ni, .ready_i(ready[dlc_isa_pkg::ENGINE_VECTOR]), .instr_i(vector_instr),
    .start_o(start[dlc_isa_pkg::ENGINE_VECTOR]), .a_act_re_o(a_act_re), .a_acc_re_o(a_acc_re), .a_addr_o(a_addr),
    .a_act_i(a_act), .a_acc_i(a_acc), .b_act_re_o(b_act_re), .b_acc_re_o(b_acc_re), .b_addr_o(b_addr),
    .b_act_i(b_act), .b_acc_i(b_acc), .tap_re_o(tap_re), .tap_addr_o(tap_addr), .tap_index_o(tap_index),
    .tap_i(taps), .param_re_o(param_re), .param_addr_o(param_addr), .param_i(params), .lut_re_o(lut_re),
    .lut_table_o(lut_table), .lut_index_o(lut_index), .lut_i(looked_up), .d_act_we_o(d_act_we),
    .d_acc_we_o(d_acc_we), .d_addr_o(d_addr), .d_act_o(d_act), .d_acc_o(d_acc),
    .retire_o(retire[dlc_isa_pkg::ENGINE_VECTOR]), .active_o(active[dlc_isa_pkg::ENGINE_VECTOR]),
    .idle_o(idle[dlc_isa_pkg::ENGINE_VECTOR]));

  // ---- STORE ----
  logic [1:0]                  st_valid;
  logic [dlc_pkg::SP_W-1:0]    st_sp;
  logic [dlc_pkg::BUS_LOG-1:0] st_lo;
  logic [dlc_pkg::BUS_LOG:0]   st_n;
  logic [dlc_pkg::BUS_W-1:0]   st_act_data, st_acc_data;
  dlc_store u_store (
    .clk_i, .rst_ni, .ready_i(ready[dlc_isa_pkg::ENGINE_STORE]), .instr_i(store_instr),
    .start_o(start[dlc_isa_pkg::ENGINE_STORE]), .rd_valid_o(st_valid), .rd_sp_o(st_sp), .rd_lo_o(st_lo),
    .rd_n_o(st_n), .rd_act_data_i(st_act_data), .rd_acc_data_i(st_acc_data), .aw_valid_o, .aw_addr_o, .aw_beats_o,
    .aw_ready_i, .w_valid_o, .w_data_o, .w_strb_o, .w_last_o, .w_ready_i, .b_valid_i,
    .retire_o(retire[dlc_isa_pkg::ENGINE_STORE]), .active_o(active[dlc_isa_pkg::ENGINE_STORE]),
    .idle_o(idle[dlc_isa_pkg::ENGINE_STORE]));

  // ---- scratchpads ----
  dlc_act_mem u_act (
    .clk_i, .rst_ni, .m_re_i(m_act_re), .m_addr_i(m_act_addr), .m_data_o(m_act_data),
    .a_re_i(a_act_re), .a_addr_i(a_addr), .a_data_o(a_act), .b_re_i(b_act_re), .b_addr_i(b_addr), .b_data_o(b_act),
    .d_we_i(d_act_we), .d_addr_i(d_addr), .d_data_i(d_act),
    .ld_valid_i(ld_valid[3'(dlc_isa_pkg::MEMORY_ACT)]), .ld_sp_i(ld_sp), .ld_lo_i(ld_lo), .ld_n_i(ld_n),
    .ld_data_i(ld_data),
    .st_valid_i(st_valid[0]), .st_sp_i(st_sp), .st_lo_i(st_lo), .st_n_i(st_n), .st_data_o(st_act_data));
  dlc_wgt_mem u_wgt (
    .clk_i, .re_i(wgt_re), .addr_i(wgt_addr), .data_o(wgt_data),
    .ld_valid_i(ld_valid[3'(dlc_isa_pkg::MEMORY_WGT)]), .ld_sp_i(ld_sp), .ld_lo_i(ld_lo), .ld_n_i(ld_n),
    .ld_data_i(ld_data));
  dlc_acc u_acc (
    .clk_i, .rst_ni, .step_i(step), .step_addr_i(m_acc_addr), .overwrite_i(acc_overwrite),
    .forward1_i(acc_forward1), .forward2_i(acc_forward2), .sum_i(sums),
    .a_re_i(a_acc_re), .a_addr_i(a_addr), .a_data_o(a_acc), .b_re_i(b_acc_re), .b_addr_i(b_addr), .b_data_o(b_acc),
    .d_we_i(d_acc_we), .d_addr_i(d_addr), .d_data_i(d_acc),
    .ld_valid_i(ld_valid[3'(dlc_isa_pkg::MEMORY_ACC)]), .ld_sp_i(ld_sp), .ld_lo_i(ld_lo), .ld_n_i(ld_n),
    .ld_data_i(ld_data),
    .st_valid_i(st_valid[1]), .st_sp_i(st_sp), .st_lo_i(st_lo), .st_n_i(st_n), .st_data_o(st_acc_data));
  dlc_par_mem u_par (
    .clk_i, .param_re_i(param_re), .param_addr_i(param_addr), .param_data_o(params), .tap_re_i(tap_re),
    .tap_addr_i(tap_addr), .tap_index_i(tap_index), .tap_data_o(taps),
    .ld_valid_i(ld_valid[3'(dlc_isa_pkg::MEMORY_PAR)]), .ld_sp_i(ld_sp), .ld_lo_i(ld_lo), .ld_n_i(ld_n),
    .ld_data_i(ld_data));

  if (dlc_config_pkg::LUT != 0) begin : gen_lut
    dlc_lut_mem u_lut (
      .clk_i, .re_i(lut_re), .table_i(lut_table), .index_i(lut_index), .data_o(looked_up),
      .ld_valid_i(ld_valid[3'(dlc_isa_pkg::MEMORY_LUT)]), .ld_sp_i(ld_sp), .ld_data_i(ld_data));
  end else begin : gen_no_lut
    assign looked_up = '0;
    logic unused_lut;
    assign unused_lut = ^{lut_re, lut_table, lut_index, ld_valid[3'(dlc_isa_pkg::MEMORY_LUT)]};
  end

  // ---- counters: load and store are busy with a beat, else their active cycles wait for the memory ----
  logic [4:0] busy, wait_dependency, wait_memory;
  assign busy = {fetch_busy, w_valid_o && w_ready_i, active[dlc_isa_pkg::ENGINE_VECTOR],
                 active[dlc_isa_pkg::ENGINE_MATRIX], load_beat};
  assign wait_dependency = {fetch_blocked, valid & ~active};
  assign wait_memory     = {!fetch_done, active[dlc_isa_pkg::ENGINE_STORE], 2'b00, active[dlc_isa_pkg::ENGINE_LOAD]};
  dlc_counters u_counters (
    .clk_i, .rst_ni, .clear_i(start_i), .running_i(running_q), .busy_i(busy), .wait_dependency_i(wait_dependency),
    .wait_memory_i(wait_memory), .select_i(counter_select_i), .value_o(counter_o));

  assign trace_start_o  = start;
  assign trace_retire_o = retire;

  // What the instruction set reserves or the engines do not use.
  logic unused;
  assign unused = ^{fetched[OwnLsb-1:0]};
endmodule
