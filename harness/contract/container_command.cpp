#include "contract/container_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace stepgauge {

bool is_container(const std::vector<std::string>& command) {
  return !command.empty() && command.front().starts_with(container_prefix);
}

ContainerCommand container_command(const std::vector<std::string>& command) {
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument(fmt::format("{}: {}; expected container:IMAGE [PROGRAM [ARGUMENT...]]",
                                            command.empty() ? "" : command.front(), why));
  };
  if (!is_container(command)) refuse("is no container");
  ContainerCommand out{command.front().substr(container_prefix.size()), {command.begin() + 1, command.end()}};
  const auto blank = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (out.image.empty()) refuse("the image is missing");
  if (out.image.front() == '-') refuse("an image's name does not begin with \"-\"");
  if (std::any_of(out.image.begin(), out.image.end(), blank)) refuse("an image's name has no blanks");
  if (out.image.find('=') != std::string::npos)
    refuse("an image's name has no \"=\", and its program stands after a space");
  if (out.program.empty()) out.program = {container_worker};
  if (out.program.front().empty()) refuse("the program's name is empty");
  return out;
}

}  // namespace stepgauge
