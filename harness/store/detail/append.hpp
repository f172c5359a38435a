#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "store/detail/file.hpp"

namespace stepgauge::store::detail {

/// Opens for appending and locks (flock on the file itself), making file and folders if need be; nullopt when another
/// process kept it locked for that long. std::system_error "PATH: cannot open WHAT: ...".
std::optional<File> open_locked(const std::filesystem::path& path, double patience_s, std::string_view what);

/// All of the text or nothing at the end of a file opened with O_APPEND: what a full disk left half-written is cut off
/// again before std::system_error naming the path is thrown. Returns after fsync.
void append_durably(const File& file, const std::filesystem::path& path, std::string_view text);

/// Cuts the file to `bytes`, keeping what is cut off in PATH.torn (appended), and fsyncs both.
void cut_torn(const File& file, const std::filesystem::path& path, std::uint64_t bytes, std::string_view torn);

}  // namespace stepgauge::store::detail
