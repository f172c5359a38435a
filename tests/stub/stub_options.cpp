#include "stub_options.hpp"

#include <fnmatch.h>

#include <charconv>
#include <stdexcept>

namespace stepgauge::stub {
namespace {

double number(const std::string& flag, std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    throw std::invalid_argument(flag + ": expected a number, found \"" + std::string(text) + "\"");
  }
  return percent ? value / 100 : value;
}

std::vector<double> numbers(const std::string& flag, std::string_view text) {
  std::vector<double> out;
  while (!text.empty() && text != "...") {
    const auto comma = text.find(',');
    out.push_back(number(flag, text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  if (out.empty()) throw std::invalid_argument(flag + ": expected numbers");
  return out;
}

/// "GLOB:VALUE", split at the last colon.
std::pair<std::string, std::string> glob_and_rest(const std::string& flag, const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument(flag + ": expected GLOB:VALUE");
  return {text.substr(0, colon), text.substr(colon + 1)};
}

GlobValue glob_value(const std::string& flag, const std::string& text) {
  auto [glob, rest] = glob_and_rest(flag, text);
  if (rest.ends_with('%')) rest.pop_back();
  return {glob, number(flag, rest)};
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments, const Cell& cell, int launch) {
  Options out;
  std::optional<int> only_launch;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& flag = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == arguments.size()) throw std::invalid_argument(flag + ": its value is missing");
      return arguments[++i];
    };
    const auto numeric = [&] { return number(flag, value()); };
    if (flag == "--mode") {
      out.mode = value();
    } else if (flag == "--mode-if") {
      const auto [glob, mode] = glob_and_rest(flag, value());
      if (::fnmatch(glob.c_str(), cell.id.c_str(), 0) == 0) out.mode = mode;
    } else if (flag == "--rank") {
      out.only_rank = static_cast<int>(numeric());
    } else if (flag == "--launch") {
      only_launch = static_cast<int>(numeric());
    } else if (flag == "--others") {
      out.others = value();
    } else if (flag == "--once") {
      out.once = value();
    } else if (flag == "--at-step") {
      out.at_step = static_cast<std::int64_t>(numeric());
    } else if (flag == "--spam-mib") {
      out.spam_mib = static_cast<std::int64_t>(numeric());
    } else if (flag == "--sleep-s") {
      out.sleep_s = numeric();
    } else if (flag == "--stall") {
      const auto [phase, seconds] = glob_and_rest(flag, value());
      out.stall_phase = phase;
      out.stall_s = number(flag, seconds);
    } else if (flag == "--step-ms") {
      out.step_ms = numeric();
    } else if (flag == "--steps-ms") {
      out.steps_ms = numbers(flag, value());
    } else if (flag == "--noise") {
      out.noise = numeric();
    } else if (flag == "--seed") {
      out.seed = static_cast<std::uint64_t>(numeric());
    } else if (flag == "--seed-from-launch") {
      out.seed_from_launch = true;
    } else if (flag == "--slow-if") {
      out.slow_if.push_back(glob_value(flag, value()));
    } else if (flag == "--memory") {
      out.memory_mib = numeric();
    } else if (flag == "--memory-if") {
      out.memory_if.push_back(glob_value(flag, value()));
    } else if (flag == "--realtime") {
      out.realtime = true;
    } else if (flag == "--rendezvous") {
      out.rendezvous = true;
    } else if (flag == "--dump-environment") {
      out.dump_environment = true;
    } else if (flag == "--exposed-comm") {
      out.exposed_comm = 100 * numeric();
    } else if (flag == "--late-rank") {
      out.late_rank = static_cast<int>(numeric());
    } else if (flag == "--nccl-log") {
      out.nccl_log = value();
    } else if (flag == "--detail") {
      out.detail = value();
    } else if (flag == "--late-recompile") {
      out.late_recompile = true;
    } else {
      throw std::invalid_argument("unknown option " + flag);
    }
  }
  if (only_launch && *only_launch != launch) out.mode = out.others = "ok";
  if (out.mode == "hang-rank1") {
    out.mode = out.others = "hang";
    out.only_rank = 1;
  }
  return out;
}

const char* help_text() {
  return R"(stub-worker: the tests' worker; follows docs/worker_contract.md with made-up numbers and no sleeping.

  --mode M            ok (default), or
                      of the process: sleep die segv abort exit3 hang hang-rank1 spin ignore-term term-exit0
                      of its children: daemon daemon-ignore-term daemon-hidden child fork-bomb-lite
                      of its output: spam spam-err nonsense
                      of its record: no-stamp (of the compile caches) no-record empty half-line two-records nan other-cell other-rank other-launch
                      newer-schema negative-time huge deep folder fifo text record-then-die ok-exit3 oom-then-abort
                      or a status: oom crashed incorrect ineffective unsteady disturbed unsupported
  --mode-if GLOB:M    M where the cell's id matches
  --rank N            the mode is rank N's alone; --others M is that of the rest
  --launch N          the mode holds for launch N of a cell alone
  --once FILE         the mode holds while FILE is missing (it is made then): the second attempt goes well
  --at-step N         where the loop stops (default 12)
  --step-ms X, --steps-ms A,B,C    step times; the last of a list goes on. Default 100, first step three times that
  --noise 1%, --seed N, --seed-from-launch    normal noise of launches and of steps, the same for the same seed
  --slow-if GLOB:PERCENT, --memory MIB, --memory-if GLOB:MIB
  --stall PHASE:S     not a word for S seconds in this phase, as when something compiles
  --realtime          sleep for each step; --sleep-s X (mode sleep); --spam-mib N
  --rendezvous        ranks really meet over the store's socket
  --exposed-comm 40%  leave a trace whose steps are that share of collectives alone; --late-rank N comes last in them
  --nccl-log FILE     rank 0's NCCL log holds what FILE does; --detail FILE: the record has these parts (JSON) too
  --late-recompile    the record tells of a measured step that was compiled again
  --dump-environment  keep every variable in the record
)";
}

}  // namespace stepgauge::stub
