#include "summary/topology_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "contract/loose_json.hpp"
#include "summary/straggler.hpp"
#include "summary/timeline_summary.hpp"

namespace stepgauge::summary {
namespace {

using loose::list;
using loose::number;
using loose::part;

using Number = std::optional<double>;

/// Of what a link should give, what a healthy path gives at least: NCCL's all-reduce reaches 72 % over 18 NVLinks.
constexpr double healthy_share = 0.5;
/// Sizes from which bandwidth, not latency, decides.
constexpr double large_bytes = 16.0 * 1024 * 1024;
/// Below this share of the stall, communication is not what there is to look at.
constexpr double telling_share = 0.5;

struct Measured {
  Number gbps;
  std::string how;  ///< "measured between the two", "all-reduce of 1 GiB"
};

std::string size_text(double bytes) {
  constexpr double mib = 1024.0 * 1024.0, gib = 1024 * mib;
  return bytes >= gib ? fmt::format("{:.4g} GiB", bytes / gib) : fmt::format("{:.4g} MiB", bytes / mib);
}

std::string rate_text(double gbps) {
  return fmt::format("{:.3g} GB/s", gbps);
}

/// How a transport is named in a sentence.
std::string family_text(const std::string& family) {
  static const std::map<std::string, std::string> texts{
      {"p2p", "P2P"}, {"shm", "shared memory of the host"}, {"socket", "sockets"}, {"ib", "InfiniBand"}};
  const auto found = texts.find(family);
  return found == texts.end() ? family : found->second;
}

std::optional<int> rank_number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

const Json& first_rank(const LaunchRecord& record) {
  static const Json none;
  const auto& ranks = list(record.detail, "ranks");
  return ranks.empty() ? none : ranks.front();
}

class Check {
 public:
  Check(const Cell& cell, const LaunchRecord& record, const TopologyFacts& facts)
      : cell_(cell), record_(record), facts_(facts), communication_(part(record.detail, "communication")) {}

  Json make() {
    stall();
    sweep();
    pairs();
    conclude();
    out_["cause"] = cause_;
    out_["findings"] = findings_;
    return std::move(out_);
  }

 private:
  Number metric(const char* name) const {
    const auto found = record_.metrics.find(name);
    return found == record_.metrics.end() ? std::nullopt : found->second.value;
  }

  void say(std::string text) { findings_.push_back(std::move(text)); }

  void stall() {
    out_["stall_ratio"] = metric("stall_ratio").value_or(0);
    out_["alarm"] = cell_.stall_alarm;
    Json parts = Json::object();
    for (const char* name : {"exposed_comm", "exposed_copy", "idle_ratio", "overlap_ratio"}) {
      if (const auto value = metric(name)) parts[name] = *value;
    }
    out_["parts"] = parts;
  }

  /// The largest all-reduce of the sweep.
  void sweep() {
    for (const auto& point : list(communication_, "sweep")) {
      const auto bytes = number(point, "bytes"), busbw = number(point, "busbw_gbps");
      if (!bytes || !busbw || *bytes < large_bytes || *bytes < sweep_bytes_) continue;
      sweep_bytes_ = *bytes;
      sweep_gbps_ = busbw;
    }
    if (sweep_gbps_) {
      out_["sweep"] = {{"bytes", sweep_bytes_}, {"busbw_gbps", *sweep_gbps_}};
      return;
    }
    out_["sweep_absent"] = cell_.measure.allreduce_sweep
                               ? "the worker reported no all-reduce of 16 MiB or more"
                               : "the cell did not ask for it (measure: {allreduce_sweep: true})";
  }

  Measured measured(int a, int b) const {
    for (const auto& pair : list(communication_, "pairs")) {
      const auto one = number(pair, "a"), other = number(pair, "b"), gbps = number(pair, "gbps");
      if (one && other && gbps && std::min(*one, *other) == a && std::max(*one, *other) == b)
        return {gbps, "between the two"};
    }
    if (sweep_gbps_ && cell_.ddp.ranks == 2)
      return {sweep_gbps_, fmt::format("bus bandwidth of an all-reduce of {}", size_text(sweep_bytes_))};
    return {};
  }

  const PairLink* link(int a, int b) const {
    const auto found = std::find_if(facts_.links.begin(), facts_.links.end(),
                                    [&](const PairLink& one) { return one.rank_a == a && one.rank_b == b; });
    return found == facts_.links.end() ? nullptr : &*found;
  }

  /// Transports of the channels between two ranks, in either direction, as NCCL writes them.
  std::set<std::string> vias(int a, int b) const {
    std::set<std::string> out;
    const auto one = std::to_string(a), other = std::to_string(b);
    for (const auto& log : facts_.nccl_logs) {
      for (const auto& channel : log.channels) {
        if ((channel.from == one && channel.to == other) || (channel.from == other && channel.to == one))
          out.insert(channel.transport);
      }
    }
    return out;
  }

