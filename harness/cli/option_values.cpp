#include "cli/option_values.hpp"

#include <fmt/format.h>

#include <memory>

#include "config/config_error.hpp"
#include "config/reader.hpp"
#include "verdict/gate_policy.hpp"

namespace stepgauge::cli {
namespace {

config::Node node_of(const std::string& text, const std::string& option) {
  config::Node node;
  node.kind = config::Node::Kind::plain;
  node.text = text;
  node.mark = {std::make_shared<const std::string>("--" + option), 1, 1};
  return node;
}

}  // namespace

std::optional<double> parse_duration(const std::string& text, const std::string& option) {
  if (text.empty()) return std::nullopt;
  return config::read_duration(node_of(text, option), option, 1);
}

double parse_tolerance(const std::string& text, const std::string& option) {
  const double value = config::read_fraction(node_of(text, option), option);
  if (!(value > 0)) throw config::ConfigError("", 0, 0, fmt::format("--{} {}: expected more than 0", option, text));
  return value;
}

verdict::GatePairs parse_pairs(const std::vector<std::size_t>& given) {
  const verdict::GatePolicy design;
  if (given.empty()) return {design.screen_pairs, design.confirm_pairs};
  if (given.size() == 2 && given[0] >= 2 && given[1] >= verdict::least_confirm_pairs) return {given[0], given[1]};
  throw config::ConfigError(
      "", 0, 0,
      fmt::format("--pairs: expected N1,N2 with N1 >= 2 screening pairs and N2 >= {} confirming ones (with fewer the "
                  "sign-flip test can never reach 0.05)",
                  verdict::least_confirm_pairs));
}

}  // namespace stepgauge::cli
