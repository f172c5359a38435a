#include "replay/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "contract/cell.hpp"

namespace stepgauge::replay {
namespace {

constexpr std::array<std::string_view, 12> kind_names{"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                                      "reduce",     "barrier",   "all_to_all", "gather",
                                                      "scatter",    "send",      "recv",       "other"};

/// Beginnings without underscores, in lower case; a longer one stands before those that it begins with.
constexpr std::array<std::pair<std::string_view, Kind>, 13> beginnings{{{"allreducebarrier", Kind::barrier},
                                                                        {"allreduce", Kind::all_reduce},
                                                                        {"allgather", Kind::all_gather},
                                                                        {"alltoall", Kind::all_to_all},
                                                                        {"broadcast", Kind::broadcast},
                                                                        {"barrier", Kind::barrier},
                                                                        {"gather", Kind::gather},
                                                                        {"reducescatter", Kind::reduce_scatter},
                                                                        {"reduce", Kind::reduce},
                                                                        {"scatter", Kind::scatter},
                                                                        {"send", Kind::send},
                                                                        {"recv", Kind::recv},
                                                                        {"monitoredbarrier", Kind::barrier}}};

struct Dtype {
  std::string_view name, c10;
  std::int64_t bytes;
  std::int64_t nccl;  ///< -1: NCCL has none
};

constexpr std::array<Dtype, 16> dtypes{{{"float32", "Float", 4, 7},
                                        {"bfloat16", "BFloat16", 2, 9},
                                        {"float16", "Half", 2, 6},
                                        {"float64", "Double", 8, 8},
                                        {"int64", "Long", 8, 4},
                                        {"int32", "Int", 4, 2},
                                        {"int16", "Short", 2, -1},
                                        {"int8", "Char", 1, 0},
                                        {"uint8", "Byte", 1, 1},
                                        {"uint32", "UInt32", 4, 3},
                                        {"uint64", "UInt64", 8, 5},
                                        {"bool", "Bool", 1, -1},
                                        {"float8_e4m3fn", "Float8_e4m3fn", 1, 10},
                                        {"float8_e5m2", "Float8_e5m2", 1, 11},
                                        {"complex64", "ComplexFloat", 8, -1},
                                        {"complex128", "ComplexDouble", 16, -1}}};

}  // namespace

std::string_view to_string(Kind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

Kind kind_from(std::string_view name) {
  const auto colon = name.find(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  std::string plain;
  for (const char c : name.substr(0, 64)) {
    if (c != '_' && c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const auto& [beginning, kind] : beginnings) {
    if (plain.starts_with(beginning)) return kind;
  }
  return Kind::other;
}

bool point_to_point(Kind kind) {
  return kind == Kind::send || kind == Kind::recv;
}

bool ends_together(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::all_gather || kind == Kind::reduce_scatter ||
         kind == Kind::barrier || kind == Kind::all_to_all;
}

bool is_setup(std::string_view call_site) {
  const auto& phases = known_phases();
  return call_site == "setup" || call_site == "first_step" ||
         std::find(phases.begin(), phases.end(), call_site) != phases.end();
}

bool equal_sizes(Kind kind) {
  return kind != Kind::all_to_all && kind != Kind::gather && kind != Kind::scatter;
}

std::string_view dtype_from(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const auto& dtype : dtypes) {
    if (name == dtype.name || name == dtype.c10) return dtype.name;
  }
  return "";
}

std::string_view dtype_from_nccl(std::int64_t number) {
  for (const auto& dtype : dtypes) {
    if (number >= 0 && number == dtype.nccl) return dtype.name;
  }
  return "";
}

std::int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& one : dtypes) {
    if (one.name == dtype) return one.bytes;
  }
  return 0;
}

}  // namespace stepgauge::replay
