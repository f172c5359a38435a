#include "cli/verdict_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "cli/result_output.hpp"
#include "report/change_report.hpp"
#include "report/comparison_table.hpp"
#include "report/gate_table.hpp"
#include "report/text.hpp"
#include "store/output_folder.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {
namespace {

constexpr const char* gate_schema = "stepgauge.gate";
constexpr const char* comparison_schema = "stepgauge.comparison";

struct Verdict {
  report::ChangeReport change;
  std::string table;
};

Verdict read(const VerdictDocument& document) {
  if (document.value.at("schema") == gate_schema) {
    const auto [gate, context] = verdict::gate_from_json(document.value, document.path);
    return {report::change_report(gate, context), report::gate_table(gate, context, terminal_style())};
  }
  const auto comparison = verdict::comparison_from_json(document.value, document.path);
  return {report::change_report(comparison), report::comparison_table(comparison, terminal_style())};
}

/// What the launches of both arms took, by the cell's id in head; none where the arms do not lie beside gate.json.
std::map<std::string, double> cell_seconds(const VerdictDocument& document, const report::ChangeReport& change) {
  std::map<std::string, double> out;
  std::map<std::string, std::string> head_of;
  for (const auto& row : change.rows) head_of[row.base_cell.empty() ? row.cell : row.base_cell] = row.cell;
  const auto folder = std::filesystem::path(document.path).parent_path();
  for (const auto* arm : {"base", "head"}) {
    if (!change.gate || !std::filesystem::exists(folder / arm / "run.json")) continue;
    const auto run = store::RunFolder::open(folder / arm);
    for (const auto& record : run.records()) {
      const auto found = head_of.find(record.cell_id);
      const bool other_id = arm == std::string_view("base") && found != head_of.end();
      out[other_id ? found->second : record.cell_id] += record.duration_s;
    }
  }
  return out;
}

void write(const std::string& path, const std::string& text) {
  store::write_output_file(path, text);
  fmt::print(stderr, "stepgauge: wrote {}\n", path);
}

}  // namespace

std::optional<VerdictDocument> find_verdict(const std::string& source) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto path = fs::path(source);
  if (fs::is_directory(path, error)) {
    if (fs::exists(path / "run.json", error)) return std::nullopt;
    const bool arms = fs::exists(path / "base" / "run.json", error) && fs::exists(path / "head" / "run.json", error);
    path /= "gate.json";
    if (!fs::exists(path, error)) {
      if (!arms) return std::nullopt;
      throw ContractError(
          fmt::format("{}: the gate has no verdict yet (gate.json is missing); go on with it: stepgauge gate SUITE "
                      "--resume {}; its arms are runs: {}/base and {}/head",
                      source, source, source, source));
    }
  } else if (path.extension() != ".json" || !fs::exists(path, error)) {
    return std::nullopt;
  }
  const bool of_a_gate = path.filename() == "gate.json";
  Json value;
  try {
    value = parse_json(read_text_file(path.string()), path.string());
  } catch (const ContractError&) {
    if (of_a_gate) throw;
    return std::nullopt;  // a baseline has a document a line
  }
  const auto schema = value.is_object() ? value.value("schema", Json()) : Json();
  if (schema != gate_schema && schema != comparison_schema) {
    if (!of_a_gate) return std::nullopt;
    throw ContractError(fmt::format("{}: no verdict of a gate (expected schema {})", path.string(), gate_schema));
  }
  return VerdictDocument{path.string(), std::move(value)};
}

void show_verdict(const VerdictDocument& document, const VerdictOutput& output) {
  auto verdict = read(document);
  if (!output.again.empty()) {
    verdict.change.command = report::printable(output.again);
    verdict.change.resume.clear();  // what made the gate is gone: a job's folders, most likely
  }
  if (output.json) {
    fmt::print("{}\n", dump_line(document.value));
    return;
  }
  if (!output.junit.empty())
    write(output.junit, report::junit_xml(verdict.change, cell_seconds(document, verdict.change)));
  if (!output.out.empty()) return write(output.out, report::comment_markdown(verdict.change));
  if (output.markdown) {
    fmt::print("{}", report::comment_markdown(verdict.change));
  } else if (output.junit.empty()) {
    fmt::print("{}", verdict.table);
  }
}

}  // namespace stepgauge::cli
