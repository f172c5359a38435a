#include "summary/nccl_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "contract/lower_case.hpp"

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

/// Behind the mark; empty where the line does not have it.
std::string_view behind(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}

bool take(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

template <typename Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value) || value < 0) return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

std::optional<NcclChannel> channel_of(std::string_view line) {
  const auto via = line.find(" via ");
  const auto channel = line.find("Channel ");
  const auto colon = line.find(" : ", channel == std::string_view::npos ? 0 : channel);
  if (channel == std::string_view::npos || via == std::string_view::npos || colon >= via) return std::nullopt;
  auto pair = line.substr(colon + 3, via - colon - 3);
  const auto from = next_word(pair);
  const auto arrow = next_word(pair);
  const auto to = next_word(pair);
  auto rest = line.substr(via + 5);
  const auto transport = next_word(rest);
  if (arrow != "->" || to.empty() || transport.empty()) return std::nullopt;
  return NcclChannel{rank_of(from), rank_of(to), std::string(transport)};
}

/// Also the older "Init timings: rank 2 ...".
std::optional<NcclInit> init_of(std::string_view line) {
  auto text = behind(line, "Init timings");
  text = behind(text, ": rank ");
  NcclInit out;
  if (!take_number(text, out.rank) || !take(text, " nranks ") || !take_number(text, out.ranks) ||
      !take(text, " total ") || !take_number(text, out.total_s) || !take(text, " ("))
    return std::nullopt;
  for (;;) {
    const auto name = text.substr(0, text.find_first_of(" ,)"));
    text.remove_prefix(name.size());
    double seconds = 0;
    if (name.empty() || !take(text, " ") || !take_number(text, seconds)) return std::nullopt;
    out.parts_s[std::string(name)] = seconds;
    if (take(text, ")")) return out;
    if (!take(text, ", ")) return std::nullopt;
  }
}

std::optional<NcclChoice> choice_of(std::string_view line) {
  const auto mark = line.find(" Bytes -> Algo ");
  if (mark == std::string_view::npos) return std::nullopt;
  const auto colon = line.rfind(": ", mark);
  if (colon == std::string_view::npos) return std::nullopt;
  const auto space = line.rfind(' ', colon);
  NcclChoice out;
  out.collective = std::string(line.substr(space == std::string_view::npos ? 0 : space + 1,
                                           colon - (space == std::string_view::npos ? 0 : space + 1)));
  auto bytes = line.substr(colon + 2, mark - colon - 2);
  auto text = behind(line, " Bytes -> Algo ");
  out.algorithm = lower_case(next_word(text));
  const bool proto = next_word(text) == "proto";
  out.protocol = lower_case(next_word(text));
  int low = 0, high = -1;
  if (!take_number(bytes, out.smallest_bytes) || !bytes.empty() || !proto || !take(text, " channel{Lo..Hi}={") ||
      !take_number(text, low) || !take(text, "..") || !take_number(text, high) || !take(text, "}") || high < low)
    return std::nullopt;
  out.largest_bytes = out.smallest_bytes;
  out.channels = high - low + 1;
  out.count = 1;
  return out;
}

void add(std::vector<NcclChoice>& choices, NcclChoice&& one) {
  for (auto& known : choices) {
    if (known.collective != one.collective || known.algorithm != one.algorithm || known.protocol != one.protocol ||
        known.channels != one.channels)
      continue;
    return known.take_in(one);
  }
  choices.push_back(std::move(one));
}

void add_once(std::vector<std::string>& all, std::string_view one) {
  if (!one.empty() && std::find(all.begin(), all.end(), one) == all.end()) all.emplace_back(one);
}

/// "[0]eth0:10.0.0.1<0> [1]ib0:...": the names.
void add_interfaces(std::vector<std::string>& names, std::string_view text) {
  for (auto word = next_word(text); !word.empty(); word = next_word(text)) {
    const auto bracket = word.find(']');
    if (!word.starts_with('[') || bracket == std::string_view::npos) continue;
    const auto name = word.substr(bracket + 1);
    add_once(names, name.substr(0, name.find(':')));
  }
}

std::optional<int> collective_channels_of(std::string_view line) {
  const auto mark = line.find(" coll channels, ");
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  const auto space = line.rfind(' ', mark - 1);
  auto number = line.substr(space == std::string_view::npos ? 0 : space + 1);
  int value = 0;
  if (!take_number(number, value) || value < 0) return std::nullopt;
  return value;
}

/// "NCCL_ALGO set by environment to Ring": the name stands before the mark.
void add_variable(std::map<std::string, std::string>& variables, std::string_view line) {
  constexpr std::string_view mark = " set by environment to ";
  const auto at = line.find(mark);
  if (at == std::string_view::npos || at == 0) return;
  const auto space = line.rfind(' ', at - 1);
  const auto name = line.substr(space == std::string_view::npos ? 0 : space + 1,
                                at - (space == std::string_view::npos ? 0 : space + 1));
  auto value = trimmed(line.substr(at + mark.size()));
  // Numbers end with the sentence's full stop.
  if (value.ends_with('.') && value.find_first_not_of("-0123456789.") == std::string_view::npos) value.remove_suffix(1);
  if (name.starts_with("NCCL_")) variables[std::string(name)] = std::string(value);
}

template <typename Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void NcclChoice::take_in(const NcclChoice& other) {
  count += other.count;
  smallest_bytes = std::min(smallest_bytes, other.smallest_bytes);
  largest_bytes = std::max(largest_bytes, other.largest_bytes);
}

NcclLog read_nccl_log(std::string_view log) {
  NcclLog out;
  each_line(log, [&](std::string_view line) {
    if (auto channel = channel_of(line)) return out.channels.push_back(std::move(*channel));
    if (auto choice = choice_of(line)) return add(out.choices, std::move(*choice));
    if (auto init = init_of(line)) return out.inits.push_back(std::move(*init));
    if (const auto channels = collective_channels_of(line)) out.collective_channels = channels;
    if (auto network = behind(line, "NCCL INFO Using network "); !network.empty()) out.network = next_word(network);
    if (const auto devices = behind(line, "NET/Socket : Using "); !devices.empty())
      add_interfaces(out.interfaces, devices);
    if (const auto file = behind(line, "Loading topology file "); !file.empty())
      add_once(out.topology_files, trimmed(file));
    add_variable(out.variables, line);
  });
  return out;
}

std::vector<NcclChannel> nccl_channels(std::string_view log) {
  return read_nccl_log(log).channels;
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

std::vector<NcclChannel> all_channels(const std::vector<NcclLog>& logs) {
  std::vector<NcclChannel> out;
  for (const auto& log : logs) out.insert(out.end(), log.channels.begin(), log.channels.end());
  return out;
}

}  // namespace stepgauge::summary
