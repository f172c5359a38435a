#pragma once
// What the statistics and verdict rooms do on data whose truth is known. A trial is a JSON object in and one out, the
// same on every machine for the same seed; scripts/validate_statistics chooses the settings and compares with the
// bounds.
#include "contract/json_io.hpp"

namespace stepgauge::validation {

/// Simulated gates, pair by pair along the product's schedule: {"gates", "seed", "design": "fixed"|"sequential",
/// "pairs": [N1, N2], "model": {...}, "planted": {"rows", "effect"}}. Shares come with Clopper-Pearson bounds (95 %).
Json gates_trial(const Json& setting);

/// Gates over given launch values: {"pairs": [N1, N2], "tolerance", "gates": [[{"base": [..], "head": [..]}, ..], ..]};
/// smaller is better. Counts rows that are regressed or improved, and one-sided t tests at 0.05 of all pairs.
Json pairs_trial(const Json& setting);

/// Level of the paired t: {"pairs": n, "rounds", "seed", "model"}.
Json level_trial(const Json& setting);

/// Moderated against plain variance: {"pairs", "rounds", "seed", "s_d", "wander", "effect", "tolerance"}.
Json moderated_trial(const Json& setting);

/// Histories judged night by night: {"series", "seed", "noise", "outlier_share", "outlier_size", "step",
/// "quiet_nights", "nights"}; noise, sizes and step in ln, step 0: nothing changes.
Json nights_trial(const Json& setting);

/// Histories whose changes are searched once, after the last night: {"series", "seed", "nights", "noise", "r1", "step",
/// "change"}; noise and step in ln, r1 the correlation of one night with the next, the step from night `change` on.
Json weekly_trial(const Json& setting);

/// Change points by Otava's rule: {"values", "lists": [{"max_p", "min_magnitude"}, ..]}.
Json changes_trial(const Json& setting);

/// CPU seconds of large jobs: {"cells", "launches", "nights", "series"}.
Json speed_trial(const Json& setting);

/// {"share", "lower", "upper"} of hits in trials, Clopper-Pearson at 95 %.
Json proportion(std::size_t hits, std::size_t trials);

}  // namespace stepgauge::validation
