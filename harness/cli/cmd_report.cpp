// stepgauge report RESULTS: the tables of a run, a baseline, a gate or a comparison, again, or beside what the article
// claims.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/verdict_report.hpp"
#include "config/config_error.hpp"
#include "graph/view.hpp"
#include "report/article.hpp"
#include "report/baseline_table.hpp"
#include "store/baseline.hpp"
#include "store/load.hpp"
#include "store/output_folder.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {
namespace {

constexpr std::size_t shown_breaks = 3;

struct ReportOptions {
  std::string source;
  std::string baselines = "results/baselines";
  std::string article, out, junit, again;
  bool json = false, markdown = false;
};

report::SnapshotCounts counts_of(const graph::Snapshot& snapshot) {
  report::SnapshotCounts out;
  for (const auto& region : snapshot.regions) {
    ++out.regions;
    out.nodes += region.nodes.size();
    for (const auto& node : region.nodes) {
      out.calls += graph::is_call(node);
      out.placed += graph::is_call(node) && !node.place.file.empty();
    }
    if (!region.ended.starts_with("graph break")) continue;
    if (++out.breaks <= shown_breaks)
      out.first_breaks.push_back(
          fmt::format("{} in {}:{}, {}", region.ended, region.kind, region.name, graph::place_text(region.place)));
  }
  return out;
}

/// Of the last ok launch of each cell that left some.
report::SnapshotsByCell snapshots_of(const ResultSet& results, const std::filesystem::path& folder) {
  report::SnapshotsByCell out;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      const auto evidence = launch.detail.find("evidence");
      if (launch.status != Status::ok || evidence == launch.detail.end() || !evidence->is_object()) continue;
      const auto file = folder / evidence->value("folder", "") / "rank0.graphs.json";
      if (std::filesystem::exists(file)) out[cell.cell.id] = counts_of(graph::read_snapshot(file.string()));
    }
  }
  return out;
}

/// What measured and what it left, as far as the source still knows.
report::TableSource source_of(const ResultSet& results, const std::string& source) {
  if (std::filesystem::is_directory(source))
    return {store::RunFolder::open(source).info().command, results.name, snapshots_of(results, source)};
  if (std::filesystem::exists(source)) {
    const auto baseline = store::load(source);
    return {baseline.command, baseline.source, {}};
  }
  return {{}, results.name, {}};
}

std::string text_of(const ResultSet& results, const ReportOptions& options) {
  const auto source = source_of(results, options.source);
  if (options.article.empty()) return report::baseline_markdown(results, source);
  return options.markdown ? report::article_markdown(results, options.article, source.snapshots)
                          : report::article_text(results, options.article, source.snapshots, terminal_style());
}

[[noreturn]] void refuse(const char* option, const char* meant, const std::string& source, const char* what) {
  throw config::ConfigError("", 0, 0, fmt::format("{} is for {}; {} is {}", option, meant, source, what));
}

void show(const ReportOptions& options) {
  if (const auto verdict = find_verdict(options.source)) {
    if (!options.article.empty()) refuse("--article", "runs and baselines", options.source, "a verdict");
    return show_verdict(*verdict, {options.json, options.markdown, options.out, options.junit, options.again});
  }
  if (!options.junit.empty()) refuse("--junit", "gates and comparisons", options.source, "neither");
  const auto results = store::load_result_set(options.source, {options.baselines, ""});
  if (options.json || (!options.markdown && options.article.empty() && options.out.empty())) {
    show_results(results, options.source, options.json);
    return;
  }
  const auto text = text_of(results, options);
  if (options.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  store::write_output_file(options.out, text);
  fmt::print("wrote {}\n", options.out);
}

}  // namespace

void add_report(Program& program) {
  auto options = std::make_shared<ReportOptions>();
  auto* command = program.app.add_subcommand(
      "report", "the tables of a run, a baseline, a gate or a comparison; Markdown and JUnit XML of verdicts");
  command
      ->add_option("results", options->source,
                   "run folder, baseline:SUITE[@MACHINE], baseline file, or REV:PATH; gate folder, gate.json, or what "
                   "compare --json printed (FILE.json)")
      ->required();
  command->add_option("--baselines", options->baselines, "folder of the baselines")->capture_default_str();
  auto* json = command->add_flag("--json", options->json, "JSON on standard output");
  command
      ->add_option(
          "--article", options->article,
          fmt::format("what the article claims beside what was measured: {}", fmt::join(report::article_rows(), ", ")))
      ->excludes(json);
  command
      ->add_flag("--markdown", options->markdown,
                 "Markdown: of a verdict the comment on a change; of a run its tables, with those of compile modes")
      ->excludes(json);
  command->add_option("--out", options->out, "file to write the Markdown to")->excludes(json);
  command->add_option("--junit", options->junit, "file to write the JUnit XML of a verdict to: a test case a row")
      ->excludes(json);
  command->add_option(
      "--command", options->again,
      "of a verdict: the command that the Markdown gives to measure it again (default: that of the gate)");
  command->footer(
      "Examples:\n"
      "  stepgauge report runs/a\n"
      "  stepgauge report runs/a01 --article A1\n"
      "  stepgauge report runs/a01 --out results/tables/a01_compile_modes.md\n"
      "  stepgauge report runs/smoke-gate --out comment.md --junit rows.xml\n"
      "  stepgauge compare runs/a runs/b --json > c.json; stepgauge report c.json --markdown\n"
      "Exit codes: 0 written, whatever the verdict says (gate and compare leave by it); 2 usage, or a document that "
      "does\n"
      "            not agree with itself; 5 no such baseline");
  command->callback([options] {
    options->markdown = options->markdown || !options->out.empty();
    show(*options);
  });
}

}  // namespace stepgauge::cli
