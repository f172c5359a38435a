#pragma once
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace stepgauge::store {

/// The folder or file that was asked for cannot be made, or nothing can be written there: a mistake of who chose it,
/// not of the measurement. what() names the path and why.
class FolderRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Makes the folder, with its parents, where it is missing. Throws FolderRefused.
void make_output_folder(const std::filesystem::path& path);

/// write_text_file() of a file that the user named, whose folder exists. Throws FolderRefused.
void write_output_file(const std::filesystem::path& path, std::string_view text);

}  // namespace stepgauge::store