  /// Pairs that have a link or that NCCL joined.
  void pairs() {
    std::set<std::pair<int, int>> all;
    for (const auto& one : facts_.links) all.insert({one.rank_a, one.rank_b});
    for (const auto& log : facts_.nccl_logs) {
      for (const auto& channel : log.channels) {
        const auto from = rank_number(channel.from), to = rank_number(channel.to);
        if (from && to && *from != *to) all.insert({std::min(*from, *to), std::max(*from, *to)});
      }
    }
    for (const auto& [a, b] : all) add_pair(a, b);
    if (!facts_.links_absent.empty()) out_["links_absent"] = facts_.links_absent;
    if (!out_.contains("pairs")) out_["pairs"] = Json::array();
  }

  void add_pair(int a, int b) {
    const auto* between = link(a, b);
    const auto via = vias(a, b);
    Json item{{"ranks", {a, b}}};
    if (between != nullptr) {
      item["devices"] = between->devices;
      item["link"] = between->text;
      item["kind"] = between->kind;
      if (between->gbps) item["link_gbps"] = *between->gbps;
    }
    if (!via.empty()) item["via"] = via;
    const auto rate = measured(a, b);
    if (rate.gbps) {
      item["gbps"] = *rate.gbps;
      item["measured"] = rate.how;
    }
    if (between != nullptr) {
      if (const auto [cause, why] = degraded(*between, via, rate); !why.empty()) {
        item["degraded"] = why;
        const double share = between->gbps && rate.gbps ? *rate.gbps / *between->gbps : 1;
        hops_.push_back({share, cause, item, between->devices + ": " + why});
      }
      if (!via.empty() && between->gbps && (slowest_ == nullptr || *between->gbps < *slowest_->gbps))
        slowest_ = between;
    }
    out_["pairs"].push_back(std::move(item));
  }

  /// Where the path is less than its link: another transport than P2P, or P2P far below the link. Cause and words;
  /// empty: nowhere.
  std::pair<const char*, std::string> degraded(const PairLink& between, const std::set<std::string>& via,
                                               const Measured& rate) const {
    const auto other =
        std::find_if(via.begin(), via.end(), [](const std::string& one) { return transport_family(one) != "p2p"; });
    const auto given =
        between.gbps ? fmt::format("{} ({} a direction)", between.text, rate_text(*between.gbps)) : between.text;
    const auto gives = rate.gbps ? fmt::format(", and gives {} ({})", rate_text(*rate.gbps), rate.how) : std::string();
    if (other != via.end())
      return {"path", fmt::format("{}, but NCCL uses {} ({}){}: {}", given, family_text(transport_family(*other)),
                                  fmt::join(via, ", "), gives, why_not_p2p(transport_family(*other)))};
    if (between.gbps && rate.gbps && *rate.gbps < healthy_share * *between.gbps)
      return {"bandwidth", fmt::format("{}{}, {:.0f} % of it", given, gives, 100 * *rate.gbps / *between.gbps)};
    if (between.kind == "pcie.system" && !via.empty())
      return {"path", fmt::format("{}{}: the path leaves its NUMA node", given, gives)};
    return {};
  }

  std::string variable(const char* name) const {
    const auto& value = part(part(first_rank(record_), "environment"), name);
    return value.is_string() ? value.get<std::string>() : "";
  }

  /// The cell says so by its transport or its env; else it came from the shell.
  std::string by_whom(const char* name) const {
    const auto& transport = cell_.ddp.transport;
    const bool network = transport == "socket" || transport == "ib";
    const std::string text = name;
    const bool implied = (text == "NCCL_P2P_DISABLE" && (network || transport == "p2p_off")) ||
                         ((text == "NCCL_SHM_DISABLE" || text == "NCCL_NET") && network) ||
                         (text == "NCCL_P2P_LEVEL" && transport == "nvlink") ||
                         (text == "NCCL_HOSTID" && cell_.ddp.oversubscribe);
    return implied || cell_.env.contains(name) ? "the cell" : "the shell";
  }

  /// What keeps NCCL from P2P and, where it went on to the network, from shared memory.
  std::string why_not_p2p(const std::string& family) const {
    std::vector<std::string> off, said;
    std::set<std::string> who;
    const auto note = [&](const char* name, const char* what) {
      const auto value = variable(name);
      if (value.empty() || value == "0") return;
      off.push_back(what);
      said.push_back(fmt::format("{}={}", name, value));
      who.insert(by_whom(name));
    };
    note("NCCL_P2P_DISABLE", "P2P");
    if (family == "socket" || family == "ib") note("NCCL_SHM_DISABLE", "shared memory");
    if (!off.empty())
      return fmt::format("{} {} off by {} ({})", fmt::join(off, " and "), off.size() == 1 ? "is" : "are",
                         fmt::join(who, " and "), fmt::join(said, ", "));
    for (const char* name : {"NCCL_HOSTID", "NCCL_P2P_LEVEL"}) {
      if (const auto value = variable(name); !value.empty())
        return fmt::format("{}={} by {} rules P2P out", name, value, by_whom(name));
    }
    return "no setting that is known says so; P2P may be refused by the driver or by PCIe access control (nvidia-smi "
           "topo -p2p r)";
  }

