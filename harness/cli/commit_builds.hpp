#pragma once
// The commits between two revisions of a git repository, and a worker built of each.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "verdict/bisect.hpp"

namespace stepgauge::cli {

/// ConfigError for a folder that is no git repository.
void require_repository(const std::string& repository);

/// The commit that a revision names; nullopt when the repository has no such one.
std::optional<verdict::BisectCommit> find_commit(const std::string& repository, const std::string& revision);

/// From good to bad along first parents, both ends too. Throws ConfigError for a folder that is no repository, a
/// revision that is no commit (naming it), or a good one that is not an ancestor of the bad one.
std::vector<verdict::BisectCommit> commits_between(const std::string& repository, const std::string& good,
                                                   const std::string& bad);

using BuildCommands = std::vector<std::vector<std::string>>;  ///< an argv each

/// Of texts that are split as --worker is. In them {source} is the work tree, {out} what they have to make: a program,
/// or a folder with bin/stepgauge-worker. Throws ConfigError for a text that cannot be split, an unknown {name}, or
/// when none names {out}.
BuildCommands build_commands(const std::vector<std::string>& texts);

/// Builds in a git worktree of its own below `folder`, which goes when this does; the repository's own work tree is
/// not touched. Programs are started as argument vectors, no shell is involved.
class CommitBuilds {
 public:
  /// `commands` are run one after the other.
  CommitBuilds(const std::string& repository, const std::filesystem::path& folder, BuildCommands commands);
  ~CommitBuilds();
  CommitBuilds(const CommitBuilds&) = delete;
  CommitBuilds& operator=(const CommitBuilds&) = delete;

  struct Built {
    std::string path;     ///< as an arm takes it
    std::string problem;  ///< why there is none
  };
  /// Not built again when it was before. What the commands said is in builds/ID.log.
  Built build(const verdict::BisectCommit& commit);

 private:
  std::string check_out(const std::string& commit);
  /// Removes the work tree, whoever made it.
  void drop_source();

  std::filesystem::path repository_, folder_, source_;
  BuildCommands commands_;
  bool made_ = false;
};

}  // namespace stepgauge::cli
