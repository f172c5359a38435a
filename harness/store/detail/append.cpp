#include "store/detail/append.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

namespace stepgauge::store::detail {
namespace {

void write_all(const File& file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno(path, "cannot write");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void sync(const File& file, const std::filesystem::path& path) {
  if (::fsync(file.get()) != 0 && errno != EINVAL) throw_errno(path, "cannot fsync");
}

}  // namespace

std::optional<File> open_locked(const std::filesystem::path& path, double patience_s, std::string_view what) {
  make_folders(path.parent_path());
  auto file = open_file(path, O_WRONLY | O_CREAT | O_APPEND, std::string("cannot open ").append(what));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw_errno(path, std::string("cannot lock ").append(what));
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return file;
}

void append_durably(const File& file, const std::filesystem::path& path, std::string_view text) {
  const auto before = ::lseek(file.get(), 0, SEEK_END);
  try {
    write_all(file, text, path);
    sync(file, path);
  } catch (const std::exception&) {
    if (before >= 0 && ::ftruncate(file.get(), before) == 0) ::fsync(file.get());
    throw;
  }
}

void cut_torn(const File& file, const std::filesystem::path& path, std::uint64_t bytes, std::string_view torn) {
  auto aside = path;
  aside += ".torn";
  const auto kept = open_file(aside, O_WRONLY | O_CREAT | O_APPEND, "cannot keep the torn line aside");
  write_all(kept, std::string(torn) + "\n", aside);
  sync(kept, aside);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw_errno(path, "cannot cut off the torn last line");
  }
  sync(file, path);
}

}  // namespace stepgauge::store::detail
