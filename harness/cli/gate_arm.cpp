#include "cli/gate_arm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "config/variant.hpp"
#include "contract/container_command.hpp"
#include "contract/json_io.hpp"

namespace stepgauge::cli {
namespace {

[[noreturn]] void fail(const Arm& arm, const std::string& form, const std::string& why) {
  throw config::ConfigError("", 0, 0, fmt::format("--{} {}: {}", arm.name, form, why));
}

/// The worker of a path, quoted as --worker takes it.
std::string worker_at(const Arm& arm, const std::string& form) {
  std::error_code error;
  auto path = std::filesystem::absolute(form);
  if (std::filesystem::is_directory(path, error)) path = path / "bin" / "stepgauge-worker";
  if (!std::filesystem::is_regular_file(path, error)) fail(arm, form, fmt::format("{} is not there", path.string()));
  if (::access(path.c_str(), X_OK) != 0)
    fail(arm, form, fmt::format("{} is no program that can be run", path.string()));
  std::string quoted = "\"";
  for (const char c : path.string()) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// The worker of an image, as --worker takes it.
std::string container_at(const Arm& arm, const std::string& form) {
  try {
    container_command(split_command(form, "container:"));
  } catch (const std::invalid_argument& error) {
    fail(arm, form, error.what());
  }
  return form;
}

bool starts_assignment(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  const auto name = text.substr(0, equals);
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

/// NAME=VALUE[,NAME=VALUE...]; a comma that no NAME= follows belongs to the value.
std::vector<std::string> variables(const Arm& arm, const std::string& form, std::string_view text) {
  if (!starts_assignment(text)) fail(arm, form, "expected NAME=VALUE[,NAME=VALUE...]");
  std::vector<std::string> out;
  while (!text.empty()) {
    auto end = text.find(',');
    while (end != std::string_view::npos && !starts_assignment(text.substr(end + 1))) end = text.find(',', end + 1);
    const auto one = text.substr(0, end);
    const auto equals = one.find('=');
    out.push_back(fmt::format("env.{}={}", one.substr(0, equals), dump_line(std::string(one.substr(equals + 1)))));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

}  // namespace

std::string Arm::text() const {
  return fmt::format("{}", fmt::join(forms, " + "));
}

Arm parse_arm(const std::string& name, const std::vector<std::string>& forms) {
  Arm arm{name, forms, {}, {}, nullptr, {}};
  auto& settings = arm.entries;
  for (const auto& form : forms) {
    const auto after = [&](std::string_view prefix) -> std::optional<std::string> {
      if (!form.starts_with(prefix)) return std::nullopt;
      return form.substr(prefix.size());
    };
    if (form == "self") continue;
    if (const auto command = after("worker:")) {
      arm.workers.push_back(*command);
    } else if (const auto glob = after("at:")) {
      arm.at.push_back(*glob);
    } else if (const auto setting = after("set:")) {
      settings.push_back(*setting);
    } else if (const auto assignments = after("env:")) {
      for (auto& setting : variables(arm, form, *assignments)) settings.push_back(std::move(setting));
    } else if (form.starts_with("container:")) {
      arm.workers.push_back(container_at(arm, form));
    } else if (std::error_code error; std::filesystem::exists(form, error)) {
      arm.workers.push_back(worker_at(arm, form));
    } else {
      fail(arm, form, fmt::format("no such file or folder, and no other form of an arm ({})", arm_forms));
    }
  }
  if (settings.empty() && !arm.at.empty())
    fail(arm, "at:" + arm.at.front(), "it says which cells have the arm's settings; the arm has no set: and no env:");
  if (!settings.empty()) arm.settings = config::read_settings(settings, "--" + name);
  return arm;
}

Plan arm_plan(const Arm& arm, SuiteOptions suite, int launches, const std::string& program_name) {
  suite.workers.insert(suite.workers.end(), arm.workers.begin(), arm.workers.end());
  suite.launches = launches;
  return make_plan(suite, program_name, arm.settings, arm.at);
}

}  // namespace stepgauge::cli
