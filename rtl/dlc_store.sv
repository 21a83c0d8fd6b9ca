// STORE: ACT or ACC -> DRAM. Beats of a burst are read into one of two burst buffers; the burst goes out (AW and
// the first W beat in the same cycle) when it is complete there, so W beats follow without gaps.
//
// Reads in r .. r+n-1 are on rd_*, their data comes back on rd_data_i two cycles later, goes into the buffer
// there, and AW/W may be in cycle r + n + STORE_LATENCY (2).
module dlc_store (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // queue
  input  logic                        ready_i,
  input  logic [dlc_isa_pkg::STORE_BITS-1:0] instr_i,
  output logic                        start_o,
  // scratchpad reads
  output logic [1:0]                  rd_valid_o,  // one-hot: act, acc
  output logic [dlc_pkg::SP_W-1:0]    rd_sp_o,
  output logic [dlc_pkg::BUS_LOG-1:0] rd_lo_o,
  output logic [dlc_pkg::BUS_LOG:0]   rd_n_o,
  input  logic [dlc_pkg::BUS_W-1:0]   rd_act_data_i,  // two cycles later
  input  logic [dlc_pkg::BUS_W-1:0]   rd_acc_data_i,
  // AXI write channels
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
  // state
  output logic                        retire_o,
  output logic                        active_o,
  output logic                        idle_o
);
  localparam int unsigned BusLog = dlc_pkg::BUS_LOG;
  localparam int unsigned BusW   = dlc_pkg::BUS_W;
  localparam int unsigned BurstW = dlc_pkg::BURST_W;
  localparam int unsigned BeatsW = dlc_pkg::BEATS_W;
  localparam int unsigned MaxBurst = dlc_pkg::MAX_BURST;
  localparam int unsigned SpW    = dlc_pkg::SP_W;
  localparam int unsigned Depth  = dlc_config_pkg::MAX_OUTSTANDING;
  localparam int unsigned PtrW   = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam int unsigned FlyW   = $clog2(dlc_config_pkg::STORE_INFLIGHT + 1);
  localparam int unsigned BeatW  = MaxBurst > 1 ? $clog2(MaxBurst) : 1;

  // ---- front: instruction -> bursts -> scratchpad reads ----
  logic                       gen_valid, gen_last, burst_done;
  logic [dlc_pkg::DRAM_W-1:0] gen_addr;
  logic [BeatsW-1:0]          gen_beats;
  logic [BusLog-1:0]          gen_lo;
  logic [BurstW-1:0]          gen_bytes;
  logic [SpW-1:0]             gen_sp;
  logic                       from_acc, from_acc_q;

  assign from_acc = instr_i[dlc_isa_pkg::STORE_MEMORY_LSB +: 3] == dlc_isa_pkg::MEMORY_ACC;
  dlc_burst_gen u_bursts (
    .clk_i, .rst_ni, .start_i(start_o),
    .dram_address_i(instr_i[dlc_isa_pkg::STORE_DRAM_ADDRESS_LSB +: 40]),
    .row_bytes_i(instr_i[dlc_isa_pkg::STORE_ROW_BYTES_LSB +: 24]),
    .address_i(instr_i[dlc_isa_pkg::STORE_ADDRESS_LSB +: 20]),
    .count_i(instr_i[dlc_isa_pkg::STORE_COUNT_LSB +: 48]),
    .stride_i(instr_i[dlc_isa_pkg::STORE_STRIDE_LSB +: 60]),
    .dram_stride_i(instr_i[dlc_isa_pkg::STORE_DRAM_STRIDE_LSB +: 96]),
    .word_log_i(from_acc ? 4'(dlc_pkg::ACC_LOG) : 4'(dlc_pkg::ACT_LOG)),
    .valid_o(gen_valid), .addr_o(gen_addr), .beats_o(gen_beats), .lo_o(gen_lo), .bytes_o(gen_bytes),
    .sp_o(gen_sp), .last_o(gen_last), .next_i(burst_done));

  logic              reading_q;   // in the middle of a burst
  logic [BeatsW-1:0] beat_q;
  logic [SpW-1:0]    sp_q;
  logic [BurstW-1:0] left_q;
  logic [1:0]        used_q;      // burst buffers
  logic              read, release_buffer;
  logic [BurstW-1:0] left;
  logic [BeatsW-1:0] beat;
  logic [BusLog:0]   room, n;
  logic [FlyW-1:0]   inflight_q;

  assign read    = gen_valid && (reading_q || used_q != 2'd2);
  assign beat    = reading_q ? beat_q : '0;
  assign left    = reading_q ? left_q : gen_bytes;
  assign rd_sp_o = reading_q ? sp_q : gen_sp;
  assign rd_lo_o = reading_q ? '0 : gen_lo;
  assign room    = (BusLog+1)'(dlc_pkg::BUS_BYTES) - {1'b0, rd_lo_o};
  assign n       = left < BurstW'(room) ? left[BusLog:0] : room;
  assign rd_n_o  = n;
  assign rd_valid_o = {read && from_acc_q, read && !from_acc_q};
  assign burst_done = read && (beat + 1'b1 == gen_beats);
  assign start_o = ready_i && (!gen_valid || (burst_done && gen_last)) &&
                   (inflight_q != FlyW'(dlc_config_pkg::STORE_INFLIGHT));

  always_ff @(posedge clk_i) begin
    if (start_o) from_acc_q <= from_acc;
    if (read) begin
      beat_q <= beat + 1'b1;
      sp_q   <= rd_sp_o + SpW'(n);
      left_q <= left - BurstW'(n);
    end
    if (read) reading_q <= !burst_done;
    if ((read && !reading_q) != release_buffer) used_q <= release_buffer ? used_q - 1'b1 : used_q + 1'b1;
    if (!rst_ni) begin
      reading_q <= 1'b0;
      used_q    <= '0;
    end
  end

  // ---- scratchpad data -> burst buffers (two cycles behind the read) ----
  logic             read_q1, read_q2, acc_q1, acc_q2, done_q1, done_q2;
  logic [BeatW-1:0] slot_q1, slot_q2;
  logic             half_q, half_q1, half_q2;  // which buffer
  logic [BusW-1:0]  buffer_q[2*MaxBurst];
  always_ff @(posedge clk_i) begin
    read_q1 <= read;
    read_q2 <= read_q1;
    done_q1 <= burst_done;
    done_q2 <= done_q1;
    if (read) begin
      acc_q1  <= from_acc_q;
      slot_q1 <= beat[BeatW-1:0];
      half_q1 <= half_q;
    end
    if (read_q1) begin
      acc_q2  <= acc_q1;
      slot_q2 <= slot_q1;
      half_q2 <= half_q1;
    end
    if (read_q2) begin
      if (half_q2) buffer_q[MaxBurst + 32'(slot_q2)] <= acc_q2 ? rd_acc_data_i : rd_act_data_i;
      else buffer_q[32'(slot_q2)] <= acc_q2 ? rd_acc_data_i : rd_act_data_i;
    end
    if (burst_done) half_q <= !half_q;
    if (!rst_ni) begin
      read_q1 <= 1'b0;
      read_q2 <= 1'b0;
      done_q1 <= 1'b0;
      done_q2 <= 1'b0;
      half_q  <= 1'b0;
    end
  end

  // ---- burst descriptors: written when the last beat is read, valid when it is in the buffer ----
  localparam int unsigned DescW = 1 + dlc_pkg::DRAM_W + BeatsW + BusLog + BusLog + 1;
  logic [DescW-1:0] desc_q[2];
  logic [1:0]       complete_q;       // bursts complete in the buffers and not finished on W
  logic             out_half_q;
  logic             out_last;
  logic [dlc_pkg::DRAM_W-1:0] out_addr;
  logic [BeatsW-1:0] out_beats;
  logic [BusLog-1:0] out_lo;
  logic [BusLog:0]   out_hi;          // bytes of the last beat, from its start
  assign {out_last, out_addr, out_beats, out_lo, out_hi} = out_half_q ? desc_q[1] : desc_q[0];

  // ---- back: AW and W ----
  logic              sending_q;       // W beats of the current burst remain (after the first cycle)
  logic              aw_done_q;       // its AW has been accepted
  logic [BeatsW-1:0] out_beat_q;
  logic [CountW-1:0] outstanding_q;
  logic              go, w_fire, w_end, w_done_q, finish;

  // First cycle of a burst: registered state only, and it stays true until the burst moves (AXI stability).
  assign go         = (complete_q != '0) && !sending_q && (outstanding_q != CountW'(Depth));
  assign aw_valid_o = go || (sending_q && !aw_done_q);
  assign w_valid_o  = go || (sending_q && !w_done_q);
  assign w_last_o   = out_beat_q + 1'b1 == out_beats;
  assign w_fire     = w_valid_o && w_ready_i;
  assign w_end      = w_fire && w_last_o;
  assign finish     = (w_end || (sending_q && w_done_q)) && ((aw_valid_o && aw_ready_i) || (sending_q && aw_done_q));
  assign release_buffer = finish;

  always_ff @(posedge clk_i) begin
    if (burst_done) begin
      if (half_q) desc_q[1] <= {gen_last, gen_addr, gen_beats, gen_lo, (BusLog+1)'(rd_lo_o) + n};
      else        desc_q[0] <= {gen_last, gen_addr, gen_beats, gen_lo, (BusLog+1)'(rd_lo_o) + n};
    end
    if (done_q2 != finish) complete_q <= finish ? complete_q - 1'b1 : complete_q + 1'b1;
    if (w_fire) out_beat_q <= w_end ? '0 : out_beat_q + 1'b1;
    if (finish) begin
      sending_q  <= 1'b0;
      aw_done_q  <= 1'b0;
      w_done_q   <= 1'b0;
      out_half_q <= !out_half_q;
    end else if (go || sending_q) begin
      sending_q <= 1'b1;
      if (aw_valid_o && aw_ready_i) aw_done_q <= 1'b1;
      if (w_end) w_done_q <= 1'b1;
    end
    if (!rst_ni) begin
      complete_q <= '0;
      out_half_q <= 1'b0;
      sending_q  <= 1'b0;
      aw_done_q  <= 1'b0;
      w_done_q   <= 1'b0;
      out_beat_q <= '0;
    end
  end

  assign aw_addr_o  = out_addr;
  assign aw_beats_o = out_beats;
  assign w_data_o   = buffer_q[out_half_q ? MaxBurst + 32'(out_beat_q[BeatW-1:0]) : 32'(out_beat_q[BeatW-1:0])];
  always_comb begin
    for (int unsigned i = 0; i < dlc_pkg::BUS_BYTES; i++) begin
      w_strb_o[i] = !((out_beat_q == '0 && i < 32'(out_lo)) || (w_last_o && i >= 32'(out_hi)));
    end
  end

  // ---- responses ----
  logic [Depth-1:0] last_q;  // per outstanding burst: the last of its instruction
  logic [PtrW-1:0]  sent_ptr_q, resp_ptr_q;
  logic             retire_q;
  function automatic logic [PtrW-1:0] next_ptr(input logic [PtrW-1:0] ptr);
    next_ptr = ptr == PtrW'(Depth - 1) ? '0 : ptr + 1'b1;
  endfunction
  always_ff @(posedge clk_i) begin
    if (go) begin
      last_q[sent_ptr_q] <= out_last;
      sent_ptr_q <= next_ptr(sent_ptr_q);
    end
    if (b_valid_i) resp_ptr_q <= next_ptr(resp_ptr_q);
    if (go != b_valid_i) outstanding_q <= go ? outstanding_q + 1'b1 : outstanding_q - 1'b1;
    retire_q <= b_valid_i && last_q[resp_ptr_q];
    if (start_o != retire_q) inflight_q <= start_o ? inflight_q + 1'b1 : inflight_q - 1'b1;
    if (!rst_ni) begin
      sent_ptr_q    <= '0;
      resp_ptr_q    <= '0;
      outstanding_q <= '0;
      retire_q      <= 1'b0;
      inflight_q    <= '0;
    end
  end

  assign retire_o = retire_q;
  assign active_o = start_o || (inflight_q != '0);
  assign idle_o   = inflight_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(b_valid_i && outstanding_q == '0)) else $error("STORE: a response without a burst");
    end
  end
`endif
endmodule
