#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "store/detail/file.hpp"

namespace stepgauge::store::detail {

/// All of the text or nothing at the end of a file opened with O_APPEND: what a full disk left half-written is cut off
/// again before std::system_error naming the path is thrown. Returns after fsync.
void append_durably(const File& file, const std::filesystem::path& path, std::string_view text);

/// Cuts the file to `bytes`, keeping what is cut off in PATH.torn (appended), and fsyncs both.
void cut_torn(const File& file, const std::filesystem::path& path, std::uint64_t bytes, std::string_view torn);

}  // namespace stepgauge::store::detail
