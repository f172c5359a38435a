#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::stub {

using GlobValue = std::pair<std::string, double>;  ///< glob on the cell id, number

struct Options {
  std::string mode = "ok";
  std::optional<int> only_rank;  ///< mode holds for this rank
  std::string others = "ok";     ///< mode of the other ranks
  std::string once;              ///< mode holds only as long as this file is missing; it is made then
  std::int64_t at_step = 12;     ///< where a mode that stops the loop strikes
  std::int64_t spam_mib = 100;
  double sleep_s = 1;
  std::string stall_phase;  ///< the rank says nothing for `stall_s` in this phase
  double stall_s = 0;

  double step_ms = 100;
  std::vector<double> steps_ms;  ///< the first steps one by one; the last value goes on
  double noise = 0;              ///< relative standard deviation, of launches and of steps
  std::uint64_t seed = 0;
  bool seed_from_launch = false;
  std::vector<GlobValue> slow_if;  ///< percent of step time
  double memory_mib = 1000;
  std::vector<GlobValue> memory_if;  ///< MiB
  bool realtime = false;             ///< sleeps for each step
  bool rendezvous = false;           ///< really meets over the store socket
  bool dump_environment = false;
  std::optional<double> exposed_comm;  ///< percent of a traced step in which collectives run alone; a trace is left
  std::optional<int> late_rank;        ///< comes last in every collective of it
  std::string nccl_log;                ///< file that rank 0 says as NCCL would
  std::string detail;                  ///< file, JSON: parts that the record has too
  bool late_recompile = false;         ///< the record says that a measured step was compiled again
};

/// Throws std::invalid_argument. `cell` and `launch` decide on --mode-if and --launch.
Options parse_options(const std::vector<std::string>& arguments, const Cell& cell, int launch);

const char* help_text();

}  // namespace stepgauge::stub
