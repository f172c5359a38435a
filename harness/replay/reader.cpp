#include "replay/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "contract/json_io.hpp"
#include "contract/plural.hpp"
#include "replay/detail/flight_recorder.hpp"
#include "replay/detail/line_reader.hpp"
#include "replay/detail/log_builder.hpp"
#include "replay/detail/own_format.hpp"
#include "replay/detail/text_log.hpp"
#include "trace/reader.hpp"

namespace stepgauge::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t shown_complaints = 3;
constexpr std::size_t binary_bytes = 4096;

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) {
      throw ContractError(fmt::format("{}: no such file or folder; expected logs of collectives", path));
    }
    if (!fs::is_directory(status)) {
      out.push_back(path);
      continue;
    }
    const auto begin = out.size();
    fs::directory_iterator entries(path, error);
    if (error) throw ContractError(fmt::format("{}: cannot open: {}", path, error.message()));
    for (const auto& entry : entries) {
      const auto name = entry.path().filename().string();
      if (!name.starts_with('.') && entry.is_regular_file(error) && entry.file_size(error) > 0)
        out.push_back(entry.path().string());
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
  }
  return out;
}

/// "rank3.log", "nccl_trace_rank_3", "dump-rank-3.json"; else the last number of the name, "trace_3.pkl".
std::optional<std::int64_t> rank_in_name(const std::string& path, bool any_number) {
  const auto name = fs::path(path).filename().string();
  const std::string_view text(name);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (auto at = text.rfind("rank"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind("rank", at - 1)) {
    auto behind = text.substr(at + 4);
    if (!behind.empty() && (behind[0] == '_' || behind[0] == '-')) behind.remove_prefix(1);
    if (const auto rank = detail::number_behind(behind, "")) return rank;
  }
  if (!any_number) return std::nullopt;
  const auto stem = text.substr(0, text.rfind('.'));
  const auto last = std::find_if(stem.rbegin(), stem.rend(), is_digit);
  if (last == stem.rend()) return std::nullopt;
  const auto first = std::find_if_not(last, stem.rend(), is_digit);
  return detail::number_behind(stem.substr(static_cast<std::size_t>(stem.rend() - first)), "");
}

std::int64_t rank_of_dump(const std::string& path) {
  if (const auto rank = rank_in_name(path, true)) return *rank;
  throw ContractError(
      fmt::format("{}: a flight recorder's dump does not say its rank; expected it in the name, e.g. {}_rank_0", path,
                  fs::path(path).filename().string()));
}

class Files {
 public:
  explicit Files(const ReadLimits& limits) : builder_(limits), text_(builder_) {}

  void read(const std::string& path) {
    const auto before = builder_.records();
    try {
      dispatch(path);
    } catch (const trace::TraceError& error) {
      complain(error.what());
    } catch (const ContractError& error) {
      if (builder_.records() > builder_.limits().records) throw;
      complain(error.what());
    }
    if (builder_.records() > before) builder_.count_file();
  }

  CollectiveLog finish() {
    text_.finish();
    for (std::size_t i = 0; i < std::min(complaints_.size(), shown_complaints); ++i) builder_.note(complaints_[i]);
    if (complaints_.size() > shown_complaints) {
      builder_.note(fmt::format("... and {} more files that could not be read", complaints_.size() - shown_complaints));
    }
    return builder_.finish();
  }

 private:
  void complain(std::string text) { complaints_.push_back(std::move(text)); }
  void dispatch(const std::string& path);

  detail::LogBuilder builder_;
  detail::TextLogs text_;
  std::vector<std::string> complaints_;
};

void Files::dispatch(const std::string& path) {
  detail::LineReader lines(path);
  const auto beginning = lines.beginning();
  const auto first_line = beginning.substr(0, beginning.find('\n'));
  if (first_line.starts_with('{') && first_line.find(detail::own_schema) != std::string_view::npos) {
    detail::read_own_format(lines, builder_);
  } else if (beginning.size() > 1 && beginning[0] == '\x80' && beginning[1] >= 2 && beginning[1] <= 5) {
    detail::read_flight_recorder_pickle(path, rank_of_dump(path), builder_);
  } else if (detail::is_flight_recorder_json(beginning)) {
    detail::read_flight_recorder_json(path, rank_of_dump(path), builder_);
  } else if (beginning.substr(0, binary_bytes).find('\0') == std::string_view::npos) {
    if (path.ends_with(".collectives.jsonl")) {
      complain(fmt::format("{}:1: expected the header of a collective log, {{\"schema\":\"{}\",...}}", path,
                           detail::own_schema));
    }
    text_.read(lines, rank_in_name(path, false));
  }
}

[[noreturn]] void nothing(const std::vector<std::string>& paths, std::size_t files, const CollectiveLog& log) {
  auto text = fmt::format("no collective found in {} of {}", plural(files, "file"), fmt::join(paths, ", "));
  for (std::size_t i = 0; i < std::min(log.notes.size(), shown_complaints); ++i) text += "\n  " + log.notes[i];
  if (log.unread_lines > 0) {
    text += fmt::format("\n  {} lines not understood, first: {}", log.unread_lines, log.first_unread);
  }
  text +=
      "\n  expected rank<N>.collectives.jsonl, a flight recorder's dump (JSON or pickle), or what "
      "TORCH_DISTRIBUTED_DEBUG=DETAIL or NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL print";
  throw NothingUsable(text);
}

}  // namespace

CollectiveLog read_logs(const std::vector<std::string>& paths, const ReadLimits& limits) {
  const auto files = files_of(paths);
  Files reader(limits);
  for (const auto& file : files) reader.read(file);
  auto log = reader.finish();
  if (log.groups.empty()) nothing(paths, files.size(), log);
  return log;
}

}  // namespace stepgauge::replay
