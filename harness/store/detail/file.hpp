#pragma once

#include <filesystem>
#include <string_view>

#include "machine/unique_fd.hpp"

namespace stepgauge::store::detail {

using File = machine::UniqueFd;

/// Throws std::system_error of errno: "PATH: WHAT: reason".
[[noreturn]] void throw_errno(const std::filesystem::path& path, std::string_view what);

/// open(2) with O_CLOEXEC; std::system_error naming the path.
File open_file(const std::filesystem::path& path, int flags, std::string_view what);

/// Makes the entries of a folder durable.
void sync_folder(const std::filesystem::path& folder);

/// create_directories; std::system_error naming the path.
void make_folders(const std::filesystem::path& folder);

}  // namespace stepgauge::store::detail
