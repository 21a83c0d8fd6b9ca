// One lane of VECTOR: the arithmetic of isa/numerics.h as a fixed pipeline. The prefix sN of a control input is the
// number of cycles after the step's address cycle s in which it is used; stages from s4 on work once an output.
//   s1 operands  s2 premultiply  s3 reduce  s4 bias  s5 multiply  s6 round  s7 zero, clamp
//   s8 combine   s9 multiply     s10 add    s11 round             s12 zero, clamp   (s13 look-up: dlc_vector)
module dlc_vector_lane (
  input  logic         clk_i,
  input  logic         enable_i,        // something is in the pipeline (a clock gate, and less to simulate)
  // s1: operands as they come from the memories
  input  logic         s1_valid_i,
  input  logic         s1_a_acc_i,      // A is an accumulator
  input  logic         s1_a_signed_i,
  input  logic [8:0]   s1_a_zero_i,
  input  logic [7:0]   a_act_i,
  input  logic [31:0]  a_acc_i,
  input  logic         s1_tap_i,        // premultiply by a tap
  input  logic         s1_tap_signed_i,
  input  logic [8:0]   s1_tap_zero_i,
  input  logic [7:0]   tap_i,
  input  logic         s1_b_valid_i,
  input  logic         s1_b_acc_i,
  input  logic         s1_b_signed_i,
  input  logic [8:0]   s1_b_zero_i,
  input  logic [7:0]   b_act_i,
  input  logic [31:0]  b_acc_i,
  input  logic [2:0]   b_slot_i,        // counts cycles modulo 8
  input  logic         s2_valid_i,
  input  logic         s2_tap_i,
  input  logic         s3_valid_i,
  input  logic         s3_first_i,
  input  logic [1:0]   s3_op_i,
  // s4 .. s7: first rescale
  input  logic         s4_valid_i,
  input  logic         s4_param_i,      // from PAR, else immediate
  input  logic [31:0]  s4_bias_i,
  input  logic [30:0]  s4_multiplier_i,
  input  logic [5:0]   s4_shift_i,
  input  logic [127:0] param_i,
  input  logic         s5_valid_i,
  input  logic         s6_valid_i,
  input  logic         s7_valid_i,
  input  logic         s7_clamp_i,
  input  logic [15:0]  s7_zero_i,
  input  logic [15:0]  s7_low_i,
  input  logic [15:0]  s7_high_i,
  // s8 .. s12: combine with B
  input  logic         s8_valid_i,
  input  logic [2:0]   s8_combine_i,
  input  logic [15:0]  s8_zero_i,
  input  logic         s9_valid_i,
  input  logic [30:0]  s9_a_multiplier_i,
  input  logic [30:0]  s9_b_multiplier_i,
  input  logic         s10_valid_i,
  input  logic         s10_negate_i,
  input  logic         s11_valid_i,
  input  logic [5:0]   s11_shift_i,
  input  logic         s12_valid_i,
  input  logic         s12_clamp_i,
  input  logic [15:0]  s12_zero_i,
  input  logic [15:0]  s12_low_i,
  input  logic [15:0]  s12_high_i,
  output logic [31:0]  result_o         // s13
);
  // A byte, its sign and a zero point -> 9 bits signed.
  function automatic logic [8:0] operand9(input logic [7:0] value, input logic is_signed, input logic [8:0] zero);
    operand9 = {is_signed & value[7], value} - zero;
  endfunction

  // Arithmetic shift right, round half to even.
  function automatic logic [63:0] round_shift(input logic [63:0] value, input logic [5:0] shift);
    logic [63:0] floor, one, remainder, half;
    floor     = 64'($signed(value) >>> shift);
    one       = 64'd1 << shift;
    remainder = value & (one - 64'd1);
    half      = one >> 1;
    round_shift = floor + 64'((remainder > half) || (remainder == half && floor[0] && shift != '0));
  endfunction

  function automatic logic [31:0] add_clamp(input logic [63:0] value, input logic clamp, input logic [15:0] zero,
                                            input logic [15:0] low, input logic [15:0] high);
    logic [63:0] sum;
    sum = value + 64'($signed(zero));
    if (clamp) begin
      if ($signed(sum) < 64'($signed(low))) sum = 64'($signed(low));
      if ($signed(sum) > 64'($signed(high))) sum = 64'($signed(high));
    end
    add_clamp = sum[31:0];
  endfunction

  // ---- s1, s2, s3 ----
  logic [31:0] a_q, product_q, reduced_q;
  logic [8:0]  tap_q;
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (s1_valid_i) begin
        a_q <= s1_a_acc_i ? a_acc_i : 32'($signed(operand9(a_act_i, s1_a_signed_i, s1_a_zero_i)));
        if (s1_tap_i) tap_q <= operand9(tap_i, s1_tap_signed_i, s1_tap_zero_i);
      end
      if (s2_valid_i) product_q <= s2_tap_i ? a_q * 32'($signed(tap_q)) : a_q;
      if (s3_valid_i) begin
        if (s3_first_i) reduced_q <= product_q;
        else if (s3_op_i == dlc_isa_pkg::REDUCE_OP_SUM) reduced_q <= reduced_q + product_q;
        else if (($signed(product_q) > $signed(reduced_q)) == (s3_op_i == dlc_isa_pkg::REDUCE_OP_MAX)) begin
          reduced_q <= product_q;
        end
      end
    end
  end

  // ---- operand B waits for the first rescale ----
  logic [31:0] b_ring_q[8];
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (s1_b_valid_i) begin
        b_ring_q[b_slot_i] <= s1_b_acc_i ? b_acc_i : 32'($signed(operand9(b_act_i, s1_b_signed_i, s1_b_zero_i)));
      end
    end
  end

  // ---- s4 .. s7 ----
  logic [32:0] biased_q;
  logic [30:0] multiplier_q;
  logic [5:0]  shift_q, shift_q2;
  logic [63:0] scaled_q, rounded_q;
  logic [31:0] first_q;
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (s4_valid_i) begin
        biased_q     <= 33'($signed(reduced_q)) + 33'($signed(s4_param_i ? param_i[31:0] : s4_bias_i));
        multiplier_q <= s4_param_i ? param_i[62:32] : s4_multiplier_i;
        shift_q      <= s4_param_i ? param_i[69:64] : s4_shift_i;
      end
      if (s5_valid_i) begin
        scaled_q <= 64'($signed(biased_q)) * 64'(multiplier_q);
        shift_q2 <= shift_q;
      end
      if (s6_valid_i) rounded_q <= round_shift(scaled_q, shift_q2);
      if (s7_valid_i) first_q <= add_clamp(rounded_q, s7_clamp_i, s7_zero_i, s7_low_i, s7_high_i);
    end
  end

  // ---- s8 .. s12 ----
  logic [2:0]  b_read;
  logic [32:0] a_wide, b_wide;  // the difference needs 33 bits: no wider a multiplier than the operands
  logic [63:0] x_q, sum_q, second_q;
  logic [63:0] x_scaled_q, y_scaled_q;
  logic [31:0] y_q;
  assign b_read = b_slot_i + 3'd1;  // written 7 cycles ago
  assign a_wide = 33'($signed(first_q)) - 33'($signed(s8_zero_i));
  assign b_wide = 33'($signed(b_ring_q[b_read]));
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (s8_valid_i) begin
        unique case (s8_combine_i)
          dlc_isa_pkg::COMBINE_MULTIPLY: x_q <= 64'($signed(a_wide)) * 64'($signed(b_wide));
          dlc_isa_pkg::COMBINE_MAXIMUM:  x_q <= 64'($signed($signed(a_wide) < $signed(b_wide) ? b_wide : a_wide));
          dlc_isa_pkg::COMBINE_MINIMUM:  x_q <= 64'($signed($signed(b_wide) < $signed(a_wide) ? b_wide : a_wide));
          default:                       x_q <= 64'($signed(a_wide));
        endcase
        y_q <= b_wide[31:0];
      end
      if (s9_valid_i) begin
        x_scaled_q <= x_q * 64'(s9_a_multiplier_i);
        y_scaled_q <= 64'($signed(y_q)) * 64'(s9_b_multiplier_i);
      end
      if (s10_valid_i) sum_q <= s10_negate_i ? x_scaled_q - y_scaled_q : x_scaled_q + y_scaled_q;
      if (s11_valid_i) second_q <= round_shift(sum_q, s11_shift_i);
      if (s12_valid_i) result_o <= add_clamp(second_q, s12_clamp_i, s12_zero_i, s12_low_i, s12_high_i);
    end
  end

  logic unused;
  assign unused = ^param_i;  // the rest of an entry holds taps only
endmodule
