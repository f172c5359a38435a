#include "store/history_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/detail/append.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::store {
namespace {

constexpr std::size_t max_history_bytes = std::size_t{4} << 30;

bool is_conflict_mark(std::string_view line) {
  return line.substr(0, 7) == "<<<<<<<" || line.substr(0, 7) == "=======" || line.substr(0, 7) == ">>>>>>>";
}

[[noreturn]] void fail_damaged(const std::string& where, const std::filesystem::path& path, const std::string& what) {
  throw ContractError(
      fmt::format("{}; nothing was changed. Put the line back (git log -p -- {}) or take it out: every line stands on "
                  "its own",
                  what.rfind(where, 0) == 0 ? what : where + ": " + what, path.string()));
}

/// By an entry that is no night itself.
std::vector<std::string> nights_named_by(const HistoryEntry& entry) {
  if (const auto* item = std::get_if<Acknowledgement>(&entry)) return {item->night};
  if (const auto* pin = std::get_if<Pin>(&entry)) return {pin->night};
  if (const auto* item = std::get_if<Confirmation>(&entry)) return {item->last_good.night, item->first_bad.night};
  return {};
}

/// Takes the lines of a file one by one.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    out_.path = path;
    out_.slug = path.parent_path().filename().string();
    out_.suite = path.stem().string();
  }

  void take(std::string_view text, std::size_t line) {
    const auto where = fmt::format("{}:{}", out_.path.string(), line);
    if (is_conflict_mark(text)) {
      throw ContractError(
          fmt::format("{}: a conflict mark of git; take the marks out and keep the lines of both sides "
                      "(\"*.jsonl merge=union\" in .gitattributes does it)",
                      where));
    }
    Json value;
    try {
      value = parse_json(text, where);
    } catch (const ContractError& error) {
      fail_damaged(where, out_.path, error.what());
    }
    take(history_entry_from_json(value, where), where, line);
  }

  History finish() {
    for (const auto& [night, where] : named_) {
      if (out_.lines.count(night) == 0) {
        throw ContractError(
            fmt::format("{}: night \"{}\" is not in the file; put its line back or take this one out", where, night));
      }
    }
    note_backwards();
    std::stable_sort(out_.nights.begin(), out_.nights.end(),
                     [](const Night& a, const Night& b) { return a.tip.created_at < b.tip.created_at; });
    return std::move(out_);
  }

  History& history() { return out_; }

 private:
  void take(HistoryEntry entry, const std::string& where, std::size_t line) {
    for (auto& night : nights_named_by(entry)) named_.emplace_back(std::move(night), where);
    if (auto* night = std::get_if<Night>(&entry)) take_night(std::move(*night), where, line);
    if (auto* item = std::get_if<Acknowledgement>(&entry)) out_.acknowledgements.push_back(std::move(*item));
    if (auto* pin = std::get_if<Pin>(&entry)) out_.pins.push_back(std::move(*pin));
    if (auto* measured = std::get_if<Confirmation>(&entry)) out_.confirmations.push_back(std::move(*measured));
  }

  void take_night(Night night, const std::string& where, std::size_t line) {
    const auto slug = fingerprint_slug(night.fingerprint);
    if (slug != out_.slug || night.suite != out_.suite) {
      throw ContractError(
          fmt::format("{}: a night of suite \"{}\" on {}; it belongs to {}", where, night.suite, slug,
                      (out_.path.parent_path().parent_path() / slug / (night.suite + ".jsonl")).string()));
    }
    const auto [known, fresh] = out_.lines.emplace(night.tip.run, line);
    if (!fresh) {
      const auto* first = out_.find(night.tip.run);
      auto copy = night;
      copy.added_at = first->added_at;
      if (to_json(HistoryEntry(copy)) != to_json(HistoryEntry(*first))) {
        throw ContractError(
            fmt::format("{}: run {} stands in line {} already with other contents; take one of the two "
                        "lines out",
                        where, night.tip.run, known->second));
      }
      out_.notes.push_back(
          fmt::format("{}: run {} stands in line {} already and counts once", where, night.tip.run, known->second));
      return;
    }
    out_.nights.push_back(std::move(night));
  }

  void note_backwards() {
    const Night* latest = nullptr;
    for (const auto& night : out_.nights) {
      if (latest != nullptr && night.tip.created_at < latest->tip.created_at) {
        out_.notes.push_back(
            fmt::format("{}:{}: the clock went backwards: {} ({}) stands after {} ({}); nights count in order of time",
                        out_.path.string(), out_.lines.at(night.tip.run), night.tip.run, night.tip.created_at,
                        latest->tip.run, latest->tip.created_at));
      } else {
        latest = &night;
      }
    }
  }

  History out_;
  std::vector<std::pair<std::string, std::string>> named_;  ///< night, FILE:LINE that names it
};

