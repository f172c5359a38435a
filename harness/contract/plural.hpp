#pragma once
// Nouns with their numbers, for nouns that take an s.
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

/// "1 row", "2 rows"; of a number that is not whole the nearest one. Counts below 2^53.
std::string plural(double count, std::string_view noun);

template <std::integral Count>
std::string plural(Count count, std::string_view noun) {
  return plural(static_cast<double>(count), noun);
}

/// "rank 3", "ranks 0, 2".
template <std::integral Number>
std::string numbered(std::string_view noun, const std::vector<Number>& numbers) {
  std::string out(noun);
  if (numbers.size() != 1) out += 's';
  for (std::size_t i = 0; i < numbers.size(); ++i) out += (i == 0 ? " " : ", ") + std::to_string(numbers[i]);
  return out;
}

}  // namespace stepgauge
