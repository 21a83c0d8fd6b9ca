// MATRIX controller: a front that preloads weight tiles and a back that issues a step a cycle. A tile's steps
// begin when its preload has issued its last read and the previous tile's last step has been issued; in the same
// cycle the front goes on to the next tile, or is free for the next instruction. No bubbles.
// Broadcast dataflow: no preload; the front only has the tile's addresses ready, and the tile (one WGT word) is read
// in the cycle of its first step.
module dlc_matrix (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  // queue
  input  logic                       ready_i,
  input  logic [dlc_isa_pkg::MATRIX_BITS-1:0] instr_i,
  output logic                       start_o,
  // weight preload
  output logic                       wgt_read_o,    // a word of a tile is passed in this cycle
  output logic                       wgt_first_o,
  output logic                       wgt_re_o,      // ... and read from WGT (not for zero_activation)
  output logic [dlc_pkg::ADDR_W-1:0] wgt_addr_o,
  output logic                       wgt_signed_o,
  output logic [8:0]                 wgt_zero_o,
  // steps
  output logic                       step_o,
  output logic                       step_first_o,
  output logic                       act_re_o,
  output logic [dlc_pkg::ADDR_W-1:0] act_addr_o,
  output logic                       act_signed_o,
  output logic [8:0]                 act_zero_o,
  output logic                       act_clear_o,
  output logic [dlc_pkg::ADDR_W-1:0] acc_addr_o,
  output logic                       acc_overwrite_o,
  output logic                       acc_forward1_o,  // the same ACC word as in the previous cycle
  output logic                       acc_forward2_o,  // ... as two cycles ago
  // state
  output logic                       retire_o,
  output logic                       active_o,
  output logic                       idle_o
);
  localparam int unsigned AddrW = dlc_pkg::ADDR_W;
  localparam int unsigned Tile  = dlc_pkg::TILE_WORDS;
  localparam int unsigned WordW = Tile > 1 ? $clog2(Tile) : 1;

  // ---- front: preload ----
  logic             front_busy_q, reading_q, loaded_q;
  logic [WordW-1:0] word_q;
  logic [AddrW-1:0] wgt_addr_q;
  logic             tile_go;     // in the next cycle the tile's first step
  logic             last_word;
  logic [3:0]       tile_at_last, tile_advance;
  logic             tile_last;
  logic [3:1]       tile_nonzero_q;  // tile index k is not zero
  logic [AddrW-1:0] tile_act, tile_acc, tile_wgt, next_wgt, unused_act, unused_acc;
  logic             accumulate_q, clear_q, act_signed_q, wgt_signed_q;
  logic [8:0]       act_zero_q, wgt_zero_q;
  logic [47:0]      step_count_q;
  logic [59:0]      act_stride_q, acc_stride_q;

  dlc_loop_counter #(.Levels(4), .CountW(12)) u_tiles (
    .clk_i, .load_i(start_o), .count_i(instr_i[dlc_isa_pkg::MATRIX_TILE_COUNT_LSB +: 48]),
    .step_i(tile_go), .at_last_o(tile_at_last), .advance_o(tile_advance));
  dlc_address_walker #(.Levels(4)) u_tile_wgt (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::MATRIX_WGT_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::MATRIX_WGT_TILE_STRIDE_LSB +: 80]),
    .step_i(tile_go), .advance_i(tile_advance), .addr_o(tile_wgt), .next_o(next_wgt));
  dlc_address_walker #(.Levels(4)) u_tile_act (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::MATRIX_ACT_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::MATRIX_ACT_TILE_STRIDE_LSB +: 80]),
    .step_i(tile_go), .advance_i(tile_advance), .addr_o(tile_act), .next_o(unused_act));
  dlc_address_walker #(.Levels(1)) u_tile_acc (
    .clk_i, .load_i(start_o), .base_i(instr_i[dlc_isa_pkg::MATRIX_ACC_ADDRESS_LSB +: 20]),
    .stride_i(instr_i[dlc_isa_pkg::MATRIX_ACC_TILE_STRIDE_LSB +: 20]),
    .step_i(tile_go), .advance_i(tile_advance[0]), .addr_o(tile_acc), .next_o(unused_acc));
  assign tile_last = tile_advance == '0;

  logic step_q, step_first_q, step_last;
  assign last_word = reading_q && (word_q == WordW'(Tile - 1));
  assign tile_go   = front_busy_q && (loaded_q || last_word) && (!step_q || step_last);
  assign start_o   = ready_i && !front_busy_q;

  always_ff @(posedge clk_i) begin
    if (start_o) begin
      wgt_addr_q   <= instr_i[dlc_isa_pkg::MATRIX_WGT_ADDRESS_LSB +: 20];
      word_q       <= '0;
      accumulate_q <= instr_i[dlc_isa_pkg::MATRIX_ACCUMULATE_LSB];
      clear_q      <= instr_i[dlc_isa_pkg::MATRIX_ZERO_ACTIVATION_LSB];
      act_signed_q <= instr_i[dlc_isa_pkg::MATRIX_ACT_SIGNED_LSB];
      wgt_signed_q <= instr_i[dlc_isa_pkg::MATRIX_WGT_SIGNED_LSB];
      act_zero_q   <= instr_i[dlc_isa_pkg::MATRIX_ACT_ZERO_LSB +: 9];
      wgt_zero_q   <= instr_i[dlc_isa_pkg::MATRIX_WGT_ZERO_LSB +: 9];
      step_count_q <= instr_i[dlc_isa_pkg::MATRIX_STEP_COUNT_LSB +: 48];
      act_stride_q <= instr_i[dlc_isa_pkg::MATRIX_ACT_STEP_STRIDE_LSB +: 60];
      acc_stride_q <= instr_i[dlc_isa_pkg::MATRIX_ACC_STEP_STRIDE_LSB +: 60];
      tile_nonzero_q <= '0;
    end else if (tile_go) begin
      wgt_addr_q <= next_wgt;
      word_q     <= '0;
      for (int unsigned k = 1; k < 4; k++) begin
        if (tile_advance[k]) tile_nonzero_q[k] <= 1'b1;
        for (int unsigned outer = 0; outer < k; outer++) if (tile_advance[outer]) tile_nonzero_q[k] <= 1'b0;
      end
    end else if (reading_q) begin
      wgt_addr_q <= wgt_addr_q + 1'b1;
      word_q     <= word_q + 1'b1;
    end
    if (!rst_ni) begin
      front_busy_q <= 1'b0;
      reading_q    <= 1'b0;
      loaded_q     <= 1'b0;
    end else if (start_o) begin
      front_busy_q <= 1'b1;
      reading_q    <= 1'b1;
      loaded_q     <= 1'b0;
    end else if (tile_go) begin
      front_busy_q <= !tile_last;
      reading_q    <= !tile_last;
      loaded_q     <= 1'b0;
    end else if (last_word) begin
      reading_q <= 1'b0;
      loaded_q  <= 1'b1;
    end
  end

  if (dlc_pkg::BROADCAST != 0) begin : gen_tile_with_step
    logic [AddrW-1:0] tile_wgt_q;
    logic             tile_signed_q;
    logic [8:0]       tile_zero_q;
    always_ff @(posedge clk_i) begin
      if (tile_go) begin
        tile_wgt_q    <= tile_wgt;
        tile_signed_q <= wgt_signed_q;
        tile_zero_q   <= wgt_zero_q;
      end
    end
    assign wgt_read_o   = step_q && step_first_q;
    assign wgt_first_o  = wgt_read_o;
    assign wgt_re_o     = wgt_read_o && !act_clear_o;
    assign wgt_addr_o   = tile_wgt_q;
    assign wgt_signed_o = tile_signed_q;
    assign wgt_zero_o   = tile_zero_q;
  end else begin : gen_preload
    assign wgt_read_o   = reading_q;
    assign wgt_first_o  = reading_q && (word_q == '0);
    assign wgt_re_o     = reading_q && !clear_q;
    assign wgt_addr_o   = wgt_addr_q;
    assign wgt_signed_o = wgt_signed_q;
    assign wgt_zero_o   = wgt_zero_q;
  end

  // ---- back: steps ----
  logic [2:0] step_at_last, step_advance;
  logic       last_tile_q;
  logic [AddrW-1:0] next_step_act, next_step_acc;
  dlc_loop_counter #(.Levels(3), .CountW(16)) u_steps (
    .clk_i, .load_i(tile_go), .count_i(step_count_q), .step_i(step_q), .at_last_o(step_at_last),
    .advance_o(step_advance));
  dlc_address_walker #(.Levels(3)) u_step_act (
    .clk_i, .load_i(tile_go), .base_i(tile_act), .stride_i(act_stride_q), .step_i(step_q),
    .advance_i(step_advance), .addr_o(act_addr_o), .next_o(next_step_act));
  dlc_address_walker #(.Levels(3)) u_step_acc (
    .clk_i, .load_i(tile_go), .base_i(tile_acc), .stride_i(acc_stride_q), .step_i(step_q),
    .advance_i(step_advance), .addr_o(acc_addr_o), .next_o(next_step_acc));
  assign step_last = step_advance == '0;

  logic             previous1_q, previous2_q;  // was there a step, one and two cycles ago
  logic [AddrW-1:0] address1_q, address2_q;
  always_ff @(posedge clk_i) begin
    if (tile_go) begin
      act_signed_o    <= act_signed_q;
      act_zero_o      <= act_zero_q;
      act_clear_o     <= clear_q;
      acc_overwrite_o <= !accumulate_q && (tile_nonzero_q == '0);
      last_tile_q     <= tile_last;
    end
    step_first_q <= tile_go;
    previous1_q  <= step_q;
    previous2_q  <= previous1_q;
    if (step_q) address1_q <= acc_addr_o;
    address2_q <= address1_q;
    if (!rst_ni) begin
      step_q      <= 1'b0;
      previous1_q <= 1'b0;
      previous2_q <= 1'b0;
    end else if (tile_go) begin
      step_q <= 1'b1;
    end else if (step_last) begin
      step_q <= 1'b0;
    end
  end

  assign step_o         = step_q;
  assign step_first_o   = step_first_q;
  assign act_re_o       = step_q && !act_clear_o;
  assign acc_forward1_o = previous1_q && (address1_q == acc_addr_o);
  assign acc_forward2_o = previous2_q && (address2_q == acc_addr_o);

  // ---- retire: the last step's last column is written MATRIX_PATH + MATRIX_DRAIN cycles later ----
  localparam int unsigned RetireDelay = dlc_pkg::MATRIX_PATH + dlc_config_pkg::MATRIX_DRAIN;
  logic [RetireDelay-1:0] retire_line_q;
  logic [7:0]             inflight_q;
  always_ff @(posedge clk_i) begin
    retire_line_q <= {retire_line_q[RetireDelay-2:0], step_q && step_last && last_tile_q};
    if (start_o != retire_o) inflight_q <= start_o ? inflight_q + 1'b1 : inflight_q - 1'b1;
    if (!rst_ni) begin
      retire_line_q <= '0;
      inflight_q    <= '0;
    end
  end
  assign retire_o = retire_line_q[RetireDelay-1];
  assign active_o = start_o || front_busy_q || step_q;
  assign idle_o   = inflight_q == '0;

  logic unused;
  assign unused = ^{tile_at_last, step_at_last, tile_wgt, unused_act, unused_acc, next_step_act, next_step_acc};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_o) begin
      assert (instr_i[dlc_isa_pkg::MATRIX_WGT_TYPE_LSB +: 2] == dlc_isa_pkg::WEIGHT_TYPE_INT8)
        else $error("MATRIX: weight type that this machine lacks");
    end
  end
`endif
endmodule
