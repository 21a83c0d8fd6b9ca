// Encoding of instructions: bit positions, round trips, refusals.
#include <catch2/catch.hpp>
#include <random>

#include "isa/error.h"
#include "isa/isa_generated.h"

using namespace dlc;
using namespace dlc::isa;

namespace {

std::vector<uint8_t> bytes_of(const Instruction& instruction) {
  std::vector<uint8_t> out;
  encode(instruction, out);
  return out;
}

std::string decode_error(const std::vector<uint8_t>& bytes) {
  size_t offset = 0;
  try {
    decode(bytes, offset);
  } catch (const UserError& e) {
    CHECK(e.exit_code() == 2);
    CHECK(offset == 0);
    return e.what();
  }
  return "";
}

// Random values in range for every field; the section only where it is present.
template <class I>
I random_instruction(std::mt19937_64& random) {
  I result;
  const auto element = [&](const FieldInfo& field, auto& e) {
    using T = std::remove_reference_t<decltype(e)>;
    if (field.enumeration) {
      e = static_cast<T>(field.enumeration->values[random() % field.enumeration->values.size()].value);
    } else {
      const uint64_t range = static_cast<uint64_t>(field.high() - field.low()) + 1;
      const int64_t extremes[] = {field.low(), field.high()};
      e = static_cast<T>(random() % 4 == 0 ? extremes[random() % 2]
                                           : field.low() + static_cast<int64_t>(random() % range));
    }
  };
  for_each_field(result, [&](const FieldInfo& field, auto& member) {
    if (field.in_section && units(result) != info_of(result).section_units) return;
    if constexpr (requires { member.size(); }) {
      for (auto& e : member) element(field, e);
    } else {
      element(field, member);
    }
  });
  return result;
}

template <class I>
void check_random_round_trips(std::mt19937_64& random) {
  for (int i = 0; i < 2000; ++i) {
    const Instruction before = random_instruction<I>(random);
    REQUIRE(check_fields(before).empty());
    const std::vector<uint8_t> bytes = bytes_of(before);
    REQUIRE(bytes.size() == static_cast<size_t>(units(before)) * 16);
    size_t offset = 0;
    const Instruction after = decode(bytes, offset);
    REQUIRE(offset == bytes.size());
    REQUIRE(after == before);
  }
}

}  // namespace

TEST_CASE("Random instructions of every kind survive encode and decode") {
  std::mt19937_64 random(1);
  check_random_round_trips<Load>(random);
  check_random_round_trips<Matrix>(random);
  check_random_round_trips<Vector>(random);
  check_random_round_trips<Store>(random);
}

TEST_CASE("Fields lie where the table says, little-endian") {
  Load load;
  load.memory = Memory::par;               // bits 8..10
  load.wait = {0x123456, 0, 0, 0xabcdef};  // bits 32..127
  load.dram_address = 0x9876543210;        // bits 128..167
  load.stride = {-1, 0, 0};                // bits 260..279
  const std::vector<uint8_t> bytes = bytes_of(load);
  REQUIRE(bytes.size() == 64);
  CHECK(bytes[0] == 0x41);  // opcode 1, length 4
  CHECK(bytes[1] == 3);
  CHECK(bytes[4] == 0x56);
  CHECK(bytes[6] == 0x12);
  CHECK(bytes[15] == 0xab);
  CHECK(bytes[16] == 0x10);
  CHECK(bytes[20] == 0x98);
  CHECK(bytes[32] == 0xf0);  // bits 260..263
  CHECK(bytes[33] == 0xff);
  CHECK(bytes[34] == 0xff);  // bits 272..279
}

TEST_CASE("A vector instruction has its section exactly if it combines") {
  Vector vector;
  CHECK(units(vector) == 6);
  vector.combine = Combine::maximum;
  CHECK(units(vector) == 8);
  vector.b_address = 5;
  CHECK(check_fields(vector).empty());
  vector.combine = Combine::none;
  CHECK(check_fields(vector) == "b_address is set, but the instruction has no operand section for it");
}

TEST_CASE("Defaults: counts are one, everything else is zero") {
  CHECK(Load().count == std::array<uint32_t, 3>{1, 1, 1});
  CHECK(Matrix().tile_count == std::array<uint32_t, 4>{1, 1, 1, 1});
  CHECK(Matrix().step_count == std::array<uint32_t, 3>{1, 1, 1});
  CHECK(Vector().count == std::array<uint32_t, 5>{1, 1, 1, 1, 1});
  CHECK(Store().row_bytes == 0);
  CHECK(to_string(Matrix()) == "matrix");
}

TEST_CASE("Printing shows what differs from the default, in table order") {
  Matrix matrix;
  matrix.wait = {1, 2, 3, 4};
  matrix.act_zero = -3;
  matrix.tile_count = {1, 4, 3, 3};
  CHECK(to_string(matrix) == "matrix wait=[1,2,3,4] act_zero=-3 tile_count=[1,4,3,3]");
  Vector vector;
  vector.a_source = VectorSource::acc;
  CHECK(to_string(vector) == "vector a_source=acc");
}

TEST_CASE("Encoding refuses values that do not fit") {
  Load load;
  load.row_bytes = 1u << 24;
  CHECK_THROWS_AS(bytes_of(load), UserError);
  CHECK(check_fields(load) == "row_bytes = 16777216 is out of range, expected 0..16777215");
  Matrix matrix;
  matrix.act_tile_stride[2] = -(1 << 19) - 1;
  CHECK(check_fields(matrix) == "act_tile_stride[2] = -524289 is out of range, expected -524288..524287");
  Store store;
  store.memory = static_cast<Memory>(6);
  CHECK(check_fields(store) == "memory = 6 is not a value of memory");
  Load far;
  far.dram_address = ~uint64_t{0};
  CHECK_FALSE(check_fields(far).empty());
}

TEST_CASE("Decoding refuses what no instruction encodes to") {
  const std::vector<uint8_t> good = bytes_of(Matrix());
  std::vector<uint8_t> bad = good;
  bad[0] = 0x4f;
  CHECK(decode_error(bad) == "instruction at byte 0: unknown opcode 15");
  bad = good;
  bad[0] = 0x42;
  CHECK(decode_error(bad) == "instruction at byte 0: matrix: length 4, expected 5 units");
  bad = good;
  bad[79] = 0x80;
  CHECK(decode_error(bad) == "instruction at byte 0: matrix: reserved bit 639 is set, expected 0");
  bad = good;
  bad.pop_back();
  CHECK(decode_error(bad) == "instruction at byte 0: matrix: truncated, expected 80 bytes");
  CHECK(decode_error({}) == "instruction at byte 0: truncated, expected at least 16 bytes");
  bad = good;
  bad[1] |= 0x30;  // weight type 3
  CHECK(decode_error(bad) == "instruction at byte 0: matrix: wgt_type = 3 is not a value of weight_type");
  bad = bytes_of(Vector());
  bad.resize(128);
  bad[0] = 0x83;
  CHECK(decode_error(bad) == "instruction at byte 0: vector: length 8, expected 6 units");
}

TEST_CASE("Random bytes are refused, or decode to what encodes to the same bytes") {
  std::mt19937_64 random(2);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = bytes_of(Store());
    for (int flips = static_cast<int>(random() % 4); flips >= 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    }
    size_t offset = 0;
    try {
      const Instruction decoded = decode(bytes, offset);
      ++accepted;
      REQUIRE(bytes_of(decoded) == bytes);
    } catch (const UserError&) {
      REQUIRE(offset == 0);
    }
  }
  CHECK(accepted > 1000);
  CHECK(accepted < 19000);
}
