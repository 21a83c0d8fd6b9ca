// Sizes that follow from the generated parameters (dlc_config_pkg); nothing here is to be edited per machine.
//
// Every scratchpad has two widths: its word, and the DMA port = max(bus, word). Where the bus is wider, the
// memory is `*_SUB` interleaved sub-memories, so that a beat moves *_SUB consecutive words at once; where the
// word is wider, a beat is one of `*_GROUPS` groups of a word.
/* verilator lint_off UNUSEDPARAM */
package dlc_pkg;
  localparam int unsigned ADDR_W = 20;     // scratchpad word and group addresses (isa.yaml)
  localparam int unsigned PAR_ADDR_W = 14; // PAR word addresses
  localparam int unsigned DRAM_W = 40;     // DRAM byte addresses
  localparam int unsigned RETIRE_W = 24;   // retire counters
  localparam int unsigned SP_W = 32;       // byte position in a scratchpad (DMA)

  localparam int unsigned ROWS = dlc_config_pkg::ROWS;
  localparam int unsigned COLS = dlc_config_pkg::COLS;
  localparam int unsigned PRELOAD_ROWS = dlc_config_pkg::PRELOAD_ROWS;
  localparam int unsigned TILE_WORDS = ROWS / PRELOAD_ROWS;
  localparam int unsigned LANES = dlc_config_pkg::LANES;

  localparam int unsigned BROADCAST = dlc_config_pkg::BROADCAST;
  localparam int unsigned TREE_LEVELS = $clog2(ROWS);  // broadcast: registers from operands to sum
  // A step in cycle t: column c's sum leaves the array in t + SUM_LATENCY + c (broadcast: all columns at once).
  localparam int unsigned SUM_LATENCY = BROADCAST != 0 ? TREE_LEVELS + 2 : ROWS + 3;
  // Registers on the way to the last column's sum: retire comes MATRIX_DRAIN cycles later.
  localparam int unsigned MATRIX_PATH = BROADCAST != 0 ? TREE_LEVELS : ROWS + COLS;

  localparam int unsigned BUS_BYTES = dlc_config_pkg::BUS_BYTES;
  localparam int unsigned BUS_W = 8 * BUS_BYTES;
  localparam int unsigned BUS_LOG = $clog2(BUS_BYTES);  // bus widths are powers of two from 4 bytes on
  localparam int unsigned MAX_BURST = dlc_config_pkg::MAX_BURST;
  localparam int unsigned BEATS_W = $clog2(MAX_BURST + 1);
  localparam int unsigned BURST_W = $clog2(MAX_BURST * BUS_BYTES + 1);  // bytes of a burst

  localparam int unsigned ACT_WORD = ROWS;
  localparam int unsigned ACT_LOG = $clog2(ACT_WORD);
  localparam int unsigned ACT_SUB = BUS_BYTES > ACT_WORD ? BUS_BYTES / ACT_WORD : 1;
  localparam int unsigned ACT_PORT = BUS_BYTES > ACT_WORD ? BUS_BYTES : ACT_WORD;
  localparam int unsigned ACT_BANKS = dlc_config_pkg::ACT_BANKS;
  localparam int unsigned ACT_BANK_WORDS = dlc_config_pkg::ACT_BYTES / ACT_WORD / ACT_BANKS;

  localparam int unsigned WGT_WORD = PRELOAD_ROWS * COLS;
  localparam int unsigned WGT_LOG = $clog2(WGT_WORD);
  localparam int unsigned WGT_SUB = BUS_BYTES > WGT_WORD ? BUS_BYTES / WGT_WORD : 1;
  localparam int unsigned WGT_PORT = BUS_BYTES > WGT_WORD ? BUS_BYTES : WGT_WORD;
  localparam int unsigned WGT_WORDS = dlc_config_pkg::WGT_BYTES / WGT_WORD;

  localparam int unsigned ACC_WORD = 4 * COLS;
  localparam int unsigned ACC_LOG = $clog2(ACC_WORD);
  localparam int unsigned ACC_SUB = BUS_BYTES > ACC_WORD ? BUS_BYTES / ACC_WORD : 1;
  localparam int unsigned ACC_PORT = BUS_BYTES > ACC_WORD ? BUS_BYTES : ACC_WORD;
  localparam int unsigned ACC_BANKS = dlc_config_pkg::ACC_BANKS;
  localparam int unsigned ACC_BANK_WORDS = dlc_config_pkg::ACC_BYTES / ACC_WORD / ACC_BANKS;
  localparam int unsigned ACC_PHYS = ACC_BANKS * ACC_SUB;  // SRAMs a column
  localparam int unsigned ACC_PHYS_W = ACC_PHYS > 1 ? $clog2(ACC_PHYS) : 1;
  localparam int unsigned ACC_ROWS = ACC_BANK_WORDS / ACC_SUB;  // words of such an SRAM
  localparam int unsigned ACC_ROW_W = ACC_ROWS > 1 ? $clog2(ACC_ROWS) : 1;

  localparam int unsigned PAR_WORD = 16 * LANES;
  localparam int unsigned PAR_LOG = $clog2(PAR_WORD);
  localparam int unsigned PAR_SUB = BUS_BYTES > PAR_WORD ? BUS_BYTES / PAR_WORD : 1;
  localparam int unsigned PAR_WORDS = dlc_config_pkg::PAR_BYTES / PAR_WORD;

  // A table is a word, so the bus is never the wider one.
  localparam int unsigned LUT_WORD = 256;
  localparam int unsigned LUT_LOG = $clog2(LUT_WORD);
  localparam int unsigned LUT_TABLES = dlc_config_pkg::LUT_TABLES;
  localparam int unsigned LUT_ADDR_W = $clog2(LUT_TABLES);
endpackage
/* verilator lint_on UNUSEDPARAM */
