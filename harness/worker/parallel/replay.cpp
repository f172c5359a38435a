#include "worker/parallel/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "contract/suggest.hpp"
#include "worker/parallel/element_types.hpp"

namespace stepgauge::worker {
namespace {

constexpr int passes = 3;
const std::vector<std::string> known_kinds{"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                           "reduce",     "barrier",   "all_to_all"};

struct Planned {
  std::string kind;
  std::int64_t bytes = 0;  ///< of the rank's own input
  torch::Dtype type = torch::kFloat32;
  std::optional<double> recorded_ms;
  std::string skipped;
  Json document;  ///< as the plan has it
};

class Replay {
 public:
  Replay(const std::string& path, RankGroup& group, DeviceRoom& room) : path_(path), group_(group), room_(room) {}

  Json run() {
    read();
    make_buffers();
    warm_up();
    std::vector<std::vector<double>> taken(plan_.size());
    for (int i = 0; i < passes; ++i) pass(taken);
    std::vector<double> medians;
    for (auto& times : taken) {
      std::sort(times.begin(), times.end());
      medians.push_back(times.empty() ? 0 : times[times.size() / 2]);
    }
    return report(medians.empty() ? medians : group_.max_over_ranks(medians));
  }

 private:
  void read() {
    const auto document = parse_json(read_text_file(path_), path_);
    if (optional<std::string>(document, "schema", "", path_) != "stepgauge.collective_plan")
      throw ContractError(path_ + ": expected the schema \"stepgauge.collective_plan\"");
    if (const auto version = require<int>(document, "version", path_); version != 1)
      throw ContractError(fmt::format("{}: plan version {}, this worker reads 1", path_, version));
    if (const auto ranks = require<int>(document, "world_size", path_); ranks != group_.size())
      throw ContractError(fmt::format("{}: the plan is for {} ranks, this launch has {}", path_, ranks, group_.size()));
    const auto collectives = require<Json>(document, "collectives", path_);
    if (!collectives.is_array()) throw ContractError(path_ + ": \"collectives\" is no array");
    for (std::size_t i = 0; i < collectives.size(); ++i)
      plan_.push_back(read_one(collectives.at(i), fmt::format("{}: collectives[{}]", path_, i)));
  }

  Planned read_one(const Json& document, const std::string& where) const {
    Planned out;
    out.document = document;
    out.kind = require<std::string>(document, "kind", where);
    const auto bytes = optional<std::int64_t>(document, "bytes", -1, where);
    const auto dtype = optional<std::string>(document, "dtype", "", where);
    if (document.contains("recorded_ms") && !document.at("recorded_ms").is_null())
      out.recorded_ms = require<double>(document, "recorded_ms", where);
    if (std::find(known_kinds.begin(), known_kinds.end(), out.kind) == known_kinds.end()) {
      out.skipped = "\"" + out.kind + "\" is not replayed" + suggestion(out.kind, known_kinds);
    } else if (out.kind != "barrier" && bytes < 0) {
      out.skipped = "its size is not known";
    } else {
      out.bytes = std::max<std::int64_t>(bytes, 0);
      out.skipped = choose_type(out, dtype);
    }
    return out;
  }

  /// Float where the plan has no type and the size allows it: bytes travel alike. Why it cannot be; empty: it can.
  std::string choose_type(Planned& planned, const std::string& dtype) const {
    planned.type = planned.bytes % 4 == 0 ? torch::kFloat32 : torch::kUInt8;
    if (!dtype.empty()) {
      const auto type = type_named(dtype);
      if (!type) return "elements of type " + dtype + " are not replayed";
      planned.type = *type;
    }
    const auto element = static_cast<std::int64_t>(torch::elementSize(planned.type));
    const bool in_parts = planned.kind == "reduce_scatter" || planned.kind == "all_to_all";
    if (planned.bytes % (element * (in_parts ? group_.size() : 1)) != 0)
      return fmt::format("{} bytes are no whole number of elements{}", planned.bytes, in_parts ? " for each rank" : "");
    return "";
  }

  void make_buffers() {
    std::int64_t input = 8, output = 8;
    for (const auto& planned : plan_) {
      if (!planned.skipped.empty()) continue;
      input = std::max(input, planned.bytes);
      output = std::max(output, planned.kind == "all_gather" ? planned.bytes * group_.size() : planned.bytes);
    }
    const auto options = torch::TensorOptions().device(room_.device()).dtype(torch::kUInt8);
    input_ = torch::zeros({input}, options);
    output_ = torch::zeros({output}, options);
  }

  /// What a backend refuses it refuses on every rank alike, before anything is sent.
  void warm_up() {
    for (auto& planned : plan_) {
      if (!planned.skipped.empty()) continue;
      try {
        make(planned);
      } catch (const c10::Error& error) {
        const std::string text = error.what_without_backtrace();
        if (text.find("does not support") == std::string::npos && text.find("not supported") == std::string::npos)
          throw;
        planned.skipped = text.substr(0, 200);
      }
    }
    room_.synchronize();
    group_.max_over_ranks(0);  // begin together
  }

  void pass(std::vector<std::vector<double>>& taken) {
    const auto clock = room_.make_clock(plan_.size() + 1);
    clock->mark(0);
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].skipped.empty()) make(plan_[i]);
      clock->mark(i + 1);
    }
    clock->drain(plan_.size(), [](std::size_t) {});
    for (std::size_t i = 0; i < plan_.size(); ++i) taken[i].push_back(clock->elapsed_ms(i));
  }

