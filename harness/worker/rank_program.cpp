#include "worker/rank_program.hpp"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <chrono>
#include <cstdio>

#include "worker/rank_passes.hpp"
#include "worker/rank_record.hpp"
#include "worker/rank_setup.hpp"

namespace stepgauge::worker {
namespace {

class Rank {
 public:
  Rank(const RankEnvironment& environment, const Cell& cell, long long main_entered_ns)
      : parts_{environment, cell}, setup_(parts_, main_entered_ns), record_(new_record(environment, cell)) {}

  RankRecord run() {
    try {
      setup_.start();
      if (parts_.environment.replay_path) {
        run_replay(parts_, record_);
      } else {
        setup_.prepare();
        run_passes(parts_, record_);
      }
    } catch (const UnsupportedCell& error) {
      fail(Status::unsupported, error.what());
    } catch (const IneffectiveCell& error) {
      fail(Status::ineffective, error.what());
    } catch (const c10::OutOfMemoryError& error) {
      fail(Status::oom, error.what_without_backtrace());
    } catch (const std::bad_alloc& error) {
      fail(Status::oom, "the host is out of memory (std::bad_alloc)");
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      const bool host_oom = text.find("can't allocate memory") != std::string::npos;
      fail(host_oom ? Status::oom : Status::crashed, text);
    } catch (const std::exception& error) {
      fail(Status::crashed, error.what());
    }
    finish_collectives();
    record_.phases_s = setup_.phases_s();
    if (!parts_.notes.empty()) record_.detail["notes"] = parts_.notes;
    record_place(record_, parts_.room.get(), parts_.group.get());
    return std::move(record_);
  }

 private:
  void fail(Status status, const std::string& reason) {
    record_failure(record_, status, reason);
    if (status == Status::oom && parts_.room)
      record_.detail["evidence"] = {{"allocator", parts_.room->allocator_numbers()}};
  }

  /// A rank that failed says with whom it did not agree, as far as the others still answer.
  void finish_collectives() {
    auto* const log = parts_.collectives.get();
    if (log != nullptr && record_.status == Status::ok) log->wait_for_ends(std::chrono::milliseconds(200));
    if (log != nullptr) log->flush();
    if (record_.status == Status::crashed && parts_.group) {
      if (const auto odd = parts_.group->compare_last_collectives(); !odd.empty())
        record_.reason = odd + "; " + record_.reason;
    }
    if (log != nullptr && !log->problem().empty()) parts_.notes.push_back(log->problem());
  }

  RankParts parts_;
  RankSetup setup_;
  RankRecord record_;
};

}  // namespace

int describe_build() {
  const Json out{{"worker", STEPGAUGE_VERSION},
                 {"torch", TORCH_VERSION},
                 {"cpu_threads", at::get_num_threads()},
                 {"cuda_part", has_part("libstepgauge_cuda.so")},
                 {"cupti_part", has_part("libstepgauge_cupti.so")},
                 {"python_part", has_part("libstepgauge_python.so")},
                 {"mpi_part", has_part("libstepgauge_mpi.so")}};
  std::printf("%s\n", dump_line(out).c_str());
  return 0;
}

int run_rank(long long main_entered_ns) {
  try {
    const auto environment = RankEnvironment::read();
    const auto cell =
        cell_from_json(parse_json(read_text_file(environment.cell_path), environment.cell_path), environment.cell_path);
    // Never destroyed: after a failure the destructors of a process group may wait for peers that are gone,
    // and main leaves by _exit.
    auto* rank = new Rank(environment, cell, main_entered_ns);
    const auto record = rank->run();
    write_text_file(environment.record_path, dump_line(to_json(record)) + "\n");
    if (record.status != Status::ok) {
      std::fprintf(stderr, "stepgauge-worker: rank %d: %s: %s\n", environment.rank,
                   std::string(to_string(record.status)).c_str(), record.reason.c_str());
    }
    return record.status == Status::ok ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stepgauge-worker: %s\n", error.what());
    return 2;
  }
}

}  // namespace stepgauge::worker
