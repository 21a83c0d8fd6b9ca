// Brings a LOAD beat to a scratchpad: bytes lo .. lo+n-1 of the beat to byte position sp. Purely combinational.
//   word >= bus: the beat is group group_o of one word.
//   word <  bus: the beat holds up to Sub consecutive words; sub-memory i gets the one with word % Sub == i,
//                so the words are rotated.
module dlc_dma_write_align #(
  parameter int unsigned WordBytes = 16,
  parameter int unsigned Sub = dlc_pkg::BUS_BYTES > WordBytes ? dlc_pkg::BUS_BYTES / WordBytes : 1,
  parameter int unsigned GroupW = WordBytes > dlc_pkg::BUS_BYTES ? $clog2(WordBytes / dlc_pkg::BUS_BYTES) : 1
) (
  input  logic                          valid_i,
  input  logic [dlc_pkg::SP_W-1:0]      sp_i,
  input  logic [dlc_pkg::BUS_LOG-1:0]   lo_i,
  input  logic [dlc_pkg::BUS_LOG:0]     n_i,
  input  logic [dlc_pkg::BUS_W-1:0]     data_i,
  output logic [Sub-1:0]                we_o,
  output logic [Sub*dlc_pkg::ADDR_W-1:0] addr_o,  // word, a sub-memory
  output logic [GroupW-1:0]             group_o,
  output logic [dlc_pkg::BUS_W-1:0]     data_o
);
  localparam int unsigned AddrW = dlc_pkg::ADDR_W;
  localparam int unsigned WordLog = $clog2(WordBytes);
  logic [AddrW-1:0] word;
  assign word = AddrW'(sp_i >> WordLog);

  if (Sub == 1) begin : gen_one
    assign we_o   = valid_i;
    assign addr_o = word;
    assign data_o = data_i;
    if (WordBytes > dlc_pkg::BUS_BYTES) begin : gen_group
      assign group_o = sp_i[WordLog-1:dlc_pkg::BUS_LOG];
    end else begin : gen_no_group
      assign group_o = '0;
    end
  end else begin : gen_many
    localparam int unsigned SubLog = $clog2(Sub);
    localparam int unsigned W = 8 * WordBytes;
    logic [SubLog-1:0] slot;
    logic [SubLog:0]   words;
    assign slot    = lo_i[dlc_pkg::BUS_LOG-1:WordLog];
    assign words   = n_i[dlc_pkg::BUS_LOG:WordLog];
    assign group_o = '0;
    for (genvar i = 0; i < Sub; i++) begin : gen_sub
      logic [SubLog-1:0] distance, from;
      assign distance = SubLog'(i) - word[SubLog-1:0];
      assign from     = slot + distance;
      assign we_o[i]  = valid_i && ({1'b0, distance} < words);
      assign addr_o[i*AddrW +: AddrW] = word + AddrW'(distance);
      assign data_o[i*W +: W] = data_i[32'(from)*W +: W];
    end
  end

  logic unused;
  assign unused = ^{lo_i, n_i, sp_i};
endmodule
