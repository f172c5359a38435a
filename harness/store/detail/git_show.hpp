#pragma once

#include <string>

namespace stepgauge::store::detail {

/// Text of `git show REV:PATH` in the current folder, git started without a shell. ContractError with git's own words
/// when it fails, when there is no git, or when the text is longer than 256 MiB.
std::string git_show(const std::string& revision_and_path);

}  // namespace stepgauge::store::detail
