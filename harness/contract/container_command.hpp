#pragma once
// Workers that run in a container: the command "container:IMAGE [PROGRAM [ARGUMENT...]]".
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

inline constexpr std::string_view container_prefix = "container:";

/// The worker of an image whose command names none; looked up in the image's PATH.
inline constexpr const char* container_worker = "stepgauge-worker";

struct ContainerCommand {
  std::string image;                 ///< reference or, for Apptainer, file, as written
  std::vector<std::string> program;  ///< in the image, with its arguments
};

/// The command's first word is "container:...".
bool is_container(const std::vector<std::string>& command);

/// Throws std::invalid_argument "container:...: ..." when is_container() is false or no image can be called so: it is
/// empty, begins with "-", or has blanks, control characters or "=".
ContainerCommand container_command(const std::vector<std::string>& command);

}  // namespace stepgauge
