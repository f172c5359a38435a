#include "cli/result_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "report/comparison_table.hpp"
#include "report/run_table.hpp"
#include "report/text.hpp"

namespace stepgauge::cli {

report::Style terminal_style() {
  report::Style style;
  style.color = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return style;
}

void show_results(const ResultSet& results, const std::filesystem::path& folder, bool json) {
  if (json) {
    auto out = report::run_summary_json(results);
    out["folder"] = folder.string();
    fmt::print("{}\n", dump_line(out));
  } else {
    fmt::print("{}", report::run_table(results, terminal_style()));
  }
}

void show_comparison(const verdict::Comparison& comparison, bool json) {
  if (json) {
    fmt::print("{}\n", dump_line(to_json(comparison)));
  } else {
    fmt::print("{}", report::comparison_table(comparison, terminal_style()));
  }
}

void tell_nothing_to_run(const std::vector<SkippedCell>& skipped, const std::string& suite_path) {
  fmt::print(stderr, "stepgauge: no cell of {} can run here:\n", suite_path);
  for (const auto& cell : skipped)
    fmt::print(stderr, "  {}: {}: {}\n", report::printable(cell.id), to_string(cell.status),
               report::printable(cell.reason));
}

}  // namespace stepgauge::cli
