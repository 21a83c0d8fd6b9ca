// VECTOR: a loop nest that issues a step (one group of LANES) a cycle into the lanes' fixed pipeline. Consecutive
// instructions overlap in the pipeline, so what a stage needs to know about its instruction lies in a ring of
// contexts (16: more than there can be instructions in the pipeline), read a cycle ahead of its use.
// Stage sN: N cycles after the step's address cycle s = S+1+k. Results are written, and the instruction retires, in
// s14 of its last step (VECTOR_DEPTH).
module dlc_vector (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  // queue
  input  logic                             ready_i,
  input  logic [dlc_isa_pkg::VECTOR_BITS-1:0] instr_i,
  output logic                             start_o,
  // operands: addresses in s, data in s1
  output logic                             a_act_re_o,
  output logic                             a_acc_re_o,
  output logic [dlc_pkg::ADDR_W-1:0]       a_addr_o,
  input  logic [dlc_pkg::LANES*8-1:0]      a_act_i,
  input  logic [dlc_pkg::LANES*32-1:0]     a_acc_i,
  output logic                             b_act_re_o,
  output logic                             b_acc_re_o,
  output logic [dlc_pkg::ADDR_W-1:0]       b_addr_o,
  input  logic [dlc_pkg::LANES*8-1:0]      b_act_i,
  input  logic [dlc_pkg::LANES*32-1:0]     b_acc_i,
  output logic                             tap_re_o,
  output logic [dlc_pkg::PAR_ADDR_W-1:0]   tap_addr_o,
  output logic [3:0]                       tap_index_o,
  input  logic [dlc_pkg::LANES*8-1:0]      tap_i,
  // rescale parameters: address in s3, data in s4
  output logic                             param_re_o,
  output logic [dlc_pkg::PAR_ADDR_W-1:0]   param_addr_o,
  input  logic [dlc_pkg::LANES*128-1:0]    param_i,
  // look-ups: index in s13, data in s14
  output logic                             lut_re_o,
  output logic [dlc_pkg::LUT_ADDR_W-1:0]   lut_table_o,
  output logic [dlc_pkg::LANES*8-1:0]      lut_index_o,
  input  logic [dlc_pkg::LANES*8-1:0]      lut_i,
  // results in s14
  output logic                             d_act_we_o,
  output logic                             d_acc_we_o,
  output logic [dlc_pkg::ADDR_W-1:0]       d_addr_o,
  output logic [dlc_pkg::LANES*8-1:0]      d_act_o,
  output logic [dlc_pkg::LANES*32-1:0]     d_acc_o,
  // state
  output logic                             retire_o,
  output logic                             active_o,
  output logic                             idle_o
);
  localparam int unsigned AddrW = dlc_pkg::ADDR_W;
  localparam int unsigned ParW  = dlc_pkg::PAR_ADDR_W;
  localparam int unsigned Depth = dlc_config_pkg::VECTOR_DEPTH;  // 14: the pipeline below

  // ---- fields ----
  logic [1:0] f_a_source, f_b_source, f_premultiply, f_rescale, f_destination;
  logic [2:0] f_combine;
  logic       f_has_b, f_linear, f_scaled;
  assign f_a_source    = instr_i[dlc_isa_pkg::VECTOR_A_SOURCE_LSB +: 2];
  assign f_b_source    = instr_i[dlc_isa_pkg::VECTOR_B_SOURCE_LSB +: 2];
  assign f_premultiply = instr_i[dlc_isa_pkg::VECTOR_PREMULTIPLY_LSB +: 2];
  assign f_rescale     = instr_i[dlc_isa_pkg::VECTOR_RESCALE_LSB +: 2];
  assign f_combine     = instr_i[dlc_isa_pkg::VECTOR_COMBINE_LSB +: 3];
  assign f_destination = instr_i[dlc_isa_pkg::VECTOR_DESTINATION_LSB +: 2];
  assign f_has_b       = f_combine != dlc_isa_pkg::COMBINE_NONE;
  assign f_linear      = f_combine == dlc_isa_pkg::COMBINE_LINEAR;
  assign f_scaled      = f_rescale != dlc_isa_pkg::RESCALE_NONE;

  // ---- steps ----
  logic             run_q, step_last;
  logic [4:0]       at_last, advance, reduce_mask_q;  // mask: loops that do not reduce
  logic             a_acc_q, b_acc_q, tap_q, has_b_q;
  logic [3:0]       slot_q;
  logic             first_q, output_step;  // first and last step of a reduction
  logic [17:0]      position_q;            // step within the reduction
  logic [AddrW-1:0] d_addr, unused_a, unused_b, unused_d;
  logic [ParW-1:0]  param_addr, tap_base, unused_p, unused_t;

  assign start_o     = ready_i && (!run_q || step_last);
  assign step_last   = advance == '0;
  assign output_step = &(at_last | reduce_mask_q);

  dlc_loop_counter #(.Levels(5), .CountW(16)) u_loops (
    .clk_i, .load_i(start_o), .count_i(instr_i[dlc_isa_pkg::VECTOR_COUNT_LSB +: 80]), .step_i(run_q),
    .at_last_o(at_last), .advance_o(advance));
  dlc_address_walker #(.Levels(5)) u_a (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::VECTOR_A_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::VECTOR_A_STRIDE_LSB +: 100]), .step_i(run_q), .advance_i(advance),
    .addr_o(a_addr_o), .next_o(unused_a));
  dlc_address_walker #(.Levels(5)) u_b (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::VECTOR_B_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::VECTOR_B_STRIDE_LSB +: 100]), .step_i(run_q && has_b_q), .advance_i(advance),
    .addr_o(b_addr_o), .next_o(unused_b));
  dlc_address_walker #(.Levels(5)) u_d (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::VECTOR_D_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::VECTOR_D_STRIDE_LSB +: 100]), .step_i(run_q), .advance_i(advance),
    .addr_o(d_addr), .next_o(unused_d));
  dlc_address_walker #(.Levels(2), .AddrW(ParW), .StrideW(12)) u_param (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::VECTOR_PAR_ADDRESS_LSB +: 14]),
    .stride_i(instr_i[dlc_isa_pkg::VECTOR_PAR_STRIDE_LSB +: 24]), .step_i(run_q), .advance_i(advance[1:0]),
    .addr_o(param_addr), .next_o(unused_p));
  dlc_address_walker #(.Levels(1), .AddrW(ParW), .StrideW(12)) u_tap (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::VECTOR_TAP_ADDRESS_LSB +: 14]),
    .stride_i(instr_i[dlc_isa_pkg::VECTOR_TAP_STRIDE_LSB +: 12]), .step_i(run_q), .advance_i(advance[0]),
    .addr_o(tap_base), .next_o(unused_t));

  logic [2:0] f_reduce_loops;
  assign f_reduce_loops = instr_i[dlc_isa_pkg::VECTOR_REDUCE_LOOPS_LSB +: 3];
  always_ff @(posedge clk_i) begin
    if (start_o) begin
      // Loop k reduces if k >= 5 - reduce_loops.
      for (int unsigned k = 0; k < 5; k++) reduce_mask_q[k] <= k + 32'(f_reduce_loops) < 5;
      a_acc_q <= f_a_source == dlc_isa_pkg::VECTOR_SOURCE_ACC;
      b_acc_q <= f_b_source == dlc_isa_pkg::VECTOR_SOURCE_ACC;
      tap_q   <= f_premultiply == dlc_isa_pkg::PREMULTIPLY_TAP;
      has_b_q <= f_has_b;
      slot_q  <= slot_q + 1'b1;
    end
    if (start_o) begin
      first_q    <= 1'b1;
      position_q <= '0;
    end else if (run_q) begin
      first_q    <= output_step;
      position_q <= output_step ? '0 : position_q + 1'b1;
    end
    if (!rst_ni) begin
      run_q  <= 1'b0;
      slot_q <= '0;
    end else if (start_o) begin
      run_q <= 1'b1;
    end else if (step_last) begin
      run_q <= 1'b0;
    end
  end

  assign a_act_re_o  = run_q && !a_acc_q;
  assign a_acc_re_o  = run_q && a_acc_q;
  assign b_act_re_o  = run_q && has_b_q && output_step && !b_acc_q;
  assign b_acc_re_o  = run_q && has_b_q && output_step && b_acc_q;
  assign tap_re_o    = run_q && tap_q;
  assign tap_addr_o  = tap_base + position_q[17:4];
  assign tap_index_o = position_q[3:0];

  // ---- contexts ----
  logic [3:0]  new_slot;
  logic [37:0] c_operand_q[16];
  logic [69:0] c_scale_q[16];
  logic [48:0] c_clamp_q[16];
  logic [18:0] c_combine_q[16];
  logic [62:0] c_multiply_q[16];
  logic [54:0] c_out_q[16];
  logic [15:0] c_dest_acc_q, c_lut_q;
  logic [dlc_pkg::LUT_ADDR_W-1:0] c_table_q[16];
  assign new_slot = slot_q + 1'b1;
  always_ff @(posedge clk_i) begin
    if (start_o) begin
      c_operand_q[new_slot] <= {
        f_has_b, f_b_source == dlc_isa_pkg::VECTOR_SOURCE_ACC, instr_i[dlc_isa_pkg::VECTOR_B_SIGNED_LSB],
        instr_i[dlc_isa_pkg::VECTOR_B_ZERO_LSB +: 9],
        f_premultiply == dlc_isa_pkg::PREMULTIPLY_TAP, instr_i[dlc_isa_pkg::VECTOR_TAP_SIGNED_LSB],
        instr_i[dlc_isa_pkg::VECTOR_TAP_ZERO_LSB +: 9],
        f_a_source == dlc_isa_pkg::VECTOR_SOURCE_ACC, instr_i[dlc_isa_pkg::VECTOR_A_SIGNED_LSB],
        instr_i[dlc_isa_pkg::VECTOR_A_ZERO_LSB +: 9],
        instr_i[dlc_isa_pkg::VECTOR_REDUCE_OP_LSB +: 2], 2'b00};
      // Without rescale or combine the same pipeline computes x * 1 >> 0.
      c_scale_q[new_slot] <= {
        f_rescale == dlc_isa_pkg::RESCALE_PARAMETER, f_scaled ? instr_i[dlc_isa_pkg::VECTOR_BIAS_LSB +: 32] : 32'd0,
        f_scaled ? instr_i[dlc_isa_pkg::VECTOR_MULTIPLIER_LSB +: 31] : 31'd1,
        f_scaled ? instr_i[dlc_isa_pkg::VECTOR_SHIFT_LSB +: 6] : 6'd0};
      c_clamp_q[new_slot] <= {
        f_scaled, f_scaled ? instr_i[dlc_isa_pkg::VECTOR_ZERO_LSB +: 16] : 16'd0,
        instr_i[dlc_isa_pkg::VECTOR_LOW_LSB +: 16], instr_i[dlc_isa_pkg::VECTOR_HIGH_LSB +: 16]};
      c_combine_q[new_slot] <= {f_combine, f_has_b ? instr_i[dlc_isa_pkg::VECTOR_ZERO_LSB +: 16] : 16'd0};
      c_multiply_q[new_slot] <= {
        f_linear && instr_i[dlc_isa_pkg::VECTOR_B_NEGATE_LSB],
        f_has_b ? instr_i[dlc_isa_pkg::VECTOR_A_MULTIPLIER_LSB +: 31] : 31'd1,
        f_linear ? instr_i[dlc_isa_pkg::VECTOR_B_MULTIPLIER_LSB +: 31] : 31'd0};
      c_out_q[new_slot] <= {
        f_has_b ? instr_i[dlc_isa_pkg::VECTOR_OUT_SHIFT_LSB +: 6] : 6'd0, f_has_b,
        f_has_b ? instr_i[dlc_isa_pkg::VECTOR_OUT_ZERO_LSB +: 16] : 16'd0,
        instr_i[dlc_isa_pkg::VECTOR_OUT_LOW_LSB +: 16], instr_i[dlc_isa_pkg::VECTOR_OUT_HIGH_LSB +: 16]};
      c_dest_acc_q[new_slot] <= f_destination == dlc_isa_pkg::VECTOR_DESTINATION_ACC;
      c_lut_q[new_slot] <= instr_i[dlc_isa_pkg::VECTOR_LUT_LSB +: 2] != dlc_isa_pkg::LUT_NONE;
      c_table_q[new_slot] <= instr_i[dlc_isa_pkg::VECTOR_LUT_TABLE_LSB +: dlc_pkg::LUT_ADDR_W];
    end
  end

  // ---- pipeline of valid bits and context numbers; index N: stage sN ----
  logic [Depth:1] valid_q;   // a step (s1..s3) or an output (from s4)
  logic [Depth:1] final_q;   // the instruction's last step
  logic           out1_q, out2_q, out3_q;  // an output's step
  logic [3:0]     slot1_q, slot2_q, slot3_q, slot4_q, slot5_q, slot6_q, slot7_q, slot8_q, slot9_q, slot10_q,
                  slot11_q, slot12_q, slot13_q;
  always_ff @(posedge clk_i) begin
    valid_q[1] <= run_q;
    valid_q[2] <= valid_q[1];
    valid_q[3] <= valid_q[2];
    valid_q[4] <= valid_q[3] && out3_q;
    valid_q[Depth:5] <= valid_q[Depth-1:4];
    final_q <= {final_q[Depth-1:1], run_q && step_last};
    out1_q  <= output_step;
    out2_q  <= out1_q;
    out3_q  <= out2_q;
    {slot13_q, slot12_q, slot11_q, slot10_q, slot9_q, slot8_q, slot7_q, slot6_q, slot5_q, slot4_q, slot3_q, slot2_q,
     slot1_q} <=
      {slot12_q, slot11_q, slot10_q, slot9_q, slot8_q, slot7_q, slot6_q, slot5_q, slot4_q, slot3_q, slot2_q, slot1_q,
       slot_q};
    if (!rst_ni) begin
      valid_q <= '0;
      final_q <= '0;
    end
  end

  // ---- contexts, read a cycle ahead ----
  logic        s1_has_b, s1_b_acc, s1_b_signed, s1_tap, s1_tap_signed, s1_a_acc, s1_a_signed;
  logic [8:0]  s1_b_zero, s1_tap_zero, s1_a_zero;
  logic [1:0]  s1_op, s2_op_q, s3_op_q;
  logic        s2_tap_q, first1_q, first2_q, first3_q;
  logic [37:0] s1_operand_q;
  logic [69:0] s4_scale_q;
  logic [48:0] s7_clamp_q;
  logic [18:0] s8_combine_q;
  logic [62:0] s9_multiply_q;
  logic [54:0] s11_out_q;
  logic [48:0] s12_out_q;
  logic        s10_negate_q;
  logic [1:0]  unused_operand;
  assign {s1_has_b, s1_b_acc, s1_b_signed, s1_b_zero, s1_tap, s1_tap_signed, s1_tap_zero, s1_a_acc, s1_a_signed,
          s1_a_zero, s1_op, unused_operand} = s1_operand_q;
  always_ff @(posedge clk_i) begin
    if (run_q) begin
      s1_operand_q <= c_operand_q[slot_q];
      first1_q     <= first_q;
    end
    if (valid_q[1]) begin
      s2_tap_q <= s1_tap;
      s2_op_q  <= s1_op;
      first2_q <= first1_q;
    end
    if (valid_q[2]) begin
      s3_op_q  <= s2_op_q;
      first3_q <= first2_q;
    end
    if (valid_q[3])  s4_scale_q    <= c_scale_q[slot3_q];
    if (valid_q[6])  s7_clamp_q    <= c_clamp_q[slot6_q];
    if (valid_q[7])  s8_combine_q  <= c_combine_q[slot7_q];
    if (valid_q[8])  s9_multiply_q <= c_multiply_q[slot8_q];
    if (valid_q[9])  s10_negate_q  <= s9_multiply_q[62];
    if (valid_q[10]) s11_out_q     <= c_out_q[slot10_q];
    if (valid_q[11]) s12_out_q     <= s11_out_q[48:0];
  end

  // ---- addresses that are needed later ----
  logic [3:0]       cycle_q;         // counts cycles modulo 16
  logic [AddrW-1:0] d_ring_q[16];
  logic [ParW-1:0]  param1_q, param2_q, param3_q;
  logic [3:0]       d_read;
  assign d_read = cycle_q + 4'd3;    // written 13 cycles ago
  always_ff @(posedge clk_i) begin
    if (run_q && output_step) d_ring_q[cycle_q] <= d_addr;
    if (valid_q[13]) begin
      d_addr_o   <= d_ring_q[d_read];
      d_act_we_o <= !c_dest_acc_q[slot13_q];
      d_acc_we_o <= c_dest_acc_q[slot13_q];
    end else begin
      d_act_we_o <= 1'b0;
      d_acc_we_o <= 1'b0;
    end
    if (run_q) param1_q <= param_addr;
    if (valid_q[1]) param2_q <= param1_q;
    if (valid_q[2]) param3_q <= param2_q;
    cycle_q <= cycle_q + 1'b1;
    if (!rst_ni) begin
      cycle_q    <= '0;
      d_act_we_o <= 1'b0;
      d_acc_we_o <= 1'b0;
    end
  end
  assign param_re_o   = valid_q[3] && out3_q && c_scale_q[slot3_q][69];
  assign param_addr_o = param3_q;

  // ---- s13: look up, or only a register ----
  logic [dlc_pkg::LANES*32-1:0] result, result_q;
  logic                         s14_lut_q;
  assign lut_re_o    = valid_q[13] && c_lut_q[slot13_q];
  assign lut_table_o = c_table_q[slot13_q];
  always_ff @(posedge clk_i) begin
    if (valid_q[13]) begin
      result_q  <= result;
      s14_lut_q <= c_lut_q[slot13_q];
    end
  end
  assign d_acc_o = result_q;

  // ---- lanes ----
  logic pipeline_busy;
  assign pipeline_busy = |valid_q[Depth-1:1];
  for (genvar l = 0; l < dlc_pkg::LANES; l++) begin : gen_lane
    dlc_vector_lane u_lane (
      .clk_i, .enable_i(pipeline_busy),
      .s1_valid_i(valid_q[1]), .s1_a_acc_i(s1_a_acc), .s1_a_signed_i(s1_a_signed), .s1_a_zero_i(s1_a_zero),
      .a_act_i(a_act_i[l*8 +: 8]), .a_acc_i(a_acc_i[l*32 +: 32]),
      .s1_tap_i(s1_tap), .s1_tap_signed_i(s1_tap_signed), .s1_tap_zero_i(s1_tap_zero), .tap_i(tap_i[l*8 +: 8]),
      .s1_b_valid_i(valid_q[1] && out1_q && s1_has_b), .s1_b_acc_i(s1_b_acc), .s1_b_signed_i(s1_b_signed),
      .s1_b_zero_i(s1_b_zero), .b_act_i(b_act_i[l*8 +: 8]), .b_acc_i(b_acc_i[l*32 +: 32]),
      .b_slot_i(cycle_q[2:0]), .s2_valid_i(valid_q[2]), .s2_tap_i(s2_tap_q),
      .s3_valid_i(valid_q[3]), .s3_first_i(first3_q), .s3_op_i(s3_op_q),
      .s4_valid_i(valid_q[4]), .s4_param_i(s4_scale_q[69]), .s4_bias_i(s4_scale_q[68:37]),
      .s4_multiplier_i(s4_scale_q[36:6]), .s4_shift_i(s4_scale_q[5:0]), .param_i(param_i[l*128 +: 128]),
      .s5_valid_i(valid_q[5]), .s6_valid_i(valid_q[6]),
      .s7_valid_i(valid_q[7]), .s7_clamp_i(s7_clamp_q[48]), .s7_zero_i(s7_clamp_q[47:32]),
      .s7_low_i(s7_clamp_q[31:16]), .s7_high_i(s7_clamp_q[15:0]),
      .s8_valid_i(valid_q[8]), .s8_combine_i(s8_combine_q[18:16]), .s8_zero_i(s8_combine_q[15:0]),
      .s9_valid_i(valid_q[9]), .s9_a_multiplier_i(s9_multiply_q[61:31]), .s9_b_multiplier_i(s9_multiply_q[30:0]),
      .s10_valid_i(valid_q[10]), .s10_negate_i(s10_negate_q),
      .s11_valid_i(valid_q[11]), .s11_shift_i(s11_out_q[54:49]),
      .s12_valid_i(valid_q[12]), .s12_clamp_i(s12_out_q[48]), .s12_zero_i(s12_out_q[47:32]),
      .s12_low_i(s12_out_q[31:16]), .s12_high_i(s12_out_q[15:0]),
      .result_o(result[l*32 +: 32]));
    assign lut_index_o[l*8 +: 8] = result[l*32 +: 8];
    assign d_act_o[l*8 +: 8]     = s14_lut_q ? lut_i[l*8 +: 8] : result_q[l*32 +: 8];
  end

  // ---- retire ----
  logic [4:0] inflight_q;
  always_ff @(posedge clk_i) begin
    if (start_o != retire_o) inflight_q <= start_o ? inflight_q + 1'b1 : inflight_q - 1'b1;
    if (!rst_ni) inflight_q <= '0;
  end
  assign retire_o = final_q[Depth];
  assign active_o = start_o || run_q;
  assign idle_o   = inflight_q == '0;

  logic unused;
  assign unused = ^{unused_a, unused_b, unused_d, unused_p, unused_t, unused_operand, valid_q[Depth]};

`ifndef SYNTHESIS
  initial assert (Depth == 14) else $error("VECTOR_DEPTH is the length of this pipeline");
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_o) begin
      assert (!f_a_source[1] && !(f_has_b && f_b_source[1]) && !f_destination[1] && !f_premultiply[1] &&
              (instr_i[dlc_isa_pkg::VECTOR_LUT_LSB +: 2] == dlc_isa_pkg::LUT_NONE ||
               (dlc_config_pkg::LUT != 0 && f_destination == dlc_isa_pkg::VECTOR_DESTINATION_ACT8 &&
                instr_i[dlc_isa_pkg::VECTOR_LUT_LSB +: 2] == dlc_isa_pkg::LUT_TABLE8)))
        else $error("VECTOR: a reserved function");
    end
  end
`endif
endmodule
