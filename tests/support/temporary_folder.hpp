#pragma once
// A folder for the files of one test or bench.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace stepgauge::test {

/// Empty at first, below the system's folder for temporary files; gone with everything in it at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "stepgauge-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes the bytes to a file below the folder, whose parents are made, and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const auto out = path_ / name;
    std::filesystem::create_directories(out.parent_path());
    std::ofstream(out, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return out;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace stepgauge::test
