#pragma once
// Baselines: ROOT/<fingerprint slug>/<suite>.jsonl, a header line (schema "baseline") and then launch records, of one
// session of measuring or of several.
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::store {

inline constexpr int baseline_version = 1;

/// A baseline expires so long after its newest session (statistics.md 3.6).
inline constexpr int baseline_days = 30;

/// There is one already and no reason was given; the CLI shows the change and asks for --accept "reason".
class BaselineExists : public std::runtime_error {
 public:
  BaselineExists(const std::string& what, std::filesystem::path path)
      : std::runtime_error(what), path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// These results must not become a reference: nothing ok, planted slowdowns, no machine data.
class BaselineRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No baseline of this suite (for this machine); exit code 5.
class BaselineMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Baseline {
  ResultSet results;                 ///< name: "baseline SUITE (DATE)"; created_at: of its newest session
  std::string source;                ///< run it was saved from
  std::vector<std::string> command;  ///< of that run
  std::string saved_at;              ///< UTC, ISO 8601
  std::string reason;                ///< why it replaced another; empty for a first one
  Json replaced;                     ///< what it replaced, old and new side by side; null: nothing
};

struct SaveOptions {
  std::vector<std::string> command;
  std::string saved_at;
  std::string accept_reason;  ///< needed to replace a baseline
  MeasuredSession session{};  ///< of the results, where they are a run's; an empty id is made of name and time
  Json replaced{};            ///< header field; null: nothing
};

/// ROOT/<slug of the fingerprint>/<suite>.jsonl of these results; std::invalid_argument for a suite name that is no
/// file name.
std::filesystem::path baseline_path(const ResultSet& results, const std::filesystem::path& root);

/// BaselineRefused when these results must not become a reference.
void require_reference(const ResultSet& results);

/// Writes raw launch records, each launch's last attempt; launches that are not ok are kept without their numbers, so
/// that they never give values. Atomic: a kill leaves the old file. BaselineRefused, BaselineExists, std::system_error.
std::filesystem::path save(const ResultSet& results, const std::filesystem::path& root, const SaveOptions& options);

/// ContractError "ORIGIN:LINE: ..." for anything that is not a whole baseline of this version, a launch that stands
/// twice, or a digest that does not fit (edited by hand). A file without sessions is one session of its own.
Baseline parse_baseline(std::string_view text, const std::string& origin);
Baseline load(const std::filesystem::path& path);

struct BaselineFile {
  std::string slug, suite;
  std::filesystem::path path;
};

/// Every baseline under root, sorted by slug and suite; empty when there is no such folder.
std::vector<BaselineFile> list(const std::filesystem::path& root);

std::optional<std::filesystem::path> find(const std::filesystem::path& root, const std::string& slug,
                                          const std::string& suite);

}  // namespace stepgauge::store
