// One SRAM: a write port with an enable a granule, READ_PORTS read ports with registered outputs. A read and a
// write of the same word in one cycle read the old word.
module dlc_scratchpad_bank #(
  parameter int unsigned Width = 128,
  parameter int unsigned Granule = 128,  // bits under one write enable; divides Width
  parameter int unsigned Words = 1024,
  parameter int unsigned ReadPorts = 1,
  parameter int unsigned AddrW = Words > 1 ? $clog2(Words) : 1
) (
  input  logic                        clk_i,
  input  logic [Width/Granule-1:0]    we_i,
  input  logic [AddrW-1:0]            waddr_i,
  input  logic [Width-1:0]            wdata_i,
  input  logic [ReadPorts-1:0]        re_i,
  input  logic [ReadPorts*AddrW-1:0]  raddr_i,
  output logic [ReadPorts*Width-1:0]  rdata_o
);
  logic [Width-1:0] mem[Words];

  if (Granule == Width) begin : gen_whole
    always_ff @(posedge clk_i) if (we_i[0]) mem[waddr_i] <= wdata_i;
  end else begin : gen_granules
    for (genvar g = 0; g < Width / Granule; g++) begin : gen_granule
      always_ff @(posedge clk_i) begin
        if (we_i[g]) mem[waddr_i][g*Granule +: Granule] <= wdata_i[g*Granule +: Granule];
      end
    end
  end

  for (genvar p = 0; p < ReadPorts; p++) begin : gen_read
    logic [Width-1:0] rdata_q;
    always_ff @(posedge clk_i) if (re_i[p]) rdata_q <= mem[raddr_i[p*AddrW +: AddrW]];
    assign rdata_o[p*Width +: Width] = rdata_q;
  end
endmodule
