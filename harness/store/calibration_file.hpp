#pragma once
// ROOT/<machine slug>/<suite>.calibration.jsonl: the A/A sessions of one suite on one machine, one line each (schema
// "calibration"), beside the baseline. Lines are appended and never changed; the last line of a session stands for it,
// since a session that went on (--resume) is written again as a whole.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "contract/calibration_session.hpp"

namespace stepgauge::store {

inline constexpr int calibration_line_version = 1;

/// The name of the file, after the suite's.
inline constexpr const char* calibration_extension = ".calibration.jsonl";

/// std::invalid_argument for a suite name that is no file name.
std::filesystem::path calibration_path(const Json& fingerprint, const std::string& suite,
                                       const std::filesystem::path& root);

Json to_json(const CalibrationSession& session);
/// ContractError naming `where` (FILE:LINE) for another schema, a newer version, a missing field or a wrong value.
CalibrationSession calibration_session_from_json(const Json& value, const std::string& where);

/// The sessions of a calibration file in order of measurement. ContractError "FILE:LINE: ..." with what to do for any
/// line that is none of this version, or of another suite or machine. A last line without its end (a crash) is left
/// out.
std::vector<CalibrationSession> read_calibrations(const std::filesystem::path& path);

/// The same of this suite and machine; empty where there is no file.
std::vector<CalibrationSession> find_calibrations(const Json& fingerprint, const std::string& suite,
                                                  const std::filesystem::path& root);

/// The machines (slugs) under root that have a calibration of the suite.
std::vector<std::string> calibrated_machines(const std::string& suite, const std::filesystem::path& root);

/// Appends the session, durable when it returns; the file is locked meanwhile. False, and nothing is written, when the
/// last line of this session says the same. ContractError as read_calibrations, std::system_error naming the path, or
/// when another process has been writing for a minute.
bool append_calibration(const std::filesystem::path& path, const CalibrationSession& session);

}  // namespace stepgauge::store
