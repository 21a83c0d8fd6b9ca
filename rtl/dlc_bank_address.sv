// A scratchpad's word address -> SRAM number (bank * Sub + word % Sub) and row in that SRAM. Banks are contiguous ranges
// of words; Sub interleaved SRAMs a bank where the bus is wider than a word.
module dlc_bank_address #(
  parameter int unsigned BankWords = 1024,
  parameter int unsigned Sub = 1,
  parameter int unsigned SramW = 1,
  parameter int unsigned RowW = 10
) (
  input  logic [dlc_pkg::ADDR_W-1:0] word_i,
  output logic [SramW-1:0]           sram_o,
  output logic [RowW-1:0]            row_o
);
  localparam int unsigned SubLog = Sub > 1 ? $clog2(Sub) : 0;
  logic [31:0] word;
  assign word   = 32'(word_i);
  assign sram_o = SramW'((word / BankWords) * Sub + word % Sub);
  assign row_o  = RowW'((word % BankWords) >> SubLog);
endmodule
