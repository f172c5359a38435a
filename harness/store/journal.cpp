#include "store/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include "store/detail/append.hpp"

namespace stepgauge::store {
namespace {

constexpr std::size_t max_journal_bytes = std::size_t{4} << 30;

}  // namespace

JournalScan scan_records(std::string_view text, const std::string& origin, std::size_t first_line) {
  JournalScan scan;
  std::size_t begin = 0;
  for (std::size_t line = first_line; begin < text.size(); ++line) {
    const auto end = text.find('\n', begin);
    if (end == std::string_view::npos) {
      scan.torn = std::string(text.substr(begin));
      break;
    }
    const auto where = fmt::format("{}:{}", origin, line);
    scan.records.push_back(launch_record_from_json(parse_json(text.substr(begin, end - begin), where), where));
    begin = end + 1;
  }
  scan.intact_bytes = begin;
  return scan;
}

JournalScan scan_journal(const std::filesystem::path& path) {
  return scan_records(read_text_file(path, max_journal_bytes), path.string());
}

Journal::Journal(const std::filesystem::path& path)
    : path_(path), file_(detail::open_file(path, O_WRONLY | O_CREAT | O_APPEND, "cannot open the journal")) {}

void Journal::append(const LaunchRecord& record) {
  detail::append_durably(file_, path_, dump_line(to_json(record)) + "\n");
}

void Journal::cut(std::uint64_t bytes, std::string_view torn) {
  detail::cut_torn(file_, path_, bytes, torn);
}

}  // namespace stepgauge::store
