// The mirror image of dlc_dma_write_align for STORE: in cycle r the addresses, in r+1 the scratchpad's words come
// in, in r+2 the beat is on data_o (bytes outside lo .. lo+n-1 are arbitrary).
module dlc_dma_read_align #(
  parameter int unsigned WordBytes = 16,
  parameter int unsigned Sub = dlc_pkg::BUS_BYTES > WordBytes ? dlc_pkg::BUS_BYTES / WordBytes : 1,
  parameter int unsigned PortW = 8 * (dlc_pkg::BUS_BYTES > WordBytes ? dlc_pkg::BUS_BYTES : WordBytes)
) (
  input  logic                          clk_i,
  input  logic                          valid_i,
  input  logic [dlc_pkg::SP_W-1:0]      sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0]   lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]     n_i,
  output logic [Sub-1:0]                re_o,
  output logic [Sub*dlc_pkg::ADDR_W-1:0] addr_o,
  input  logic [PortW-1:0]              rdata_i,  // sub-memories side by side
  output logic [dlc_pkg::BUS_W-1:0]     data_o
);
  localparam int unsigned AddrW = dlc_pkg::ADDR_W;
  localparam int unsigned BusW = dlc_pkg::BUS_W;
  localparam int unsigned WordLog = $clog2(WordBytes);
  logic [AddrW-1:0] word;
  logic             valid_q;
  assign word = AddrW'(sp_i >> WordLog);
  always_ff @(posedge clk_i) valid_q <= valid_i;

  if (Sub == 1) begin : gen_one
    assign re_o   = valid_i;
    assign addr_o = word;
    if (WordBytes > dlc_pkg::BUS_BYTES) begin : gen_group
      logic [WordLog-dlc_pkg::BUS_LOG-1:0] group_q;
      always_ff @(posedge clk_i) begin
        if (valid_i) group_q <= sp_i[WordLog-1:dlc_pkg::BUS_LOG];
        if (valid_q) data_o <= rdata_i[32'(group_q)*BusW +: BusW];
      end
    end else begin : gen_word
      always_ff @(posedge clk_i) if (valid_q) data_o <= rdata_i;
    end
  end else begin : gen_many
    localparam int unsigned SubLog = $clog2(Sub);
    localparam int unsigned W = 8 * WordBytes;
    logic [SubLog-1:0] rotate, rotate_q;  // sub-memory of beat slot 0
    logic [SubLog:0]   words;
    assign rotate = word[SubLog-1:0] - lo_i[dlc_pkg::BUS_LOG-1:WordLog];
    assign words  = n_i[dlc_pkg::BUS_LOG:WordLog];
    always_ff @(posedge clk_i) if (valid_i) rotate_q <= rotate;
    for (genvar i = 0; i < Sub; i++) begin : gen_sub
      logic [SubLog-1:0] distance, from;
      assign distance = SubLog'(i) - word[SubLog-1:0];
      assign re_o[i]  = valid_i && ({1'b0, distance} < words);
      assign addr_o[i*AddrW +: AddrW] = word + AddrW'(distance);
      assign from = rotate_q + SubLog'(i);
      always_ff @(posedge clk_i) if (valid_q) data_o[i*W +: W] <= rdata_i[32'(from)*W +: W];
    end
  end

  logic unused;
  assign unused = ^{lo_i, n_i, sp_i};
endmodule
