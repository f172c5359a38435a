#pragma once
// The sessions of measuring that a baseline is made of.
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::store {

/// The results of a run as a set of one session, its launches marked; an empty id is made of the run's time and name.
ResultSet as_session(ResultSet run, const MeasuredSession& session);

/// One set of all launches of `parts`, at least one, each of one session or more, of one suite and machine: launches
/// are numbered anew, sessions stand in order of time, created_at is the newest. RunConflict when suite or machine
/// differ, or when one session is in two parts.
ResultSet join_sessions(const std::vector<ResultSet>& parts);

/// The session of a baseline that does not name any.
MeasuredSession only_session(const std::string& measured_at, const std::string& source);

/// UTC, ISO 8601, so many days later; empty for a text that is no time.
std::string days_later(const std::string& utc, int days);

}  // namespace stepgauge::store
