#include "cli/commit_builds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/suite_options.hpp"
#include "config/config_error.hpp"
#include "contract/json_io.hpp"
#include "contract/short_commit.hpp"
#include "contract/suggest.hpp"
#include "machine/captured_command.hpp"

namespace stepgauge::cli {
namespace {

constexpr std::size_t most_output = std::size_t{64} << 20;

[[noreturn]] void refuse(const std::string& why) {
  throw config::ConfigError("", 0, 0, why);
}

/// No hook of the repository is run, and none of its configured programs.
machine::CapturedCommand git(const std::filesystem::path& repository, std::vector<std::string> arguments) {
  std::vector<std::string> argv{"git", "-C", repository.string(), "-c", "core.hooksPath=/dev/null"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return machine::run_captured(argv, most_output);
}

std::optional<std::string> id_of(const std::string& repository, const std::string& revision) {
  auto done = git(repository, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (done.exit_code != 0) return std::nullopt;
  while (!done.out.empty() && done.out.back() == '\n') done.out.pop_back();
  return done.out;
}

std::string commit_of(const std::string& repository, const char* option, const std::string& revision) {
  const auto id = id_of(repository, revision);
  if (!id) refuse(fmt::format("{} {}: no such commit in {}", option, revision, repository));
  return *id;
}

std::string title_of(const std::string& repository, const std::string& commit) {
  auto done = git(repository, {"log", "-1", "--format=%s", commit});
  return done.exit_code == 0 ? done.out.substr(0, done.out.find('\n')) : "";
}

/// {source} and {out} replaced, wherever they stand in a word.
std::string filled(std::string word, const std::string& source, const std::string& out) {
  for (const auto& [name, value] : {std::pair{std::string("{source}"), source}, std::pair{std::string("{out}"), out}}) {
    for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size())
      word.replace(at, name.size(), value);
  }
  return word;
}

void check_names(const std::string& word) {
  static const std::vector<std::string> known{"out", "source"};
  for (std::size_t begin = 0; (begin = word.find('{', begin)) != std::string::npos; ++begin) {
    const auto end = word.find('}', begin);
    if (end == std::string::npos) return;
    const auto name = word.substr(begin + 1, end - begin - 1);
    const bool a_name =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (a_name && std::find(known.begin(), known.end(), name) == known.end())
      refuse(fmt::format("--build: there is no {{{}}}{}", name, suggestion(name, known)));
  }
}

}  // namespace

void require_repository(const std::string& repository) {
  if (const auto top = git(repository, {"rev-parse", "--git-dir"}); top.exit_code != 0)
    refuse(fmt::format("--repo {}: no git repository ({})", repository, top.problem()));
}

std::optional<verdict::BisectCommit> find_commit(const std::string& repository, const std::string& revision) {
  const auto id = id_of(repository, revision);
  if (!id) return std::nullopt;
  return verdict::BisectCommit{*id, title_of(repository, *id)};
}

std::vector<verdict::BisectCommit> commits_between(const std::string& repository, const std::string& good,
                                                   const std::string& bad) {
  require_repository(repository);
  const auto first = commit_of(repository, "--good", good), last = commit_of(repository, "--bad", bad);
  if (first == last) refuse(fmt::format("--good {} and --bad {} are the same commit", good, bad));
  if (git(repository, {"merge-base", "--is-ancestor", first, last}).exit_code != 0)
    refuse(
        fmt::format("--good {} is not an ancestor of --bad {}: there is no line of commits between them", good, bad));
  const auto listed = git(repository, {"rev-list", "--first-parent", "--reverse", first + ".." + last});
  if (listed.exit_code != 0) refuse(fmt::format("--repo {}: {}", repository, listed.problem()));
  std::vector<verdict::BisectCommit> out{{first, title_of(repository, first)}};
  for (std::size_t begin = 0; begin < listed.out.size();) {
    const auto end = std::min(listed.out.find('\n', begin), listed.out.size());
    const auto id = listed.out.substr(begin, end - begin);
    if (!id.empty()) out.push_back({id, title_of(repository, id)});
    begin = end + 1;
  }
  return out;
}

BuildCommands build_commands(const std::vector<std::string>& texts) {
  BuildCommands out;
  bool names_out = false;
  for (const auto& text : texts) {
    out.push_back(split_command(text, "--build"));
    for (const auto& word : out.back()) {
      check_names(word);
      names_out = names_out || word.find("{out}") != std::string::npos;
    }
  }
  if (!names_out) refuse("--build: no word names {out}, the program or build folder that the command has to make");
  return out;
}

CommitBuilds::CommitBuilds(const std::string& repository, const std::filesystem::path& folder, BuildCommands commands)
    : repository_(std::filesystem::absolute(repository)),
      folder_(std::filesystem::absolute(folder)),
      source_(folder_ / "source"),
      commands_(std::move(commands)) {}

CommitBuilds::~CommitBuilds() {
  if (made_ || std::filesystem::exists(source_)) drop_source();  // also that of a search that was killed
}

void CommitBuilds::drop_source() {
  git(repository_, {"worktree", "remove", "--force", source_.string()});
  std::error_code ignored;
  std::filesystem::remove_all(source_, ignored);
  git(repository_, {"worktree", "prune"});
}

/// The work tree at that commit, with nothing left of another; a problem or empty.
std::string CommitBuilds::check_out(const std::string& commit) {
  if (!made_) {
    drop_source();
    const auto added = git(repository_, {"worktree", "add", "--detach", "--force", source_.string(), commit});
    if (added.exit_code != 0) return "git worktree add: " + added.problem();
    made_ = true;
    return "";
  }
  const auto moved = git(source_, {"checkout", "--detach", "--force", commit});
  if (moved.exit_code != 0) return "git checkout: " + moved.problem();
  const auto cleaned = git(source_, {"clean", "-ffdxq"});
  return cleaned.exit_code == 0 ? "" : "git clean: " + cleaned.problem();
}

CommitBuilds::Built CommitBuilds::build(const verdict::BisectCommit& commit) {
  const auto name = short_commit(commit.id);
  const auto builds = folder_ / "builds";
  const auto out = builds / name, log = builds / (name + ".log"), done = builds / (name + ".built");
  if (std::filesystem::exists(done) && std::filesystem::exists(out)) return {out.string(), ""};
  std::filesystem::create_directories(builds);
  std::filesystem::remove_all(out);
  if (auto problem = check_out(commit.id); !problem.empty()) return {"", std::move(problem)};
  std::string said;
  for (const auto& words : commands_) {
    std::vector<std::string> argv;
    for (const auto& word : words) argv.push_back(filled(word, source_.string(), out.string()));
    const auto ran = machine::run_captured(argv, most_output);
    said += fmt::format("$ {}\n{}{}exit code {}\n", fmt::join(argv, " "), ran.out, ran.error, ran.exit_code);
    write_text_file(log.string(), said);
    if (ran.exit_code != 0) return {"", fmt::format("does not build: {} (see {})", ran.problem(), log.string())};
  }
  if (!std::filesystem::exists(out))
    return {"", fmt::format("the build made no {} (see {})", out.string(), log.string())};
  write_text_file(done.string(), "");
  return {out.string(), ""};
}

}  // namespace stepgauge::cli
