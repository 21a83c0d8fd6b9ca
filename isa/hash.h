// FNV-1a, 64 bits: names a text (configuration, RTL parameters) in files and caches. Not for security.
// Source: http://www.isthe.com/chongo/tech/comp/fnv/
#pragma once
#include <cstdint>
#include <string_view>

namespace dlc {

constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace dlc