  static torch::Tensor part(const torch::Tensor& buffer, std::int64_t bytes, torch::Dtype type) {
    return buffer.narrow(0, 0, bytes).view(type);
  }

  void make(const Planned& planned) {
    auto& group = *group_.group();
    const auto type = planned.type;
    auto input = part(input_, planned.bytes, type);
    std::vector<torch::Tensor> inputs{input};
    if (planned.kind == "barrier") {
      group.barrier()->wait();
    } else if (planned.kind == "all_reduce") {
      group.allreduce(inputs)->wait();
    } else if (planned.kind == "broadcast") {
      group.broadcast(inputs)->wait();
    } else if (planned.kind == "reduce") {
      group.reduce(inputs)->wait();
    } else if (planned.kind == "all_gather") {
      auto output = part(output_, planned.bytes * group_.size(), type);
      group._allgather_base(output, input)->wait();
    } else if (planned.kind == "reduce_scatter") {
      auto output = part(output_, planned.bytes / group_.size(), type);
      group._reduce_scatter_base(output, input)->wait();
    } else {
      auto output = part(output_, planned.bytes, type);
      std::vector<std::int64_t> equal_shares;
      group.alltoall_base(output, input, equal_shares, equal_shares)->wait();
    }
  }

  Json report(const std::vector<double>& slowest) const {
    auto collectives = Json::array();
    double recorded = 0, replayed = 0, replayed_beside = 0;
    std::int64_t compared = 0;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const auto& planned = plan_[i];
      Json item{{"kind", planned.kind},
                {"bytes", planned.document.value("bytes", Json(nullptr))},
                {"dtype", planned.document.value("dtype", Json(nullptr))},
                {"recorded_ms", planned.recorded_ms ? Json(*planned.recorded_ms) : Json(nullptr)},
                {"replayed_ms", planned.skipped.empty() ? Json(slowest[i]) : Json(nullptr)}};
      if (!planned.skipped.empty()) item["skipped"] = planned.skipped;
      collectives.push_back(item);
      if (!planned.skipped.empty()) continue;
      replayed += slowest[i];
      if (!planned.recorded_ms) continue;
      ++compared;
      recorded += *planned.recorded_ms;
      replayed_beside += slowest[i];
    }
    return {{"passes", passes},
            {"collectives", collectives},
            {"compared", compared},
            {"total_recorded_ms", compared > 0 ? Json(recorded) : Json(nullptr)},
            {"total_replayed_ms", compared > 0 ? replayed_beside : replayed}};
  }

  const std::string path_;
  RankGroup& group_;
  DeviceRoom& room_;
  std::vector<Planned> plan_;
  torch::Tensor input_, output_;
};

}  // namespace

Json replay_plan(const std::string& path, RankGroup& group, DeviceRoom& room) {
  return Replay(path, group, room).run();
}

}  // namespace stepgauge::worker
