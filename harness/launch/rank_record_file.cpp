#include "launch/rank_record_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>

#include "launch/text.hpp"

namespace stepgauge::launch {
namespace {

constexpr std::size_t max_record_bytes = 64u << 20;
constexpr int max_depth = 200;

/// Deep nesting would exhaust the stack of whoever walks the parsed document.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

void require_place(const RankRecord& record, const Cell& cell, int launch, int rank) {
  if (record.cell_hash != cell.hash) {
    throw ContractError(fmt::format("it is of another cell: hash \"{}\" (cell \"{}\"), expected \"{}\"",
                                    record.cell_hash, record.cell_id, cell.hash));
  }
  if (record.launch != launch) {
    throw ContractError(fmt::format("it is of launch {}, expected {}", record.launch, launch));
  }
  if (record.rank != rank) throw ContractError(fmt::format("it is of rank {}, expected {}", record.rank, rank));
  if (record.world_size != cell.ddp.ranks) {
    throw ContractError(fmt::format("its world size is {}, expected {}", record.world_size, cell.ddp.ranks));
  }
}

}  // namespace

RankRecordFile read_rank_record(const std::filesystem::path& path, const Cell& cell, int launch, int rank) {
  RankRecordFile out;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    out.error = no_record;
    return out;
  }
  out.written_unix_s = static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
  try {
    const auto text = read_text_file(path, max_record_bytes);
    const auto name = path.filename().string();
    if (text.empty()) throw ContractError(name + " is empty");
    if (too_deep(text)) throw ContractError(fmt::format("{}: nested deeper than {} levels", name, max_depth));
    auto record = rank_record_from_json(parse_json(text, name), name);
    require_place(record, cell, launch, rank);
    out.record = std::move(record);
  } catch (const std::exception& error) {
    out.error = printable(error.what());
  }
  return out;
}

}  // namespace stepgauge::launch
