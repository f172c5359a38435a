#include "cli/bisect_arms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_error.hpp"

namespace stepgauge::cli {
namespace {

struct Entry {
  std::string key, value;
};

std::vector<Entry> entries_of(const Arm& arm) {
  std::vector<Entry> out;
  for (const auto& text : arm.entries) {
    const auto equals = text.find('=');
    if (equals != std::string::npos) out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return out;
}

std::optional<std::string> value_of(const std::vector<Entry>& entries, const std::string& key) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

std::string ArmDifference::text() const {
  if (!bad) return fmt::format("{} not set (good: {})", key, *good);
  return fmt::format("{}={} (good: {})", key, *bad, good.value_or("not set"));
}

std::vector<ArmDifference> arm_differences(const Arm& good, const Arm& bad) {
  if (good.workers != bad.workers) {
    throw config::ConfigError("", 0, 0,
                              "--good and --bad have different workers: a bisection over settings needs the same "
                              "program in both; over commits it is given by --repo and --build");
  }
  if (!good.at.empty() || !bad.at.empty())
    throw config::ConfigError("", 0, 0, "at: chooses cells for a gate; a bisection looks at one, which --cell names");
  const auto in_good = entries_of(good), in_bad = entries_of(bad);
  std::vector<ArmDifference> out;
  for (const auto& entry : in_bad) {
    auto other = value_of(in_good, entry.key);
    if (other != entry.value) out.push_back({entry.key, std::move(other), entry.value});
  }
  for (const auto& entry : in_good) {
    if (!value_of(in_bad, entry.key)) out.push_back({entry.key, entry.value, std::nullopt});
  }
  if (out.empty())
    throw config::ConfigError("", 0, 0, "--good and --bad set the same: there is no difference to look into");
  return out;
}

Arm arm_between(const Arm& good, const std::vector<ArmDifference>& differences, const verdict::SettingSubset& subset) {
  std::vector<std::string> forms;
  for (const auto& form : good.forms) {
    if (!form.starts_with("env:") && !form.starts_with("set:")) forms.push_back(form);
  }
  const auto chosen = [&](const std::string& key) -> const ArmDifference* {
    for (const auto i : subset) {
      if (differences[i].key == key) return &differences[i];
    }
    return nullptr;
  };
  for (const auto& entry : entries_of(good)) {
    const auto* difference = chosen(entry.key);
    if (difference == nullptr) forms.push_back(fmt::format("set:{}={}", entry.key, entry.value));
  }
  for (const auto i : subset) {
    if (differences[i].bad) forms.push_back(fmt::format("set:{}={}", differences[i].key, *differences[i].bad));
  }
  if (forms.empty()) forms.push_back("self");
  return parse_arm("bad", forms);
}

}  // namespace stepgauge::cli
