#include "summary/communication_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "contract/loose_json.hpp"

namespace stepgauge::summary {
namespace {

constexpr double kib = 1024, mib = 1024 * kib;

/// "auto" takes what there is; P2P switched off may end in shared memory or, without it, in sockets. P2P that is
/// allowed over NVLink alone is NVLink's.
bool transport_took(const std::string& asked, const std::map<std::string, int>& used) {
  if (asked == "auto") return true;
  if (asked == "p2p_off") return used.count("p2p") == 0;
  return used.size() == 1 && used.count(asked == "nvlink" ? "p2p" : asked) == 1;
}

/// "0->1, 1->0": the pairs of ranks that a family of transports joins.
std::string pairs_of(const std::vector<NcclChannel>& channels, const std::string& family) {
  std::set<std::string> pairs;
  for (const auto& channel : channels) {
    if (transport_family(channel.transport) == family) pairs.insert(channel.from + "->" + channel.to);
  }
  return fmt::format("{}", fmt::join(pairs, ", "));
}

Setting judge_transport(const Cell& cell, const std::vector<RankRecord>& ranks,
                        const std::vector<NcclChannel>& channels) {
  Setting out{"transport", cell.ddp.transport, "", "", false};
  out.set = variables_seen(
      ranks, {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NET", "NCCL_IB_DISABLE", "NCCL_HOSTID"});
  const auto used = transports_used(channels);
  if (used.empty()) return out;
  std::vector<std::string> parts;
  for (const auto& [family, count] : used)
    parts.push_back(fmt::format("{} ({} channels: {})", family, count, pairs_of(channels, family)));
  out.used = fmt::format("{}", fmt::join(parts, ", "));
  out.ineffective = !transport_took(cell.ddp.transport, used);
  return out;
}

std::string size_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= mib) return fmt::format("{:.4g} MiB", value / mib);
  return value >= kib ? fmt::format("{:.4g} KiB", value / kib) : fmt::format("{} B", bytes);
}

/// All-reduces alone: what a cell asks for is theirs.
std::vector<NcclChoice> all_reduces(const std::vector<NcclLog>& logs) {
  std::vector<NcclChoice> out;
  for (const auto& log : logs) {
    for (const auto& choice : log.choices) {
      if (choice.collective == "AllReduce") out.push_back(choice);
    }
  }
  return out;
}

/// "ring (312 all-reduces of 4 B to 100 MiB), tree (...)".
Setting judge_choice(const char* name, const std::string& asked, const std::string& set,
                     const std::vector<NcclChoice>& choices, std::string NcclChoice::*value) {
  Setting out{name, asked.empty() ? "auto" : asked, set, "", false};
  std::map<std::string, NcclChoice> by_value;
  for (const auto& choice : choices) {
    const auto [found, is_new] = by_value.try_emplace(choice.*value, choice);
    if (!is_new) found->second.take_in(choice);
  }
  std::vector<std::string> parts;
  for (const auto& [text, sum] : by_value)
    parts.push_back(fmt::format("{} ({} all-reduces of {} to {})", text, sum.count, size_text(sum.smallest_bytes),
                                size_text(sum.largest_bytes)));
  out.used = fmt::format("{}", fmt::join(parts, ", "));
  out.ineffective = !asked.empty() && !by_value.empty() && (by_value.size() > 1 || !by_value.contains(asked));
  return out;
}

Setting judge_channels(const Cell& cell, const std::vector<RankRecord>& ranks, const std::vector<NcclLog>& logs) {
  const auto asked = cell.ddp.channels;
  Setting out{"channels", asked > 0 ? std::to_string(asked) : "auto", "", "", false};
  out.set = variables_seen(ranks, {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"});
  for (const auto& log : logs) {
    if (!log.collective_channels) continue;
    out.used = std::to_string(*log.collective_channels);
    out.ineffective = out.ineffective || (asked > 0 && *log.collective_channels != asked);
    if (out.ineffective) break;
  }
  return out;
}

/// NCCL names the file that it opens, in a part of its log (GRAPH) that the shell may have switched off.
Setting judge_topology_file(const Cell& cell, const std::vector<RankRecord>& ranks, const std::vector<NcclLog>& logs) {
  Setting out{"topology_file", cell.ddp.topology_file, variables_seen(ranks, {"NCCL_TOPO_FILE"}), "", false};
  std::set<std::string> files;
  for (const auto& log : logs) files.insert(log.topology_files.begin(), log.topology_files.end());
  out.used = fmt::format("{}", fmt::join(files, ", "));
  const auto parts = variables_seen(ranks, {"NCCL_DEBUG_SUBSYS"});
  const bool would_tell = parts.find("GRAPH") != std::string::npos || parts.find("ALL") != std::string::npos;
  const auto asked = out.set.substr(out.set.find('=') + 1);
  if (logs.empty() || !would_tell || files.contains(asked) || files.contains(cell.ddp.topology_file)) return out;
  if (out.used.empty()) out.used = "no file";
  out.ineffective = true;
  return out;
}

Setting judge_interface(const Cell& cell, const std::vector<RankRecord>& ranks, const std::vector<NcclLog>& logs) {
  Setting out{"interface", cell.ddp.interface, variables_seen(ranks, {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}), "",
              false};
  std::set<std::string> names;
  for (const auto& log : logs) names.insert(log.interfaces.begin(), log.interfaces.end());
  out.used = fmt::format("{}", fmt::join(names, ", "));
  out.ineffective = !names.empty() && (names.size() > 1 || !names.contains(cell.ddp.interface));
  return out;
}

}  // namespace

std::string variables_seen(const std::vector<RankRecord>& ranks, const std::vector<const char*>& names) {
  if (ranks.empty()) return "";
  const auto& seen = loose::part(ranks.front(), "environment");
  std::vector<std::string> out;
  for (const auto* name : names) {
    if (const auto& value = loose::part(seen, name); value.is_string())
      out.push_back(fmt::format("{}={}", name, value.get<std::string>()));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

std::vector<Setting> judge_communication(const Cell& cell, const std::vector<RankRecord>& ranks,
                                         const std::vector<NcclLog>& logs) {
  std::vector<Setting> out;
  const auto& ddp = cell.ddp;
  if (ddp.backend == "nccl") {
    out.push_back(judge_transport(cell, ranks, all_channels(logs)));
    const auto choices = all_reduces(logs);
    std::vector<Setting> chosen{
        judge_choice("algorithm", ddp.algorithm, variables_seen(ranks, {"NCCL_ALGO"}), choices, &NcclChoice::algorithm),
        judge_choice("protocol", ddp.protocol, variables_seen(ranks, {"NCCL_PROTO"}), choices, &NcclChoice::protocol),
        judge_channels(cell, ranks, logs)};
    for (auto& setting : chosen) {
      if (setting.asked != "auto" || !setting.used.empty()) out.push_back(std::move(setting));
    }
    if (!ddp.topology_file.empty()) out.push_back(judge_topology_file(cell, ranks, logs));
  }
  if (!ddp.interface.empty()) out.push_back(judge_interface(cell, ranks, logs));
  return out;
}

}  // namespace stepgauge::summary
