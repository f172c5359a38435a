#include "store/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "store/baseline.hpp"
#include "store/detail/git_show.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::store {
namespace {

constexpr std::string_view baseline_prefix = "baseline:";

std::string slugs_text(const std::vector<BaselineFile>& files) {
  std::string out;
  for (const auto& file : files) out += (out.empty() ? "" : ", ") + file.suite + "@" + file.slug;
  return out;
}

std::filesystem::path named_baseline(std::string name, const LoadOptions& options) {
  auto slug = options.slug;
  if (const auto at = name.find('@'); at != std::string::npos) {
    slug = name.substr(at + 1);
    name.resize(at);
  }
  if (!slug.empty()) {
    if (const auto path = find(options.baselines, slug, name)) return *path;
  }
  const auto all = list(options.baselines);
  std::vector<BaselineFile> same_suite;
  std::copy_if(all.begin(), all.end(), std::back_inserter(same_suite),
               [&](const BaselineFile& file) { return file.suite == name; });
  if (slug.empty() && same_suite.size() == 1) return same_suite.front().path;
  if (slug.empty() && same_suite.size() > 1) {
    throw BaselineMissing(fmt::format("\"{}{}\" could be any of: {}", baseline_prefix, name, slugs_text(same_suite)));
  }
  const auto machine = slug.empty() ? std::string() : fmt::format(" for {}", slug);
  const auto& near = same_suite.empty() ? all : same_suite;
  throw BaselineMissing(fmt::format("no baseline of suite \"{}\"{} in {}; {}", name, machine,
                                    options.baselines.string(),
                                    near.empty() ? "there is none at all" : "there are: " + slugs_text(near)));
}

}  // namespace

ResultSet load_result_set(const std::string& spec, const LoadOptions& options) {
  std::error_code error;
  if (std::filesystem::is_directory(spec, error)) return RunFolder::open(spec).results();
  if (std::filesystem::exists(spec, error)) return load(spec).results;
  if (spec.rfind(baseline_prefix, 0) == 0) {
    return load(named_baseline(spec.substr(baseline_prefix.size()), options)).results;
  }
  if (spec.find(':') != std::string::npos) {
    auto results = parse_baseline(detail::git_show(spec), spec).results;
    results.name += " at " + spec.substr(0, spec.find(':'));
    return results;
  }
  throw ContractError(fmt::format(
      "\"{}\": no such run folder or baseline file (also known: baseline:SUITE[@MACHINE], REVISION:PATH)", spec));
}

}  // namespace stepgauge::store
