#include "summary/mode_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "contract/loose_json.hpp"
#include "contract/plural.hpp"
#include "summary/detail/over_ranks.hpp"
#include "summary/mode_settings.hpp"

namespace stepgauge::summary {
namespace {

using detail::max_over;
using loose::flag;
using loose::list;
using loose::number;
using loose::part;
using loose::text;

bool compiles(const std::string& mode) {
  return mode != "eager" && mode != "python_eager";
}

/// Entries of a list, each as often as its "count" says.
std::optional<double> counted(const RankRecord& rank, const char* key) {
  const auto& compile = part(rank, "compile");
  if (!part(compile, key).is_array()) return std::nullopt;
  double sum = 0;
  for (const auto& entry : list(compile, key)) sum += number(entry, "count").value_or(1);
  return sum;
}

/// The entry of the mode's main representation; null when the census has none.
const Json& census_entry(const RankRecord& rank, const std::string& ir) {
  static const Json none;
  for (const auto& entry : list(rank.detail, "ir_census")) {
    if (text(entry, "ir") == ir) return entry;
  }
  return none;
}

/// "forward at .../twin.py:12: tensor 'x' size mismatch"
std::string recompile_text(const Json& recompile) {
  const auto function = text(recompile, "function");
  const auto file = text(recompile, "file");
  const auto line = number(recompile, "line");
  const auto guard = text(recompile, "guard");
  std::string place;
  if (!file.empty()) place = fmt::format(" at {}{}", file, line ? fmt::format(":{:.0f}", *line) : "");
  return fmt::format("{}{}, guard: {}", function.empty() ? "a function" : function, place,
                     guard.empty() ? "unknown" : guard);
}

class Metrics {
 public:
  Metrics(const Cell& cell, const std::vector<RankRecord>& ranks) : cell_(cell), ranks_(ranks) {}

  ModeMetrics make() {
    compilation();
    pools();
    census();
    put("loss_error",
        max_over(ranks_, [](const RankRecord& rank) { return number(part(part(rank, "parity"), "loss"), "error"); }),
        why_no_parity());
    return std::move(out_);
  }

 private:
  static constexpr const char* silent = "the worker did not report it";

  void put(const char* name, const std::optional<double>& value, const std::string& why) {
    if (value) {
      out_.metrics[name] = *value;
    } else {
      out_.absent[name] = why;
    }
  }

  void compilation() {
    const bool any = compiles(cell_.compile);
    const auto nothing = cell_.compile + " compiles nothing";
    const auto compile_number = [](const char* key) {
      return [key](const RankRecord& rank) { return number(part(rank, "compile"), key); };
    };
    put("compile_time", max_over(ranks_, compile_number("compile_s")), any ? silent : nothing);
    put("graph_captures", max_over(ranks_, compile_number("captures")), any ? silent : nothing);
    // Dynamo alone goes on behind a break and compiles again for another shape.
    const auto no_dynamo = has_compile_caches(cell_.compile) ? std::string(silent)
                           : any                             ? cell_.compile + " is captured whole or not at all"
                                                             : nothing;
    put("graph_breaks", max_over(ranks_, [](const RankRecord& rank) { return counted(rank, "graph_breaks"); }),
        no_dynamo);
    put("recompiles", max_over(ranks_, [](const RankRecord& rank) { return counted(rank, "recompiles"); }), no_dynamo);
  }

  void pools() {
    put("graph_pools", max_over(ranks_, [](const RankRecord& rank) { return graph_pools_mib(rank); }),
        promises_graph_launches(cell_.compile) ? std::string(silent) : cell_.compile + " captures no CUDA graph");
  }

  void census() {
    const auto ir = main_ir(cell_.compile);
    std::string why = ir.empty()                 ? cell_.compile + " has no intermediate representation"
                      : !cell_.measure.ir_census ? "no census was asked for (measure.ir_census: false)"
                                                 : silent;
    std::optional<double> nodes, memory;
    if (!ir.empty() && !ranks_.empty()) {
      const auto& entry = census_entry(ranks_.front(), ir);
      nodes = number(entry, "nodes");
      memory = number(entry, "memory_mib");
      if (!memory) memory = number(entry, "rss_mib");
      if (const auto reason = text(entry, "absent"); !reason.empty()) why = ir + ": " + reason;
    }
    put("ir_nodes", nodes, why);
    put("ir_memory", memory, why);
  }

  std::string why_no_parity() const {
    for (const auto& rank : ranks_) {
      if (auto reason = text(part(rank, "parity"), "absent"); !reason.empty()) return reason;
    }
    return cell_.measure.parity_steps == 0 ? "no comparison was asked for (measure.parity_steps: 0)" : silent;
  }

  const Cell& cell_;
  const std::vector<RankRecord>& ranks_;
  ModeMetrics out_;
};

}  // namespace

ModeMetrics mode_metrics(const Cell& cell, const std::vector<RankRecord>& ranks) {
  return Metrics(cell, ranks).make();
}

std::string main_ir(const std::string& compile) {
  if (compile == "torchscript") return "torchscript.optimised";
  if (is_cuda_graph_mode(compile)) return "cuda_graph";
  if (compile == "compile.export") return "export";
  return has_compile_caches(compile) ? "dynamo" : "";
}

std::optional<double> graph_pools_mib(const RankRecord& rank) {
  return number(part(rank, "memory_inside"), "graph_pools_mib");
}

std::string late_compilation(const std::vector<RankRecord>& ranks) {
  for (const auto& rank : ranks) {
    const auto& compile = part(rank, "compile");
    const auto where = ranks.size() > 1 ? fmt::format("rank {}: ", rank.rank) : std::string();
    for (const auto& recompile : list(compile, "recompiles")) {
      if (flag(recompile, "late"))
        return fmt::format("{}a step behind the warm-up compiled again: {}", where, recompile_text(recompile));
    }
    if (const auto late = number(compile, "captures_late").value_or(0); late > 0)
      return fmt::format("{}{} behind the warm-up, expected none", where, plural(late, "graph capture"));
  }
  return "";
}

bool compiled_late(const LaunchRecord& record) {
  if (record.status != Status::unsteady) return false;
  for (const auto& rank : list(record.detail, "ranks")) {
    RankRecord one;
    one.detail["compile"] = part(rank, "compile");
    if (!late_compilation({one}).empty()) return true;
  }
  return false;
}

const RankRecord* worst_parity(const std::vector<RankRecord>& ranks) {
  const auto badness = [](const RankRecord& rank) {
    const auto& parity = part(rank, "parity");
    if (!parity.is_object()) return -1.0;
    if (part(parity, "agrees").is_boolean() && !flag(parity, "agrees")) return 1e300;
    return number(part(parity, "loss"), "error").value_or(0);
  };
  const RankRecord* worst = nullptr;
  for (const auto& rank : ranks) {
    if (badness(rank) >= 0 && (worst == nullptr || badness(rank) > badness(*worst))) worst = &rank;
  }
  return worst;
}

std::string disagreement(const std::vector<RankRecord>& ranks) {
  const auto* worst = worst_parity(ranks);
  if (worst == nullptr) return "";
  const auto& parity = part(*worst, "parity");
  if (!part(parity, "agrees").is_boolean() || flag(parity, "agrees")) return "";
  const auto difference = text(parity, "first_difference");
  return fmt::format("rank {} does not agree with the {} reference{}{}", worst->rank,
                     text(parity, "reference").empty() ? "eager" : text(parity, "reference"),
                     difference.empty() ? "" : ": ", difference);
}

}  // namespace stepgauge::summary
