// What the generators of loop nests need to know of the machine that will run them.
#pragma once

namespace dlc::loop {

struct Machine {
  int lanes = 4;        // float32 in a vector register; also the channel block of blocked layouts
  int registers = 16;   // vector registers
  bool has_dot4 = false;  // an instruction for Op::dot4 (elsewhere it is several)
};

}  // namespace dlc::loop