  void conclude() {
    const auto late = straggler(part(record_.detail, "timeline"));
    if (late) out_["straggler"] = straggler_json(*late);
    if (late && late->explains) {
      cause_ = "straggler";
      return say("the stall is not the path's: " + straggler_text(*late));
    }
    const auto stall_ratio = metric("stall_ratio").value_or(0);
    const auto exposed = metric("exposed_comm");
    if (exposed && *exposed < telling_share * stall_ratio) {
      cause_ = "not_communication";
      say(fmt::format(
          "most of the stall is not communication: nothing ran for {:.1f} % of the window, copies alone for "
          "{:.1f} %, communication alone for {:.1f} %",
          metric("idle_ratio").value_or(0), metric("exposed_copy").value_or(0), *exposed));
      return hops();
    }
    if (!hops_.empty()) return hops();
    if (facts_.links.empty()) return without_links();
    whole_path();
  }

  /// The worst hop first.
  void hops() {
    if (hops_.empty()) return;
    std::stable_sort(hops_.begin(), hops_.end(), [](const Hop& a, const Hop& b) { return a.share < b.share; });
    out_["hop"] = hops_.front().item;
    if (cause_ != "not_communication") cause_ = hops_.front().cause;
    for (const auto& hop : hops_) say(hop.text);
    suggest_sweep();
  }

  void without_links() {
    const auto& backend = cell_.ddp.backend;
    if (backend == "nccl") {
      say(fmt::format("the links between the devices are not known: {}", facts_.links_absent));
      return suggest_sweep();
    }
    const auto interface = !cell_.ddp.interface.empty() ? cell_.ddp.interface : variable("GLOO_SOCKET_IFNAME");
    const auto over =
        interface.empty() ? fmt::format("an interface of {}'s own choice", backend) : "interface " + interface;
    say(fmt::format("ranks on the CPU speak {} over {}: there are no links between devices to look at", backend, over));
    if (const auto exposed = metric("exposed_comm"))
      say(fmt::format("communication alone takes {:.1f} % of the window{}", *exposed,
                      out_.contains("straggler") ? "; no rank is always last" : ""));
    suggest_sweep();
  }

  /// Nothing on the way is less than it should be.
  void whole_path() {
    if (!sweep_gbps_ && list(communication_, "pairs").empty()) {
      say("every pair uses P2P over its link; what the links give was not measured");
      return suggest_sweep();
    }
    if (sweep_gbps_ && cell_.ddp.ranks > 2 && slowest_ != nullptr && *sweep_gbps_ < healthy_share * *slowest_->gbps) {
      cause_ = "bandwidth";
      return say(
          fmt::format("an all-reduce of {} gives {}; the slowest link in use, {} ({}), should give {}: which hop "
                      "holds it back is not known, for the pairs were not measured",
                      size_text(sweep_bytes_), rate_text(*sweep_gbps_), slowest_->devices, slowest_->text,
                      rate_text(*slowest_->gbps)));
    }
    cause_ = "amount";
    const auto bytes = metric("bytes_per_step");
    say(fmt::format("every path gives what its link should ({}): what is exposed is the amount of communication{}",
                    sweep_gbps_ ? rate_text(*sweep_gbps_) + " in all-reduces of " + size_text(sweep_bytes_)
                                : std::string("measured pair by pair"),
                    bytes ? fmt::format(", {:.4g} MiB a step", *bytes) : std::string()));
  }

  void suggest_sweep() {
    if (!sweep_gbps_ && list(communication_, "pairs").empty() && !cell_.measure.allreduce_sweep)
      say("what the path gives was not measured: measure: {allreduce_sweep: true} would");
  }

  struct Hop {
    double share = 1;  ///< measured / what the link should give
    std::string cause;
    Json item;
    std::string text;
  };

  const Cell& cell_;
  const LaunchRecord& record_;
  const TopologyFacts& facts_;
  const Json& communication_;
  Json out_ = Json::object();
  std::vector<std::string> findings_;
  std::string cause_ = "not_known";
  Number sweep_gbps_;
  double sweep_bytes_ = 0;
  const PairLink* slowest_ = nullptr;  ///< of those in use
  std::vector<Hop> hops_;
};

}  // namespace

bool stalls(const Cell& cell, const LaunchRecord& record) {
  if (cell.stall_alarm <= 0 || cell.ddp.ranks < 2) return false;
  const auto stall = record.metrics.find("stall_ratio");
  if (stall == record.metrics.end() || !stall->second.value || *stall->second.value <= cell.stall_alarm) return false;
  const auto overhead = record.metrics.find("trace_overhead");
  const bool slowed = overhead != record.metrics.end() && overhead->second.value.value_or(1) > tracer_slows_above;
  const auto untraced = loose::number(loose::part(record.detail, "timeline"), "stall_of_untraced");
  return !slowed || untraced.value_or(*stall->second.value) > cell.stall_alarm;
}

Json check_topology(const Cell& cell, const LaunchRecord& record, const TopologyFacts& facts) {
  return Check(cell, record, facts).make();
}

}  // namespace stepgauge::summary
