#include "replay/detail/nccl_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "replay/detail/text_log.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr std::string_view info = "NCCL INFO ";
constexpr std::size_t most_communicators = 100'000;  ///< of one process

std::string_view word_behind(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return {};
  const auto word = text.substr(at + name.size());
  return word.substr(0, word.find_first_of(" \t\r\n"));
}

/// "HOST:PID:TID [DEV] " before "NCCL INFO", however much stands before it.
struct Place {
  std::string host, device;
  std::int64_t pid = 0;
};

std::optional<Place> place_of(std::string_view head) {
  while (head.ends_with(' ')) head.remove_suffix(1);
  const auto bracket = head.rfind('[');
  if (!head.ends_with(']') || bracket == std::string_view::npos) return std::nullopt;
  Place out;
  out.device = head.substr(bracket + 1, head.size() - bracket - 2);
  head = head.substr(0, bracket);
  while (head.ends_with(' ')) head.remove_suffix(1);
  const auto space = head.find_last_of(" \t");
  auto ids = space == std::string_view::npos ? head : head.substr(space + 1);
  const auto thread = ids.rfind(':');
  if (thread == std::string_view::npos) return std::nullopt;
  ids = ids.substr(0, thread);
  const auto process = ids.rfind(':');
  if (process == std::string_view::npos) return std::nullopt;
  const auto pid = number_behind(ids.substr(process), ":");
  if (!pid) return std::nullopt;
  // What others wrote before the host without a space, e.g. "[rank0]:".
  auto host = ids.substr(0, process);
  if (const auto end = host.find_last_of("]>:"); end != std::string_view::npos) host.remove_prefix(end + 1);
  out.host = host;
  out.pid = *pid;
  return out;
}

}  // namespace

void NcclLines::line(std::string_view line, const LineReader& lines, std::optional<std::int64_t> rank) {
  const auto at = line.find(info);
  const auto text = line.substr(at + info.size());
  const bool is_call = text.find(": opCount ") != std::string_view::npos;
  if (!is_call && text.find(" nranks ") == std::string_view::npos) return;
  const auto place = place_of(line.substr(0, at));
  if (!place) {
    if (is_call) into_.unread(lines.path(), lines.number(), "expected HOST:PID:TID [DEVICE] before NCCL INFO");
    return;
  }
  auto& process = processes_[{place->host, {place->pid, place->device}}];
  if (process.origin.empty()) process.origin = lines.path();
  if (rank) process.rank = rank;
  if (is_call) {
    call(process, line, text, lines);
  } else {
    initialised(process, text);
  }
}

/// "ncclCommInitRankConfig comm 0x55 rank 0 nranks 2 cudaDev 0 ... commId 0xab - Init COMPLETE"
void NcclLines::initialised(Process& process, std::string_view text) {
  const auto name = word_behind(text, "comm ");
  const auto rank = number_behind(text, " rank ");
  const auto ranks = number_behind(text, " nranks ");
  if (name.empty() || !rank || !ranks || *rank >= *ranks || process.communicators.size() > most_communicators) return;
  auto [at, is_new] = process.communicators.try_emplace(std::string(name));
  if (is_new) at->second.order = process.communicators.size();
  at->second.rank = *rank;
  at->second.ranks = *ranks;
  if (const auto id = word_behind(text, " commId "); !id.empty()) at->second.id = id;
}

void NcclLines::call(Process& process, std::string_view line, std::string_view text, const LineReader& lines) {
  const auto op_count = number_behind(text, ": opCount ", 16);
  const auto count = number_behind(text, " count ");
  const auto datatype = number_behind(text, " datatype ");
  const auto ranks = number_behind(text, "[nranks=");
  const auto name = word_behind(text, " comm ");
  if (!op_count || !count || !datatype || !ranks || name.empty() || process.communicators.size() > most_communicators) {
    return into_.unread(lines.path(), lines.number(), "expected opCount, count, datatype, comm and nranks");
  }
  if (const auto global = number_behind(line, " globalrank ")) process.rank = global;
  Op op;
  op.kind = kind_from(text.substr(0, text.find(':')));
  op.count = *count;
  op.dtype = dtype_from_nccl(*datatype);
  const auto size = dtype_bytes(op.dtype);
  if (size > 0 && __builtin_mul_overflow(op.count, size, &op.bytes)) op.bytes = not_known;
  auto [at, is_new] = process.communicators.try_emplace(std::string(name));
  auto& communicator = at->second;
  if (is_new) communicator.order = process.communicators.size();
  communicator.ranks = *ranks;
  const auto index = into_.intern(op);
  // Messages are counted by NCCL too, by other ranks not: they have no place in the order.
  if (communicator.ops.empty() && !point_to_point(op.kind)) communicator.first_count = *op_count;
  communicator.ops.push_back(index);
}

std::int64_t NcclLines::own_rank(const Process& process) {
  std::int64_t largest = 0, rank = -1;
  for (const auto& [name, communicator] : process.communicators) {
    if (communicator.rank >= 0 && communicator.ranks > largest) {
      largest = communicator.ranks;
      rank = communicator.rank;
    }
  }
  return process.rank.value_or(rank);
}

void NcclLines::give(const Process& process, std::int64_t rank) {
  std::int64_t world_size = 0;
  for (const auto& [name, communicator] : process.communicators) {
    world_size = std::max(world_size, communicator.ranks);
    if (communicator.ops.empty()) continue;
    const auto group = communicator.id.empty()
                           ? fmt::format("nccl communicator {} of {} ranks", communicator.order, communicator.ranks)
                           : fmt::format("nccl {}", communicator.id);
    auto& stream = into_.stream(rank, group, process.origin);
    into_.group_size(group, communicator.ranks);
    auto sequence = communicator.first_count;
    for (const auto op : communicator.ops) {
      const bool message = point_to_point(into_.op(op).kind);
      into_.add(stream, message ? 0 : sequence++, op, not_known, not_known);
    }
  }
  into_.world_size(world_size);
}

void NcclLines::finish() {
  std::set<std::int64_t> taken;
  std::vector<const Process*> nameless;
  for (const auto& [key, process] : processes_) {
    const auto rank = own_rank(process);
    if (rank < 0 || !taken.insert(rank).second) {
      nameless.push_back(&process);
    } else {
      give(process, rank);
    }
  }
  if (nameless.empty()) return;
  into_.note(fmt::format(
      "{}: nothing says which rank {} of NCCL's processes are (lines of its initialisation would); they are numbered "
      "by host and process",
      nameless.front()->origin, nameless.size()));
  std::int64_t rank = 0;
  for (const auto* process : nameless) {
    while (!taken.insert(rank).second) ++rank;
    give(*process, rank);
  }
}

}  // namespace stepgauge::replay::detail
