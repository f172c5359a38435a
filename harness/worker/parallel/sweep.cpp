#include "worker/parallel/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "worker/parallel/sweep_point.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int blocks = 5;
constexpr std::int64_t latency_bytes = 8;
constexpr std::int64_t small_bytes = 64 << 10;
constexpr double budget_us = 2e6;    ///< of all sizes together, as planned
constexpr double patience_us = 4e6;  ///< after that no larger size is begun
constexpr int most_pairs = 28;       ///< of 8 ranks
constexpr int messages = 5;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Sweep {
 public:
  Sweep(RankGroup& group, DeviceRoom& room) : group_(group), room_(room) {}

  Json run() {
    room_.release_cache();
    const bool on_cpu = room_.device().is_cpu();
    auto free_mib = room_.free_mib();
    if (free_mib && on_cpu) *free_mib /= group_.size();  // the ranks share it
    const auto cap =
        static_cast<std::int64_t>(-group_.max_over_ranks(-static_cast<double>(sweep_cap(on_cpu, free_mib))));
    auto sizes = sweep_sizes(cap);
    sizes.insert(sizes.begin(), latency_bytes);
    share_us_ = budget_us / static_cast<double>(sizes.size());
    buffer_ = torch::zeros({sizes.back() / 4}, torch::TensorOptions().device(room_.device()).dtype(torch::kFloat32));
    const AllReduce through_group = [&](std::vector<torch::Tensor>& one) { group_.group()->allreduce(one)->wait(); };
    auto points = Json::array();
    const auto start = Clock::now();
    for (const auto bytes : sizes) {
      if (group_.max_over_ranks(us_since(start)) > patience_us) {
        out_["sweep_stopped"] = fmt::format("{} bytes and more would have taken too long", bytes);
        break;
      }
      const auto point = time_size(bytes, through_group);
      if (bytes == latency_bytes)
        out_["latency_us"] = point.at("time_us");
      else
        points.push_back(point);
    }
    out_["sweep"] = points;
    if (!points.empty()) time_bare(points.back().at("bytes"));
    buffer_.reset();
    time_pairs(std::min<std::int64_t>(cap, on_cpu ? 8 << 20 : 64 << 20));
    room_.release_cache();
    return std::move(out_);
  }

 private:
  using AllReduce = std::function<void(std::vector<torch::Tensor>&)>;

  /// The same without the process group around it, which tells what that adds.
  void time_bare(std::int64_t largest) {
    std::vector<torch::Tensor> tensors{buffer_.narrow(0, 0, latency_bytes / 4)};
    if (!group_.bare_all_reduce(tensors.front())) return;
    const AllReduce bare = [&](std::vector<torch::Tensor>& one) { group_.bare_all_reduce(one.front()); };
    auto points = Json::array();
    for (const auto bytes : std::set{latency_bytes, std::min(small_bytes, largest), largest})
      points.push_back(time_size(bytes, bare));
    out_["sweep_bare"] = points;
  }

  Json time_size(std::int64_t bytes, const AllReduce& all_reduce) {
    std::vector<torch::Tensor> tensors{buffer_.narrow(0, 0, bytes / 4)};
    for (int i = 0; i < (bytes <= (1 << 20) ? 5 : 1); ++i) all_reduce(tensors);
    room_.synchronize();
    const auto start = Clock::now();
    all_reduce(tensors);
    room_.synchronize();
    const auto iterations = sweep_iterations(group_.max_over_ranks(us_since(start)), share_us_, blocks);
    const auto clock = room_.make_clock(blocks + 1);
    clock->mark(0);
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::int64_t i = 0; i < iterations; ++i) all_reduce(tensors);
      clock->mark(block + 1);
    }
    clock->drain(blocks, [](std::size_t) {});
    std::vector<double> taken_us;
    for (std::size_t block = 0; block < blocks; ++block)
      taken_us.push_back(clock->elapsed_ms(block) * 1e3 / static_cast<double>(iterations));
    const auto mine = sweep_times(taken_us);
    const auto slowest = group_.max_over_ranks(std::vector<double>{mine.median_us, mine.min_us});
    return sweep_point(bytes, group_.size(), {slowest.at(0), slowest.at(1)}, iterations * blocks);
  }

  void time_pairs(std::int64_t bytes) {
    const auto name = group_.backend_name();
    const int ranks = group_.size(), pairs = ranks * (ranks - 1) / 2;
    if (name != "gloo" && name != "nccl" && name != "mpi") {
      out_["pairs_absent"] = "backend " + name + " is not known to send and receive";
    } else if (pairs > most_pairs) {
      out_["pairs_absent"] = fmt::format("{} ranks are {} pairs; at most {} are measured", ranks, pairs, most_pairs);
    } else {
      out_["pairs"] = Json::array();
      for (int a = 0; a < ranks; ++a) {
        for (int b = a + 1; b < ranks; ++b)
          out_["pairs"].push_back(
              {{"a", a}, {"b", b}, {"gbps", static_cast<double>(bytes) / time_pair(a, b, bytes) / 1e3}});
      }
    }
  }

  /// One message, us: by the receiver's clock from the arrival of a first message on, so that neither connecting nor
  /// waiting for the sender counts. The other ranks wait for the answer.
  double time_pair(int from, int to, std::int64_t bytes) {
    double taken_us = 0;
    if (group_.rank() == from || group_.rank() == to) {
      std::vector<torch::Tensor> tensors{
          torch::zeros({bytes}, torch::TensorOptions().device(room_.device()).dtype(torch::kUInt8))};
      const auto pass_on = [&] {
        const auto work =
            group_.rank() == from ? group_.group()->send(tensors, to, 0) : group_.group()->recv(tensors, from, 0);
        work->wait();
      };
      const auto clock = room_.make_clock(2);
      pass_on();
      clock->mark(0);
      for (int i = 0; i < messages; ++i) pass_on();
      clock->mark(1);
      clock->drain(1, [](std::size_t) {});
      if (group_.rank() == to) taken_us = clock->elapsed_ms(0) * 1e3 / messages;
    }
    return group_.max_over_ranks(taken_us);
  }

  RankGroup& group_;
  DeviceRoom& room_;
  double share_us_ = 0;
  torch::Tensor buffer_;
  Json out_ = Json::object();
};

}  // namespace

Json sweep_all_reduce(RankGroup& group, DeviceRoom& room) {
  return Sweep(group, room).run();
}

}  // namespace stepgauge::worker
