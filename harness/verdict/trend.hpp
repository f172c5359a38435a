#pragma once
// What the nights of one suite on one machine come to: per cell and metric a series, its noise, its state, and the
// changes of its level (statistics.md 3.6). Pure: no files, no clock.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/cell.hpp"
#include "contract/confirmation.hpp"
#include "contract/metrics.hpp"
#include "contract/status.hpp"

namespace stepgauge::verdict {

inline constexpr int trend_version = 1;

struct TrendNight {
  std::string run, created_at, commit;
  std::optional<std::string> reference_commit;  ///< nullopt: no control build ran; "": it did, its commit is not known
};

/// A change that somebody acknowledged: the series starts anew at that night.
struct KnownChange {
  std::size_t night = 0;
  std::string reason, by;
};

/// An alarm that was measured: pairs of the last good and the first bad commit, side by side.
struct TrendConfirmation {
  std::size_t last_good = 0, first_bad = 0;  ///< nights whose commits were measured
  double alarm_size = 0;                     ///< TrendAlarm::size when it was measured
  ConfirmationVerdict verdict = ConfirmationVerdict::unknown;
  std::string reason;  ///< of "unknown", or a remark
  std::size_t pairs = 0;
  std::optional<double> change, ci_lower, ci_upper;  ///< first bad against last good, 95 %
  std::string at;                                    ///< UTC, ISO 8601
  std::size_t attempts = 1;                          ///< confirmations of this alarm so far
};

/// Launch values of one cell and metric.
struct TrendSeries {
  std::string cell;
  const MetricInfo* metric = nullptr;  ///< of the catalogue
  std::string unit;
  CellTolerance tolerance;                         ///< what replaces the catalogue's
  std::vector<std::vector<double>> tip;            ///< one a night; empty: no value that night
  std::vector<std::vector<double>> reference;      ///< one a night, of the control build
  std::vector<KnownChange> known;                  ///< in order of the file
  std::vector<TrendConfirmation> confirmations{};  ///< in order of the file
  std::string last_outcome;  ///< of the cell in the last night: "2 ok, 1 crashed"; empty: the cell is not in it
};

struct TrendPin {
  std::size_t night = 0;
  std::string name;
};

struct TrendInput {
  std::string suite, machine;
  std::vector<TrendNight> nights;  ///< in order of time
  std::vector<TrendSeries> series;
  std::optional<TrendPin> pin;     ///< the newest one
  std::vector<std::string> notes;  ///< of the file
};

/// When change points are searched in series without an alarm.
enum class ChangeSearch {
  weekly,  ///< when the last night is the first one of an ISO week (UTC)
  always
};

struct TrendPolicy {
  std::size_t min_nights = 30;      ///< of a segment before anything can alarm
  std::size_t centre_nights = 60;   ///< at most so many nights tell the centre and the noise
  std::size_t change_nights = 100;  ///< the last ones, in which change points are searched ...
  std::size_t least_nights = 10;    ///< ... where there are as many as these
  ChangeSearch changes = ChangeSearch::weekly;
};

enum class AlarmKind {
  sustained,  ///< CUSUM: the level moved
  jump        ///< one night beyond six times the noise and twice the tolerance
};

/// Sizes are fractions on the ratio scale (0.02 = 2 %) and the metric's unit on the points scale, with the metric's own
/// sign.
struct TrendAlarm {
  AlarmKind kind = AlarmKind::sustained;
  std::size_t night = 0;      ///< that raised it
  std::size_t change = 0;     ///< first night of the new level
  std::size_t last_good = 0;  ///< the commit range is what came after this one,
  std::size_t first_bad = 0;  ///< up to this one
  bool localised = false;     ///< by a change point with at least five nights on either side; else the range is wide
  bool worse = false;
  double size = 0;                           ///< new level against the old one
  std::optional<double> ci_lower, ci_upper;  ///< 95 %
  bool small = false;                        ///< less than half of what counts as a change
  bool single = false;   ///< a jump of one night alone, of a series that varies: to be measured again
  bool over = false;     ///< the last five nights are back: by more than half, and within half of what counts
  bool machine = false;  ///< the control build, of unchanged code, alarms with it
  std::optional<TrendConfirmation> confirmation;  ///< the last one that holds for it
  bool blocks = false;  ///< worse, of a blocking metric, none of the four, and not measured to be nothing
};

enum class TrendState { alarm, quiet, shown, fresh, vanished };

struct TrendRow {
  std::string cell, metric, unit;
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  bool blocking = false;
  std::optional<double> threshold;  ///< what counts as a change: max(tolerance, floor / centre), or the floor in points
  std::size_t nights = 0;           ///< of the segment, with a value
  std::size_t gap = 0;              ///< nights of the segment without one
  std::size_t last_night = 0;       ///< the last one with a value
  std::optional<double> last, centre;  ///< of the tip, in unit: the last night, the median of the segment's last nights
  std::optional<double> change;        ///< last night against the centre, before an alarm that stands
  std::optional<double> noise;         ///< standard deviation from night to night of that level
  bool against_reference = false;      ///< change, noise and alarms are of tip minus control build
  std::optional<double> creep;         ///< level of the last nights against the pinned one
  bool crept = false;                  ///< creep is for the worse, and certainly more than the threshold
  std::optional<KnownChange> known;    ///< that started the segment
  std::vector<TrendAlarm> alarms;      ///< since then
  TrendState state = TrendState::shown;
  std::string reason;
};

/// Alarms of the control build: the code is the same, so it is the machine.
struct MachineAlarm {
  std::string cell, metric;
  Scale scale = Scale::ratio;
  std::string unit;
  TrendAlarm alarm;
};

/// A change point of a series that has no alarm standing. Says where to look; blocks nothing.
struct TrendChange {
  std::size_t night = 0;      ///< first one of the new level
  std::size_t last_good = 0;  ///< the night before it
  bool localised = false;     ///< five nights on either side: its commits are those between the two nights
  bool worse = false;
  double before = 0, after = 0;              ///< levels of the tip, in unit
  double size = 0;                           ///< as TrendAlarm::size
  std::optional<double> ci_lower, ci_upper;  ///< 95 %; blind to the choice of the night
};

struct SeriesChange {
  std::string cell, metric;
  Scale scale = Scale::ratio;
  std::string unit;
  bool blocking = false;  ///< of the metric
  TrendChange change;
};

struct TrendCounts {
  std::size_t series = 0, alarm = 0, quiet = 0, shown = 0, fresh = 0, vanished = 0;
};

struct Trend {
  std::string suite, machine;
  std::vector<TrendNight> nights;
  std::optional<TrendPin> pin;
  std::vector<TrendRow> rows;
  std::vector<MachineAlarm> machine_alarms;
  std::optional<std::vector<SeriesChange>> changes;  ///< nullopt: they were not searched
  TrendCounts counts;
  std::vector<std::string> notes;
  ExitCode exit_code = ExitCode::not_comparable;
};

std::string_view to_string(TrendState state);
std::string_view to_string(AlarmKind kind);

/// Judges every series. Exit code: 1 when an alarm blocks, else 5 when no series has the nights to be judged, else 0.
///
/// A night's value is the mean of its launches (of their logarithms on the ratio scale), less the control build's where
/// the last night has one and the same build ran in `min_nights` nights of the segment. Values <= 0 on the ratio scale
/// are no values.
/// A segment starts at the last acknowledged change. States:
/// - vanished: the last night has no value, and no change was acknowledged since the last one that has;
/// - fresh: the last night is the first;
/// - shown: less than `min_nights` nights in the segment;
/// - alarm: an alarm that is neither small nor over, whether it blocks or not; else quiet.
///
/// A confirmation holds for an alarm whose change lies between the nights that it measured. One that found nothing
/// takes the block from it as long as the level stays: until the loss has grown by half of what counts. Change points:
/// E-divisive over the last `change_nights`, window 50, p < 0.001, half of what counts at least, three nights on either
/// side; of series that are quiet, or only shown with `least_nights` at least.
Trend judge_trend(const TrendInput& input, const TrendPolicy& policy = {});

Json to_json(const Trend& trend);

}  // namespace stepgauge::verdict
