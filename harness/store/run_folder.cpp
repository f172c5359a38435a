#include "store/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "store/detail/name.hpp"
#include "store/output_folder.hpp"

namespace stepgauge::store {
namespace {

constexpr const char* info_file = "run.json";
constexpr const char* journal_file = "records.jsonl";

/// Exclusive flock on PATH/lock with this process's id in it.
detail::File lock_folder(const std::filesystem::path& path) {
  const auto name = path / "lock";
  auto lock = detail::open_file(name, O_RDWR | O_CREAT, "cannot open the lock of the run");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) detail::throw_errno(name, "cannot lock the run");
    char holder[32] = {};
    const auto count = ::pread(lock.get(), holder, sizeof holder - 1, 0);
    std::string pid(holder, count > 0 ? static_cast<std::size_t>(count) : 0);
    while (!pid.empty() && (pid.back() < '0' || pid.back() > '9')) pid.pop_back();
    throw RunConflict(
        fmt::format("{}: another run works in this folder (process {})", path.string(), pid.empty() ? "unknown" : pid));
  }
  const auto pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    detail::throw_errno(name, "cannot write the lock of the run");
  }
  return lock;
}

RunInfo read_info(const std::filesystem::path& path) {
  const auto file = path / info_file;
  if (!std::filesystem::exists(file)) {
    if (std::filesystem::exists(path / "head" / info_file)) {
      throw ContractError(fmt::format("{0}: is a gate; its runs are {0}/base and {0}/head", path.string()));
    }
    throw ContractError(fmt::format("{}: holds no run ({} is missing)", path.string(), info_file));
  }
  return run_info_from_json(parse_json(read_text_file(file), file.string()), file.string());
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path, RunInfo info) : path_(std::move(path)), info_(std::move(info)) {
  for (std::size_t i = 0; i < info_.cells.size(); ++i) places_.emplace(info_.cells[i].id, i);
}

RunFolder RunFolder::create(const std::filesystem::path& path, RunInfo info) {
  make_output_folder(path);
  auto lock = lock_folder(path);
  if (std::filesystem::exists(path / info_file) || std::filesystem::exists(path / journal_file)) {
    throw RunConflict(fmt::format("{} holds a run already; --resume continues it", path.string()));
  }
  RunFolder run(path, std::move(info));
  run.lock_ = std::move(lock);
  detail::make_folders(path / "launches");
  write_text_file(path / info_file, dump_pretty(to_json(run.info_)));
  run.journal_.emplace(path / journal_file);
  detail::sync_folder(path);
  return run;
}

RunFolder RunFolder::resume(const std::filesystem::path& path) {
  auto info = read_info(path);
  RunFolder run(path, std::move(info));
  run.lock_ = lock_folder(path);
  run.journal_.emplace(path / journal_file);
  auto scan = scan_journal(path / journal_file);
  if (!scan.torn.empty()) run.journal_->cut(scan.intact_bytes, scan.torn);
  run.take(std::move(scan));
  detail::make_folders(path / "launches");
  return run;
}

RunFolder RunFolder::open(const std::filesystem::path& path) {
  RunFolder run(path, read_info(path));
  const auto journal = path / journal_file;
  if (std::filesystem::exists(journal)) run.take(scan_journal(journal));
  return run;
}

void RunFolder::take(JournalScan scan) {
  join(info_.cells, scan.records, (path_ / journal_file).string());  // every record has its cell
  records_ = std::move(scan.records);
  if (!scan.torn.empty()) torn_line_ = std::move(scan.torn);
  for (const auto& record : records_) note(record);
}

void RunFolder::note(const LaunchRecord& record) {
  auto& last = attempts_[record.cell_id][record.launch];
  last.number = std::max(last.number, record.attempt);
  last.counts = last.counts || !record.warm_up;
}

const std::size_t* RunFolder::place_of(std::string_view cell_id) const {
  const auto found = places_.find(std::string(cell_id));
  return found == places_.end() ? nullptr : &found->second;
}

void RunFolder::append(const LaunchRecord& record) {
  if (!journal_) throw std::logic_error(path_.string() + ": the run was opened for reading");
  const auto* place = place_of(record.cell_id);
  if (place == nullptr || info_.cells[*place].hash != record.cell_hash) {
    throw std::invalid_argument(fmt::format("{}: a record of cell \"{}\" ({}), which is not in the run", path_.string(),
                                            record.cell_id, record.cell_hash));
  }
  journal_->append(record);
  records_.push_back(record);
  note(record);
}

RunFolder::LastAttempt RunFolder::last_attempt(std::string_view cell_id, int launch) const {
  const auto cell = attempts_.find(std::string(cell_id));
  if (cell == attempts_.end()) return {};
  const auto found = cell->second.find(launch);
  return found == cell->second.end() ? LastAttempt{} : found->second;
}

bool RunFolder::completed(std::string_view cell_id, int launch) const {
  return last_attempt(cell_id, launch).counts;
}

bool RunFolder::begun(std::string_view cell_id) const {
  return attempts_.count(std::string(cell_id)) != 0;
}

std::string RunFolder::launch_name(const Cell& cell, int launch) const {
  const auto* place = place_of(cell.id);
  if (place == nullptr) {
    throw std::invalid_argument(fmt::format("{}: no cell \"{}\" in the run", path_.string(), cell.id));
  }
  return fmt::format("{:04}-{}-l{}a", *place + 1, detail::file_name(cell.id), launch);
}

int RunFolder::next_attempt(const Cell& cell, int launch) const {
  int attempt = last_attempt(cell.id, launch).number + 1;
  const auto name = launch_name(cell, launch);
  while (std::filesystem::exists(path_ / "launches" / (name + std::to_string(attempt)))) ++attempt;
  return attempt;
}

std::filesystem::path RunFolder::launch_folder(const Cell& cell, int launch, int attempt) const {
  const auto folder = path_ / "launches" / (launch_name(cell, launch) + std::to_string(attempt));
  detail::make_folders(folder);
  return folder;
}

ResultSet RunFolder::results() const {
  ResultSet out;
  out.name = path_.string();
  out.suite = info_.suite;
  out.created_at = info_.created_at;
  out.fingerprint = info_.fingerprint;
  out.environment = info_.environment;
  out.cells = join(info_.cells, records_, (path_ / journal_file).string());
  out.skipped = info_.skipped;
  return out;
}

}  // namespace stepgauge::store
