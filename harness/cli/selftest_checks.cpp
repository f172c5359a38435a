#include "cli/selftest_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/self_command.hpp"
#include "config/config_error.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::cli {
namespace {

namespace fs = std::filesystem;
using report::CheckOutcome;
using report::SelftestCheck;
using verdict::Gate;

const std::vector<int> nothing_there{3, 5};

class Checks {
 public:
  explicit Checks(const SelftestSetup& setup) : setup_(setup) {
    out_.suite = setup.suite;
    out_.folder = setup.folder.string();
    out_.planted_cell = setup.planted_cell;
    out_.planted_percent = setup.planted_percent;
  }

  report::Selftest run() {
    same_program();
    planted_slowdown();
    nothing_measured();
    emptied("head emptied", "emptied_head", false);
    emptied("both sides emptied", "emptied_both", true);
    return std::move(out_);
  }

 private:
  std::vector<std::string> gate_words(const char* name, const std::vector<std::string>& base,
                                      const std::vector<std::string>& head) const {
    std::vector<std::string> out{"gate", setup_.suite_path};
    out.insert(out.end(), setup_.suite_options.begin(), setup_.suite_options.end());
    for (const auto& form : base) out.insert(out.end(), {"--base", form});
    for (const auto& form : head) out.insert(out.end(), {"--head", form});
    out.insert(out.end(), {"--pairs", setup_.pairs, "--out", (setup_.folder / name).string()});
    if (setup_.quiet) out.emplace_back("--quiet");
    return out;
  }

  /// The check as far as its exit code tells; a code that is not expected is judged by the caller.
  SelftestCheck& command(std::string check_name, const char* name, const std::vector<std::string>& words,
                         std::vector<int> expected) {
    auto& check = out_.checks.emplace_back();
    check.name = std::move(check_name);
    check.command = words;
    check.expected = std::move(expected);
    if (interrupt_.interrupted()) {
      check.reason = "not begun: interrupted";
      return check;
    }
    if (!setup_.quiet) fmt::print(stderr, "stepgauge: selftest: {}\n", check.name);
    const auto file = setup_.folder / fmt::format("{}.txt", name);
    const auto done = run_self(words, file, setup_.quiet, interrupt_);
    if (done.exit_code == static_cast<int>(ExitCode::usage)) {
      throw config::ConfigError("", 0, 0,
                                fmt::format("selftest: {}: {} refused its arguments\n{}", check.name, words.front(),
                                            setup_.quiet ? read_text_file(file.string()) : ""));
    }
    check.found = done.exit_code;
    check.seconds = done.seconds;
    const bool fits = std::find(check.expected.begin(), check.expected.end(), check.found) != check.expected.end();
    if (interrupt_.interrupted()) {
      check.reason = "interrupted";
    } else {
      check.outcome = fits ? CheckOutcome::as_expected : CheckOutcome::wrong;
    }
    return check;
  }

  Gate verdict_of(const char* name) const {
    const auto path = (setup_.folder / name / "gate.json").string();
    return verdict::gate_from_json(parse_json(read_text_file(path), path), path).gate;
  }

  /// A gate that could not tell is no wrong verdict: the machine is too noisy, or cannot run the suite.
  void settle_undecided(SelftestCheck& check, const char* name) const {
    if (check.outcome != CheckOutcome::wrong || check.found < 3) return;
    check.outcome = CheckOutcome::not_measured;
    const auto gate = verdict_of(name);
    const auto row = std::find_if(gate.rows.begin(), gate.rows.end(), [](const verdict::GateRow& item) {
      return item.verdict != verdict::Verdict::pass && item.verdict != verdict::Verdict::improved &&
             item.verdict != verdict::Verdict::regressed;
    });
    check.reason = "the gate could not tell";
    if (row != gate.rows.end())
      check.reason += fmt::format(", first: {} of {}: {}{}{}", row->metric, row->cell, to_string(row->verdict),
                                  row->reason.empty() ? "" : ": ", row->reason);
  }

  void same_program() {
    auto& check = command("the same program twice", "same", gate_words("same", {"self"}, {"self"}), {0});
    settle_undecided(check, "same");
    if (check.outcome == CheckOutcome::as_expected) {
      check.reason = fmt::format("{} rows pass", verdict_of("same").counts.passed);
    } else if (check.found == 1) {
      check.reason = "called worse: " + regressed(verdict_of("same"));
    }
  }

  static std::string regressed(const Gate& gate) {
    std::vector<std::string> rows;
    for (const auto& row : gate.rows) {
      if (row.verdict == verdict::Verdict::regressed) rows.push_back(fmt::format("{} of {}", row.metric, row.cell));
    }
    return fmt::format("{}", fmt::join(rows, ", "));
  }

  void planted_slowdown() {
    auto& check = command("a planted slowdown", "planted",
                          gate_words("planted", {"self"},
                                     {"self", fmt::format("set:perturb.step_percent={:.6g}%", setup_.planted_percent),
                                      "at:" + setup_.planted_cell}),
                          {1});
    settle_undecided(check, "planted");
    if (check.found == 0) check.reason = "the gate passed it";
    if (check.found != 1 || check.outcome == CheckOutcome::not_measured) return;
    const auto gate = verdict_of("planted");
    check.reason = "named: " + regressed(gate);
    bool planted = false, others = false;
    for (const auto& row : gate.rows) {
      if (row.verdict != verdict::Verdict::regressed) continue;
      const bool there = (row.base_cell.empty() ? row.cell : row.base_cell) == setup_.planted_cell;
      planted = planted || (there && row.metric == "throughput");
      others = others || !there;
    }
    if (planted && !others) return;
    check.outcome = CheckOutcome::wrong;
    check.reason += planted ? "; a cell that was not slowed is among them" : "; the planted cell's throughput is not";
  }

  void nothing_measured() {
    // This program is no worker: it prints its version, and leaves no record.
    const auto worker = fmt::format("worker:{}=\"{}\" --version", setup_.planted_worker, self_path().string());
    auto words = gate_words("nothing", {worker}, {worker});
    std::erase_if(words,
                  [](const std::string& word) { return word.starts_with("--only=") || word.starts_with("--skip="); });
    words.push_back("--only=" + setup_.planted_cell);
    judge_nothing(command("nothing measured", "nothing", words, nothing_there));
  }

  void emptied(const char* check_name, const char* name, bool both) {
    const auto folder = setup_.folder / name;
    for (const auto* arm : {"base", "head"}) {
      const bool empty = both || arm == std::string_view("head");
      fs::create_directories(folder / arm);
      for (const auto* file : {"run.json", "records.jsonl"}) {
        const auto from = setup_.folder / "same" / arm / file;
        if (fs::exists(from)) fs::copy_file(from, folder / arm / file, fs::copy_options::overwrite_existing);
      }
      if (empty) write_text_file((folder / arm / "records.jsonl").string(), "");
    }
    judge_nothing(
        command(check_name, name, {"compare", (folder / "base").string(), (folder / "head").string()}, nothing_there));
  }

  static void judge_nothing(SelftestCheck& check) {
    if (check.outcome == CheckOutcome::wrong) check.reason = "launches that are not there must be 3 or 5";
  }

  const SelftestSetup& setup_;
  const InterruptWatch interrupt_;
  report::Selftest out_;
};

}  // namespace

report::Selftest run_selftest(const SelftestSetup& setup) {
  return Checks(setup).run();
}

}  // namespace stepgauge::cli