bool is_whole(std::string_view text) {
  return Json::accept(text);
}

detail::File open_locked(const std::filesystem::path& path, double patience_s) {
  auto file = detail::open_locked(path, patience_s, "the history");
  if (!file) {
    throw HistoryConflict(
        fmt::format("{}: another process has been writing for {} s; nothing was added, try again when it has ended",
                    path.string(), patience_s));
  }
  return std::move(*file);
}

void require_new(const History& history, const Night& night, bool late) {
  if (const auto known = history.lines.find(night.tip.run); known != history.lines.end()) {
    throw HistoryConflict(fmt::format("{}:{}: run {} was added already; nothing was added", history.path.string(),
                                      known->second, night.tip.run));
  }
  if (history.nights.empty() || late) return;
  const auto& last = history.nights.back().tip;
  if (night.tip.created_at < last.created_at) {
    throw HistoryConflict(
        fmt::format("{}:{}: the last night is of {}, this one of {}: the clock went backwards, or the night comes "
                    "late; with --late "
                    "it takes its place by its time",
                    history.path.string(), history.lines.at(last.run), last.created_at, night.tip.created_at));
  }
}

void require_fits(const History& history, const HistoryEntry& entry, bool late) {
  if (const auto* night = std::get_if<Night>(&entry)) return require_new(history, *night, late);
  for (const auto& named : nights_named_by(entry)) {
    if (history.lines.count(named) == 0) {
      throw HistoryConflict(fmt::format("{}: no night \"{}\"; nothing was added", history.path.string(), named));
    }
  }
}

}  // namespace

const Night* History::find(std::string_view run) const {
  const auto found =
      std::find_if(nights.begin(), nights.end(), [&](const Night& night) { return night.tip.run == run; });
  return found == nights.end() ? nullptr : &*found;
}

History parse_history(std::string_view text, const std::filesystem::path& path) {
  Reader reader(path);
  std::size_t begin = 0;
  for (std::size_t line = 1; begin < text.size(); ++line) {
    const auto end = text.find('\n', begin);
    const auto rest = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    if (end == std::string_view::npos && !is_whole(rest)) {
      reader.history().torn = std::string(rest);
      reader.history().notes.push_back(
          fmt::format("{}:{}: the last line is cut off ({} bytes) and left out; add the run again: what is left of the "
                      "line is then kept in {}.torn",
                      path.string(), line, rest.size(), path.string()));
      break;
    }
    reader.take(rest, line);
    reader.history().ends_line = end != std::string_view::npos;
    begin = end == std::string_view::npos ? text.size() : end + 1;
  }
  reader.history().intact_bytes = begin;
  return reader.finish();
}

History read_history(const std::filesystem::path& path) {
  return parse_history(read_text_file(path, max_history_bytes), path);
}

void append_history(const std::filesystem::path& path, const HistoryEntry& entry, const AppendOptions& options) {
  const auto line = dump_line(to_json(entry));
  history_entry_from_json(parse_json(line, path.string()), path.string());  // never a line that cannot be read again
  const auto file = open_locked(path, options.patience_s);
  const auto history = read_history(path);
  require_fits(history, entry, options.late);
  if (!history.torn.empty()) detail::cut_torn(file, path, history.intact_bytes, history.torn);
  detail::append_durably(file, path, (history.ends_line ? "" : "\n") + line + "\n");
}

}  // namespace stepgauge::store
