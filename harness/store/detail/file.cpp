#include "store/detail/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace stepgauge::store::detail {

void throw_errno(const std::filesystem::path& path, std::string_view what) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(), fmt::format("{}: {}", path.string(), what));
}

File open_file(const std::filesystem::path& path, int flags, std::string_view what) {
  File file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) throw_errno(path, what);
  return file;
}

void sync_folder(const std::filesystem::path& folder) {
  const auto file = open_file(folder, O_RDONLY | O_DIRECTORY, "cannot open the folder");
  if (::fsync(file.get()) != 0 && errno != EINVAL) throw_errno(folder, "cannot fsync the folder");
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::system_error(error, folder.string() + ": cannot create the folder");
}

}  // namespace stepgauge::store::detail
