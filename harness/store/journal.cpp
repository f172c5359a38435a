#include "store/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace stepgauge::store {
namespace {

constexpr std::size_t max_journal_bytes = std::size_t{4} << 30;

void write_all(const detail::File& file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) detail::throw_errno(path, "cannot write");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void sync(const detail::File& file, const std::filesystem::path& path) {
  if (::fsync(file.get()) != 0 && errno != EINVAL) detail::throw_errno(path, "cannot fsync");
}

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
  const auto line = dump_line(to_json(record)) + "\n";
  const auto before = ::lseek(file_.get(), 0, SEEK_END);
  try {
    write_all(file_, line, path_);
    sync(file_, path_);
  } catch (const std::exception&) {
    if (before >= 0 && ::ftruncate(file_.get(), before) == 0) ::fsync(file_.get());
    throw;
  }
}

void Journal::cut(std::uint64_t bytes, std::string_view torn) {
  auto aside = path_;
  aside += ".torn";
  const auto kept = detail::open_file(aside, O_WRONLY | O_CREAT | O_APPEND, "cannot keep the torn line aside");
  write_all(kept, std::string(torn) + "\n", aside);
  sync(kept, aside);
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
    detail::throw_errno(path_, "cannot cut off the torn last line");
  }
  sync(file_, path_);
}

}  // namespace stepgauge::store
