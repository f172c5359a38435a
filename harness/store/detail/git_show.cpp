#include "store/detail/git_show.hpp"

#include <fmt/format.h>

#include "contract/json_io.hpp"
#include "machine/captured_command.hpp"

namespace stepgauge::store::detail {

std::string git_show(const std::string& revision_and_path) {
  constexpr std::size_t max_bytes = std::size_t{256} << 20;
  if (revision_and_path.empty() || revision_and_path.front() == '-') {
    throw ContractError(fmt::format("\"{}\" is no git revision and path", revision_and_path));
  }
  auto shown = machine::run_captured({"git", "show", revision_and_path}, max_bytes);
  if (shown.out.size() > max_bytes) {
    throw ContractError(fmt::format("{}: more than {} MiB", revision_and_path, max_bytes >> 20));
  }
  if (shown.exit_code != 0) {
    throw ContractError(fmt::format("{}: git show failed: {}", revision_and_path, shown.problem()));
  }
  return std::move(shown.out);
}

}  // namespace stepgauge::store::detail
