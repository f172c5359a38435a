#include "store/output_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "contract/json_io.hpp"

namespace stepgauge::store {

void make_output_folder(const std::filesystem::path& path) {
  const auto refuse = [&](const char* what, const std::error_code& error) {
    throw FolderRefused(fmt::format("{}: {}: {}; choose another folder", path.string(), what, error.message()));
  };
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) refuse("cannot make the folder", error);
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    refuse("cannot write to the folder", std::error_code(errno, std::generic_category()));
}

void write_output_file(const std::filesystem::path& path, std::string_view text) {
  try {
    write_text_file(path.string(), text);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_space_on_device || error.code() == std::errc::io_error) throw;
    throw FolderRefused(
        fmt::format("{}: cannot be written: {}; choose another file", path.string(), error.code().message()));
  }
}

}  // namespace stepgauge::store
