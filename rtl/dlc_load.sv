// LOAD: DRAM -> scratchpads. The front generates a burst a cycle while earlier ones (of earlier instructions too)
// are in flight; the back takes every beat in its cycle and hands it to the scratchpads in the next.
//
// A beat in cycle t: its write is on wr_* in t+1, readers that address in t+2 see it; retire in t+1.
module dlc_load (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // queue
  input  logic                        ready_i,
  input  logic [dlc_isa_pkg::LOAD_BITS-1:0] instr_i,
  output logic                        start_o,
  // read requests
  output logic                        req_valid_o,
  output logic [dlc_pkg::DRAM_W-1:0]  req_addr_o,
  output logic [dlc_pkg::BEATS_W-1:0] req_beats_o,
  input  logic                        req_ready_i,
  // read data
  input  logic                        beat_i,
  input  logic                        beat_last_i,
  input  logic [dlc_pkg::BUS_W-1:0]   beat_data_i,
  // scratchpad writes: bytes lo .. lo+n-1 of data go to byte position sp
  output logic [4:0]                  wr_valid_o,  // one-hot: act, wgt, acc, par, lut
  output logic [dlc_pkg::SP_W-1:0]    wr_sp_o,
  output logic [dlc_pkg::BUS_LOG-1:0] wr_lo_o,
  output logic [dlc_pkg::BUS_LOG:0]   wr_n_o,
  output logic [dlc_pkg::BUS_W-1:0]   wr_data_o,
  // state
  output logic                        retire_o,
  output logic                        active_o,
  output logic                        idle_o
);
  localparam int unsigned BusLog = dlc_pkg::BUS_LOG;
  localparam int unsigned BurstW = dlc_pkg::BURST_W;
  localparam int unsigned SpW    = dlc_pkg::SP_W;
  localparam int unsigned Depth  = dlc_config_pkg::MAX_OUTSTANDING;
  localparam int unsigned PtrW   = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam int unsigned FlyW   = $clog2(dlc_config_pkg::LOAD_INFLIGHT + 1);

  // ---- front: instruction -> bursts ----
  logic [2:0]  memory;
  logic [2:0]  memory_q;
  logic [3:0]  word_log;
  logic        gen_valid, gen_last, generate_burst;
  logic [dlc_pkg::DRAM_W-1:0]  gen_addr;
  logic [dlc_pkg::BEATS_W-1:0] gen_beats;
  logic [BusLog-1:0]           gen_lo;
  logic [BurstW-1:0]           gen_bytes;
  logic [SpW-1:0]              gen_sp;
  logic [FlyW-1:0]             inflight_q;

  assign memory = instr_i[dlc_isa_pkg::LOAD_MEMORY_LSB +: 3];
  always_comb begin
    unique case (memory)
      dlc_isa_pkg::MEMORY_ACT: word_log = 4'(dlc_pkg::ACT_LOG);
      dlc_isa_pkg::MEMORY_WGT: word_log = 4'(dlc_pkg::WGT_LOG);
      dlc_isa_pkg::MEMORY_ACC: word_log = 4'(dlc_pkg::ACC_LOG);
      dlc_isa_pkg::MEMORY_PAR: word_log = 4'(dlc_pkg::PAR_LOG);
      default:                 word_log = 4'(dlc_pkg::LUT_LOG);
    endcase
  end

  dlc_burst_gen u_bursts (
    .clk_i, .rst_ni, .start_i(start_o),
    .dram_address_i(instr_i[dlc_isa_pkg::LOAD_DRAM_ADDRESS_LSB +: 40]),
    .row_bytes_i(instr_i[dlc_isa_pkg::LOAD_ROW_BYTES_LSB +: 24]),
    .address_i(instr_i[dlc_isa_pkg::LOAD_ADDRESS_LSB +: 20]),
    .count_i(instr_i[dlc_isa_pkg::LOAD_COUNT_LSB +: 48]),
    .stride_i(instr_i[dlc_isa_pkg::LOAD_STRIDE_LSB +: 60]),
    .dram_stride_i(instr_i[dlc_isa_pkg::LOAD_DRAM_STRIDE_LSB +: 96]),
    .word_log_i(word_log), .valid_o(gen_valid), .addr_o(gen_addr), .beats_o(gen_beats), .lo_o(gen_lo),
    .bytes_o(gen_bytes), .sp_o(gen_sp), .last_o(gen_last), .next_i(generate_burst));

  logic              req_valid_q;
  logic [CountW-1:0] outstanding_q;
  logic              last_beat;

  assign generate_burst = gen_valid && (!req_valid_q || req_ready_i) && (outstanding_q != CountW'(Depth));
  assign start_o = ready_i && (!gen_valid || (generate_burst && gen_last)) &&
                   (inflight_q != FlyW'(dlc_config_pkg::LOAD_INFLIGHT));

  always_ff @(posedge clk_i) begin
    if (start_o) memory_q <= memory;
    if (generate_burst) begin
      req_addr_o  <= gen_addr;
      req_beats_o <= gen_beats;
    end
    if (!rst_ni) req_valid_q <= 1'b0;
    else if (generate_burst) req_valid_q <= 1'b1;
    else if (req_ready_i) req_valid_q <= 1'b0;
  end
  assign req_valid_o = req_valid_q;

  // ---- bursts in flight, in order ----
  localparam int unsigned DescW = 1 + 3 + BusLog + BurstW + SpW;
  logic [DescW-1:0] desc_q[Depth];
  logic [PtrW-1:0]  rptr_q, wptr_q;

  function automatic logic [PtrW-1:0] next_ptr(input logic [PtrW-1:0] ptr);
    next_ptr = ptr == PtrW'(Depth - 1) ? '0 : ptr + 1'b1;
  endfunction

  assign last_beat = beat_i && beat_last_i;
  always_ff @(posedge clk_i) begin
    if (generate_burst) begin
      desc_q[wptr_q] <= {gen_last, memory_q, gen_lo, gen_bytes, gen_sp};
      wptr_q <= next_ptr(wptr_q);
    end
    if (last_beat) rptr_q <= next_ptr(rptr_q);
    if (generate_burst != last_beat) outstanding_q <= generate_burst ? outstanding_q + 1'b1 : outstanding_q - 1'b1;
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      outstanding_q <= '0;
    end
  end

  // ---- back: beats -> scratchpad writes ----
  logic              desc_last;
  logic [2:0]        desc_memory;
  logic [BusLog-1:0] desc_lo;
  logic [BurstW-1:0] desc_bytes;
  logic [SpW-1:0]    desc_sp;
  assign {desc_last, desc_memory, desc_lo, desc_bytes, desc_sp} = desc_q[rptr_q];

  logic              first_q;
  logic [SpW-1:0]    sp_q, sp;
  logic [BurstW-1:0] left_q, left;
  logic [BusLog-1:0] lo;
  logic [BusLog:0]   room, n;
  assign sp   = first_q ? desc_sp : sp_q;
  assign left = first_q ? desc_bytes : left_q;
  assign lo   = first_q ? desc_lo : '0;
  assign room = (BusLog+1)'(dlc_pkg::BUS_BYTES) - {1'b0, lo};
  assign n    = left < BurstW'(room) ? left[BusLog:0] : room;

  logic retire_q;
  always_ff @(posedge clk_i) begin
    if (beat_i) begin
      sp_q      <= sp + SpW'(n);
      left_q    <= left - BurstW'(n);
      wr_sp_o   <= sp;
      wr_lo_o   <= lo;
      wr_n_o    <= n;
      wr_data_o <= beat_data_i;
    end
    wr_valid_o <= beat_i ? 5'b00001 << desc_memory : 5'b00000;
    retire_q   <= last_beat && desc_last;
    if (beat_i) first_q <= beat_last_i;
    if (start_o != retire_q) inflight_q <= start_o ? inflight_q + 1'b1 : inflight_q - 1'b1;
    if (!rst_ni) begin
      wr_valid_o <= '0;
      retire_q   <= 1'b0;
      first_q    <= 1'b1;
      inflight_q <= '0;
    end
  end

  assign retire_o = retire_q;
  assign active_o = start_o || (inflight_q != '0);
  assign idle_o   = inflight_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && beat_i) begin
      assert (outstanding_q != '0) else $error("LOAD: a beat without a burst");
      assert (beat_last_i == (left <= BurstW'(room))) else $error("LOAD: RLAST in the wrong beat");
    end
    if (rst_ni && start_o) begin
      assert (instr_i[dlc_isa_pkg::LOAD_MODE_LSB +: 2] == dlc_isa_pkg::LOAD_MODE_DRAM &&
              (memory < dlc_isa_pkg::MEMORY_LUT ||
               (dlc_config_pkg::LUT != 0 && memory == dlc_isa_pkg::MEMORY_LUT)))
        else $error("LOAD: mode or memory that this machine lacks");
    end
  end
`endif
endmodule
