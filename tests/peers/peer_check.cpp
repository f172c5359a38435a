// What tests/peers compares the Python peer with:
//   peer_check settled     reads lines "BLOCK t t t ...", prints 1 or 0 for each: contract/settled.hpp
//   peer_check record FILE reads a rank record as the launcher does and prints it again; exit 1 with the reason when it
//   is refused
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "contract/record.hpp"
#include "contract/settled.hpp"

namespace {

int print_settled() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::size_t block = 0;
    words >> block;
    std::vector<double> times;
    for (double time = 0; words >> time;) times.push_back(time);
    fmt::print("{}\n", stepgauge::settled(times, block) ? 1 : 0);
  }
  return 0;
}

int print_record(const std::string& path) {
  const auto value = stepgauge::parse_json(stepgauge::read_text_file(path), path);
  fmt::print("{}\n", stepgauge::dump_line(to_json(stepgauge::rank_record_from_json(value, path))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 1 && arguments[0] == "settled") return print_settled();
    if (arguments.size() == 2 && arguments[0] == "record") return print_record(arguments[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "peer_check: {}\n", error.what());
    return 1;
  }
  fmt::print(stderr, "usage: peer_check settled | record FILE\n");
  return 2;
}
