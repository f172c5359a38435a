// One trial: JSON on standard input, JSON on standard output.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "trials.hpp"

int main() {
  using namespace stepgauge;
  static const std::map<std::string, Json (*)(const Json&)> trials{
      {"gates", validation::gates_trial},     {"pairs", validation::pairs_trial},
      {"level", validation::level_trial},     {"moderated", validation::moderated_trial},
      {"nights", validation::nights_trial},   {"weekly", validation::weekly_trial},
      {"changes", validation::changes_trial}, {"speed", validation::speed_trial}};
  try {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const auto setting = parse_json(text, "standard input");
    const auto name = require<std::string>(setting, "trial", "standard input");
    const auto found = trials.find(name);
    if (found == trials.end()) throw ContractError("standard input: no trial \"" + name + "\"");
    fmt::print("{}\n", dump_line(found->second(setting)));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "statistics-trial: {}\n", error.what());
    return 2;
  }
}
