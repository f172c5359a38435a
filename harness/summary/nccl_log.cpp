#include "summary/nccl_log.hpp"

namespace stepgauge::summary {
namespace {

std::string_view next_word(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return text = {};
  const auto end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
  const auto word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

/// "1[2]" -> "1"
std::string rank_of(std::string_view place) {
  return std::string(place.substr(0, place.find('[')));
}

}  // namespace

std::vector<NcclChannel> nccl_channels(std::string_view log) {
  std::vector<NcclChannel> channels;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    auto line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    const auto via = line.find(" via ");
    const auto channel = line.find("Channel ");
    const auto colon = line.find(" : ", channel == std::string_view::npos ? 0 : channel);
    if (channel == std::string_view::npos || via == std::string_view::npos || colon >= via) continue;
    auto pair = line.substr(colon + 3, via - colon - 3);
    const auto from = next_word(pair);
    const auto arrow = next_word(pair);
    const auto to = next_word(pair);
    auto rest = line.substr(via + 5);
    const auto transport = next_word(rest);
    if (arrow != "->" || to.empty() || transport.empty()) continue;
    channels.push_back({rank_of(from), rank_of(to), std::string(transport)});
  }
  return channels;
}

std::string transport_family(const std::string& transport) {
  if (transport.starts_with("P2P")) return "p2p";
  if (transport.starts_with("SHM")) return "shm";
  if (transport.starts_with("NET/Socket")) return "socket";
  if (transport.starts_with("NET/IB")) return "ib";
  return transport;
}

std::map<std::string, int> transports_used(const std::vector<NcclChannel>& channels) {
  std::map<std::string, int> out;
  for (const auto& channel : channels) ++out[transport_family(channel.transport)];
  return out;
}

}  // namespace stepgauge::summary
