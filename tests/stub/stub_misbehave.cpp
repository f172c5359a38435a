#include "stub_misbehave.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <tuple>

namespace stepgauge::stub {
namespace {

constexpr std::array<std::string_view, 37> modes{"ok",
                                                 "sleep",
                                                 "die",
                                                 "segv",
                                                 "abort",
                                                 "exit3",
                                                 "hang",
                                                 "spin",
                                                 "ignore-term",
                                                 "daemon",
                                                 "daemon-ignore-term",
                                                 "daemon-hidden",
                                                 "child",
                                                 "fork-bomb-lite",
                                                 "spam",
                                                 "spam-err",
                                                 "nonsense",
                                                 "no-record",
                                                 "no-stamp",
                                                 "empty",
                                                 "half-line",
                                                 "two-records",
                                                 "nan",
                                                 "other-cell",
                                                 "other-rank",
                                                 "other-launch",
                                                 "newer-schema",
                                                 "huge",
                                                 "deep",
                                                 "folder",
                                                 "fifo",
                                                 "text",
                                                 "record-then-die",
                                                 "ok-exit3",
                                                 "oom-then-abort",
                                                 "negative-time",
                                                 "term-exit0"};

[[noreturn]] void hang_for_ever() {
  while (true) ::pause();
}

/// The grandchild of a double fork in a session of its own: it is nobody's child and keeps the pipes.
void start_daemon(bool ignore_term, bool hidden) {
  if (const pid_t child = ::fork(); child > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return;
  }
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  if (ignore_term) ::signal(SIGTERM, SIG_IGN);
  if (hidden) {
    char* const no_environment[] = {nullptr};
    ::execle("/bin/sleep", "sleep", "1000", nullptr, no_environment);
  }
  ::sleep(1000);
  ::_exit(0);
}

/// A chain of processes, each of which forks the next and ends; for at most 20 s.
void start_fork_chain() {
  if (::fork() != 0) return;
  ::setsid();
  ::signal(SIGTERM, SIG_IGN);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (::fork() > 0) ::_exit(0);
    ::usleep(500);
  }
  ::_exit(0);
}

void spam(int fd, std::int64_t mib) {
  std::string block;
  while (block.size() < (64u << 10)) block += "this line is printed again and again and says nothing at all\n";
  for (std::int64_t left = mib << 20; left > 0;) {
    const auto count = ::write(fd, block.data(), std::min<std::size_t>(block.size(), static_cast<std::size_t>(left)));
    if (count <= 0) break;
    left -= count;
  }
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

void replace_number(std::string& text, const std::string& key, const std::string& value) {
  const auto at = text.find(key);
  if (at == std::string::npos) return;
  const auto start = at + key.size();
  text.replace(start, text.find_first_of(",]}", start) - start, value);
}

void leave_broken(const std::string& mode, RankRecord record, const std::filesystem::path& path) {
  if (mode == "other-cell") record.cell_hash = "00000000";
  if (mode == "other-rank") record.rank += 1;
  if (mode == "other-launch") record.launch += 1;
  auto text = dump_line(to_json(record));
  if (mode == "half-line") text.resize(text.size() / 2);
  if (mode == "two-records") text += "\n" + text;
  if (mode == "nan") replace_number(text, "\"step_ms\":[", "NaN");
  if (mode == "negative-time") replace_number(text, "\"step_ms\":[", "-1");
  if (mode == "newer-schema") replace_number(text, "\"version\":", std::to_string(record_version + 1));
  if (mode == "huge") text.insert(0, (65u << 20), ' ');
  if (mode == "deep") text = std::string(200'000, '[') + std::string(200'000, ']');
  if (mode == "text") text = "everything went fine\n";
  if (mode == "empty") text.clear();
  if (mode == "folder") {
    std::filesystem::create_directory(path);
  } else if (mode == "fifo") {
    ::mkfifo(path.c_str(), 0600);
  } else {
    write_text(path, text);
  }
}

}  // namespace

bool is_mode(const std::string& mode) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end() || status_from_string(mode).has_value();
}

void misbehave_in_loop(const std::string& mode, const Options& options) {
  if (mode == "sleep") std::this_thread::sleep_for(std::chrono::duration<double>(options.sleep_s));
  if (mode == "die") ::raise(SIGKILL);
  if (mode == "segv") {
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit code
    ::raise(SIGSEGV);
  }
  if (mode == "abort") {
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  }
  if (mode == "exit3") {
    std::fputs("about to leave with 3\n", stderr);
    std::fflush(stderr);
    ::_exit(3);
  }
  if (mode == "ignore-term") ::signal(SIGTERM, SIG_IGN);
  if (mode == "term-exit0") ::signal(SIGTERM, [](int) { ::_exit(0); });
  if (mode == "hang" || mode == "ignore-term" || mode == "term-exit0") hang_for_ever();
  if (mode == "spin") {
    for (volatile std::uint64_t turns = 0;; std::ignore = turns) {
    }
  }
}

void misbehave_before_record(const std::string& mode, const Options& options) {
  if (mode.starts_with("daemon")) start_daemon(mode == "daemon-ignore-term", mode == "daemon-hidden");
  if (mode == "child" && ::fork() == 0) hang_for_ever();
  if (mode == "fork-bomb-lite") start_fork_chain();
  if (mode == "spam") spam(STDOUT_FILENO, options.spam_mib);
  if (mode == "spam-err") spam(STDERR_FILENO, options.spam_mib);
  if (mode == "nonsense") {
    std::fputs("\x1b[31mred\x1b[0m \x07 \xff\xfe tab\there\r\n", stderr);
    std::fflush(stderr);
  }
}

int leave_record(const std::string& mode, RankRecord record, const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 14> broken{
      "half-line", "two-records", "nan",    "other-cell", "other-rank", "other-launch", "newer-schema",
      "huge",      "deep",        "folder", "fifo",       "text",       "empty",        "negative-time"};
  if (mode == "no-record") return 0;
  if (std::find(broken.begin(), broken.end(), mode) != broken.end()) {
    leave_broken(mode, std::move(record), path);
    return 0;
  }
  if (const auto status = mode == "oom-then-abort" ? Status::oom : status_from_string(mode).value_or(Status::ok);
      status != Status::ok) {
    record.status = status;
    record.reason = status == Status::oom ? "out of memory at step 2: 40.0 GiB asked, 12.5 GiB free"
                                          : "made up by the stub (" + mode + ")";
    if (status == Status::oom) {
      record.detail["evidence"] = {
          {"requested_mib", 40960}, {"free_mib", 12800}, {"allocated_mib", 98304}, {"step", 2}};
    }
  }
  write_text_file(path, dump_line(to_json(record)) + "\n");
  if (mode == "record-then-die") ::raise(SIGKILL);
  if (mode == "oom-then-abort") {
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  }
  if (mode == "ok-exit3") return 3;
  return record.status == Status::ok ? 0 : 1;
}

}  // namespace stepgauge::stub
