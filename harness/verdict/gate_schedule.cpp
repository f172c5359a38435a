#include "verdict/gate_schedule.hpp"

namespace stepgauge::verdict {
namespace {

/// SplitMix64 (Steele, Lea and Flood 2014), its output function: spreads neighbouring inputs over all bits.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

bool head_goes_first(std::uint64_t seed, std::size_t cell, std::size_t pair) {
  const auto drawn = mixed(mixed(seed) + 0x9e3779b97f4a7c15ull * (cell + 1));
  return ((drawn ^ pair) & 1) != 0;
}

}  // namespace stepgauge::verdict
