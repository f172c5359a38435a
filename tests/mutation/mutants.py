"""Errors that somebody could make in the statistics, the verdicts and the exit codes, and the test that must notice each."""

import dataclasses

S, V, D = "harness/stats/", "harness/verdict/", "harness/verdict/detail/"


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str   # from the source root; a header is planted by compiling `compile` against it
    old: str    # exact, once in the file
    new: str
    test: str   # the program that must fail
    loses: str  # what a user would lose if nobody noticed
    everyday: bool = False           # planted by every run of ctest; the others with --all
    compile: tuple[str, ...] = ()    # default: the file itself
    only: str = "*"                  # gtest filter, where the program is slow


PAIRED = (
    Mutant("paired: sign of the margin", S + "paired.cpp", "(sample.mean - margin) / sample.standard_error",
           "(sample.mean + margin) / sample.standard_error", "test_stats_paired",
           "the margin of a quarter of the tolerance would make blocking easier instead of harder", everyday=True),
    Mutant("paired: degrees of freedom", S + "paired.cpp", ".df = n - 1.0", ".df = n", "test_stats_paired",
           "the error rate of every gate: with 5 pairs the tails are too thin", everyday=True),
    Mutant("paired: an interval with one tail", S + "paired.cpp", "0.5 * (1.0 + confidence)", "confidence", "test_stats_paired",
           "a 95 % interval that holds the truth 90 times in a hundred"),
    Mutant("paired: equal to the margin is not above it", S + "paired.cpp", "sample.mean > margin ? 0.0 : 1.0",
           "sample.mean >= margin ? 0.0 : 1.0", "test_stats_paired", "a difference of exactly the margin would count as proven"),
    Mutant("t: the other tail", S + "detail/student_t.hpp", "boost::math::cdf(boost::math::complement(StudentT(df), t))",
           "boost::math::cdf(StudentT(df), t)", "test_stats_paired", "slower would be reported as faster, with a small p",
           everyday=True, compile=(S + "paired.cpp",)),
    Mutant("welch: sign of the margin", S + "welch.cpp", "(sample.diff - theta) / *sample.standard_error",
           "(sample.diff + theta) / *sample.standard_error", "test_stats_welch", "compare would block what is within the margin"),
    Mutant("welch: head against base", S + "welch.cpp", "*mean(*head_values) - *mean(*base_values)",
           "*mean(*base_values) - *mean(*head_values)", "test_stats_welch", "every direction of compare", everyday=True),
    Mutant("welch: degrees of freedom", S + "detail/welch_error.hpp", "static_cast<double>(n_base - 1)", "static_cast<double>(n_base)",
           "test_stats_welch", "intervals of compare that are too narrow for few launches", compile=(S + "welch.cpp",)),
)

CORRECTIONS = (
    Mutant("holm: no correction", S + "multiple.cpp", "static_cast<double>(order.size() - i) * p_values[order[i]]",
           "p_values[order[i]]", "test_stats_multiple", "a suite of 120 rows would cry wolf in most merges", everyday=True),
    Mutant("holm: every step as strict as the first", S + "multiple.cpp", "static_cast<double>(order.size() - i)",
           "static_cast<double>(order.size())", "test_stats_multiple", "power, wherever several rows regress"),
    Mutant("holm: not monotone", S + "multiple.cpp", "largest = std::max(largest, static", "largest = std::max(0.0, static",
           "test_stats_multiple", "a row would be rejected although one with a smaller p was not"),
    Mutant("benjamini-hochberg: rank", S + "multiple.cpp", "static_cast<double>(i + 1)", "static_cast<double>(i + 2)",
           "test_stats_multiple", "the false discovery rate of nightly lists", everyday=True),
    Mutant("benjamini-hochberg: not monotone", S + "multiple.cpp", "smallest = std::min(smallest, scaled)", "smallest = scaled",
           "test_stats_multiple", "the false discovery rate of nightly lists"),
    Mutant("clopper-pearson: a tail for both sides", S + "proportion.cpp", "const double tail = 0.5 * (1.0 - confidence);",
           "const double tail = 1.0 - confidence;", "test_stats_proportion",
           "published rates of false blocks with an interval that is too narrow", everyday=True),
    Mutant("clopper-pearson: half a tail for one side", S + "proportion.cpp", "upper_bound(successes, trials, 1.0 - confidence)",
           "upper_bound(successes, trials, 0.5 * (1.0 - confidence))", "test_stats_proportion", "the rule of three would read 3.7 instead of 3"),
)

POWER = (
    Mutant("mde: power is taken off", S + "mde.cpp", "df) + detail::student_t_quantile(plan.power, df)",
           "df) - detail::student_t_quantile(plan.power, df)", "test_stats_mde", "compare would promise to see what it misses"),
    Mutant("paired mde: not divided by the root of n", S + "paired_power.cpp", "sum * sd / std::sqrt(static_cast<double>(n))",
           "sum * sd / static_cast<double>(n)", "test_stats_paired_power", "rows would be called gateable that are not", everyday=True),
    Mutant("paired mde: without the margin", S + "paired_power.cpp", "return plan.margin + sum", "return sum", "test_stats_paired_power",
           "the smallest change that is found would be told too small"),
    Mutant("paired power: sign of the margin", S + "paired_power.cpp", "effect - plan.margin;", "effect + plan.margin;",
           "test_stats_paired_power", "plans with too few pairs"),
    Mutant("moderated: degrees of freedom", S + "moderated.cpp", "result.df = prior.df + sample.df;", "result.df = sample.df;",
           "test_stats_moderated", "what old pairs are worth"),
    Mutant("moderated: a noisy day is believed to be quiet", S + "moderated.cpp", "variance > largest_moderated_ratio * prior.variance",
           "variance < 0.0", "test_stats_moderated", "false blocks on a day that is noisier than the history"),
    Mutant("variance components: one arm", S + "variance_components.cpp", "std::sqrt(2.0 * (*components.launch + step_part))",
           "std::sqrt(*components.launch + step_part)", "test_stats_variance_components", "plans with half of the pairs they need"),
    Mutant("variance components: below zero", S + "variance_components.cpp", "components.launch = std::max(launch, 0.0);",
           "components.launch = launch;", "test_stats_variance_components", "negative variances, and plans that are not numbers"),
    Mutant("sequential: spends everything at the first look", S + "sequential.cpp", "z / std::sqrt(share)", "z * std::sqrt(share)",
           "test_stats_sequential", "the error rate of gates that stop early"),
    Mutant("sequential: the wrong side of the bound", S + "sequential.cpp", "if (t >= look.reject_t)", "if (t <= look.reject_t)",
           "test_stats_sequential", "a gate that stops early would block what is fine"),
)

RANDOMISATION = (
    Mutant("sign flip: sign of the margin", S + "sign_flip.cpp", "value -= margin;", "value += margin;", "test_stats_sign_flip",
           "the cross-check of every confirmation"),
    Mutant("sign flip: half of the patterns", S + "sign_flip.cpp", "-static_cast<int>(shifted.size()))",
           "1 - static_cast<int>(shifted.size()))", "test_stats_sign_flip", "p twice as large: every confirmation near 0.05 is unstable",
           everyday=True),
    Mutant("sign flip: ties do not count", S + "sign_flip.cpp", "large[fitting - 1] > limit", "large[fitting - 1] > -limit",
           "test_stats_sign_flip", "a p of 0 for five equal differences"),
    Mutant("sign flip: drawn patterns without the one seen", S + "sign_flip.cpp",
           "static_cast<double>(hits + 1) / static_cast<double>(draws + 1)", "static_cast<double>(hits) / static_cast<double>(draws)",
           "test_stats_sign_flip", "a p of 0, which no randomisation test can have"),
    Mutant("hodges-lehmann: without the values themselves", S + "hodges_lehmann.cpp", "std::size_t j = i; j", "std::size_t j = i + 1; j",
           "test_stats_hodges_lehmann", "the estimate that tells an outlier from a change", everyday=True),
    Mutant("bootstrap: sign of the acceleration", S + "bootstrap.cpp", "1.0 - a * shifted", "1.0 + a * shifted", "test_stats_bootstrap",
           "intervals of skewed samples, bent the wrong way"),
)

SERIES = (
    Mutant("cusum: not clipped", S + "cusum.cpp", "std::clamp((nights[night] - level.centre) / level.sigma, -rule.clip, rule.clip)",
           "(nights[night] - level.centre) / level.sigma", "test_stats_cusum", "one wild night would alarm", everyday=True),
    Mutant("cusum: no slack", S + "cusum.cpp", "(upward ? z : -z) - rule.slack", "(upward ? z : -z)", "test_stats_cusum",
           "noise would add up to an alarm"),
    Mutant("cusum: one direction", S + "cusum.cpp", "(upward ? z : -z)", "z", "test_stats_cusum", "alarms for one direction only",
           everyday=True),
    Mutant("cusum: correlated nights count as independent", S + "cusum.cpp", "sigma * std::sqrt((1.0 + used) / (1.0 - used))", "sigma",
           "test_stats_cusum", "false alarms of series that wander"),
    Mutant("cusum: alarms come with half of the evidence", S + "cusum.cpp", "sum > rule.threshold", "sum > 0.5 * rule.threshold",
           "test_stats_cusum", "the published rate of false alarms"),
    Mutant("change point: shortest segment", S + "change_point.cpp", "if (k < min_segment) continue;", "if (k < 1) continue;",
           "test_stats_change_point", "levels of a single step", everyday=True),
    Mutant("energy: shortest segment", S + "energy_split.cpp", "if (tau < min_segment) continue;", "if (tau < 1) continue;",
           "test_stats_energy_change_point", "commit ranges named by a single night", everyday=True),
    Mutant("energy: error of a difference", S + "energy_change_point.cpp", "std::sqrt(pooled * (1.0 / n + 1.0 / m))",
           "std::sqrt(pooled / (n + m))", "test_stats_energy_change_point", "change points in noise"),
    Mutant("steady: half a window is enough", S + "steady.cpp", "window.steady = 2 * stable >=", "window.steady = 4 * stable >=",
           "test_stats_steady", "launches that were still warming up would count"),
    Mutant("autocorrelation: inflation upside down", S + "autocorrelation.cpp", "(1.0 + r1) / (1.0 - r1)", "(1.0 - r1) / (1.0 + r1)",
           "test_stats_autocorrelation", "how long a launch must be"),
)

GATE = (
    Mutant("gate: the screen suspects without evidence", D + "gate_rules.cpp", "stats::paired_p_above(sample, 0) < policy.screen_alpha",
           "stats::paired_p_above(sample, 0) < 1", "test_verdict_gate", "minutes: noise alone would be confirmed", everyday=True),
    Mutant("gate: the screen suspects whatever the size", D + "gate_rules.cpp", "policy.screen_share * screen.theta - rounding",
           "0 * screen.theta", "test_verdict_gate", "minutes: changes far below the tolerance would be confirmed", everyday=True),
    Mutant("gate: the screen's launches count again", D + "gate_tries.cpp", "return {screen, screen + static_cast<int>",
           "return {0, screen + static_cast<int>", "test_verdict_gate", "the bound on false blocks, which rests on new launches alone",
           everyday=True),
    Mutant("gate: the confirmation is the screen", D + "gate_rows.cpp", "paired_values(cell, GateStage::confirm, metric.name, policy)",
           "paired_values(cell, GateStage::screen, metric.name, policy)", "test_verdict_gate", "confirmation", everyday=True),
    Mutant("gate: no correction over the rows", D + "gate_rules.cpp", "stats::holm_adjusted(p_values)", "p_values", "test_verdict_gate",
           "the bound on false blocks of a whole gate", everyday=True),
    Mutant("gate: what was not confirmed leaves the family", D + "gate_rules.cpp", "p_values.push_back(1);",
           "family.pop_back();", "test_verdict_gate", "the correction, whenever a budget runs out"),
    Mutant("gate: no margin", D + "gate_rules.cpp", "const double null = policy.null_share * item.confirm->theta;",
           "const double null = 0 * item.confirm->theta;", "test_verdict_gate", "changes far below the tolerance would block"),
    Mutant("gate: any size blocks", D + "gate_rules.cpp", "estimate >= policy.estimate_share * sample.theta - rounding", "estimate >= 0",
           "test_verdict_gate", "changes below the tolerance would block", everyday=True),
    Mutant("gate: the exact rule has no tolerance", D + "gate_rules.cpp", "const double limit = sample.theta + rounding;",
           "const double limit = rounding;", "test_verdict_gate", "one MiB more would block", everyday=True),
    Mutant("gate: the exact rule is upside down", D + "gate_rules.cpp", "if (sample.paired.mean > limit) return",
           "if (sample.paired.mean < -limit) return", "test_verdict_gate", "less memory would block, more would not"),
    Mutant("gate: noise passes", D + "gate_rules.cpp", "row.gateable = mde <= policy.pass_limit * sample.theta;", "row.gateable = true;",
           "test_verdict_gate", "a row that could not have seen anything would pass", everyday=True),
    Mutant("gate: the bound is not looked at", D + "gate_rules.cpp", "stats::paired_upper_bound(sample.paired, policy.bound_confidence) < limit",
           "sample.paired.mean < limit", "test_verdict_gate", "pass for what may be much worse"),
    Mutant("gate: unstable is not told", D + "gate_rules.cpp", "if ((*row.p < policy.alpha) != (*row.p_sign_flip < policy.alpha))", "if (false)",
           "test_verdict_gate", "blocks that one outlier makes"),
    Mutant("gate: mde of one row, in a family of many", D + "gate_rules.cpp", "policy.alpha / static_cast<double>(std::max<std::size_t>(1, family))",
           "policy.alpha", "test_verdict_gate", "the MDE would be told too small"),
    Mutant("gate: direction of a metric", D + "gate_sample.cpp", "row.better == Better::higher ? -1 : 1", "row.better == Better::higher ? 1 : -1",
           "test_verdict_gate", "every verdict", everyday=True),
    Mutant("gate: the floor is forgotten", D + "gate_sample.cpp", "std::max(row.tolerance, row.floor / out.base)", "row.tolerance",
           "test_verdict_gate", "a second of init latency more on a cell of three would block", everyday=True),
    Mutant("gate: the floor as a share", D + "gate_sample.cpp", "row.floor / out.base", "row.floor", "test_verdict_gate",
           "64 MiB would be read as 6400 %"),
    Mutant("gate: ratios without logarithm", D + "gate_sample.cpp", "ratio ? std::log1p(out.threshold)", "ratio ? out.threshold",
           "test_verdict_gate", "the size that a large tolerance stands for"),
    Mutant("gate: pairs crosswise", D + "gate_tries.cpp", "out.head.push_back(*head);", "out.head.insert(out.head.begin(), *head);",
           "test_verdict_gate", "pairing: what the machine did to both launches of a pair would count as noise", everyday=True),
    Mutant("gate: spoilt pairs count", D + "gate_tries.cpp", "if (one == nullptr || spoilt(*one)) continue;", "if (one == nullptr) continue;",
           "test_verdict_gate", "verdicts on launches that something else disturbed"),
    Mutant("gate: one try more", D + "gate_tries.cpp", "dropped > policy.most_repeats", "dropped > policy.most_repeats + 1",
           "test_verdict_gate", "the limit of repeats"),
    Mutant("gate: base fails as well", D + "gate_tries.cpp", "return count.base_failed == 0 && count.head_failed",
           "return count.head_failed", "test_verdict_gate", "a broken machine would be blamed on head"),
    Mutant("gate: one accident is a pattern", D + "gate_tries.cpp", "count.head_failed >= policy.least_failures", "count.head_failed >= 1",
           "test_verdict_gate", "false blocks by one crash"),
    Mutant("gate: order does not alternate", V + "gate_schedule.cpp", "((drawn ^ pair) & 1) != 0", "(drawn & 1) != 0", "test_verdict_gate",
           "a drift of the machine would be taken for a change", everyday=True),
    Mutant("gate: one first order for all cells", V + "gate_schedule.cpp", "0x9e3779b97f4a7c15ull * (cell + 1)", "0x9e3779b97f4a7c15ull",
           "test_verdict_gate", "a drift would fall on one arm of all cells alike"),
)

CODES = (
    Mutant("gate: invalid before missing", V + "gate.cpp", "if (counts.missing > 0) return ExitCode::not_comparable;\n",
           "if (counts.invalid > 0) return ExitCode::measurement_failed;\n  if (counts.missing > 0) return ExitCode::not_comparable;\n",
           "test_verdict_gate", "the exit code that CI acts on"),
    Mutant("gate: regressed comes last", V + "gate.cpp", "if (counts.regressed > 0) return ExitCode::regression;",
           "if (counts.regressed > 0 && counts.invalid == 0) return ExitCode::regression;", "test_verdict_gate",
           "a regression would hide behind a broken cell", everyday=True),
    Mutant("gate: nothing compared is green", V + "gate.cpp", "return counts.compared == 0 ? ExitCode::not_comparable : ExitCode::nothing_worse;",
           "return ExitCode::nothing_worse;", "test_verdict_gate", "an empty gate would let everything through", everyday=True),
    Mutant("gate: inconclusive is green", V + "gate.cpp", "if (counts.inconclusive > 0) return ExitCode::inconclusive;", "",
           "test_verdict_gate", "noise would let everything through"),
    Mutant("compare: regressed comes last", V + "compare.cpp", "if (counts.regressed > 0) return ExitCode::regression;",
           "if (counts.regressed > 0 && counts.missing == 0) return ExitCode::regression;", "test_verdict_rules",
           "a regression would hide behind a missing cell"),
    Mutant("compare: nothing compared is green", V + "compare.cpp",
           "return counts.compared == 0 ? ExitCode::not_comparable : ExitCode::nothing_worse;", "return ExitCode::nothing_worse;",
           "test_verdict_cells", "an empty comparison would be green", everyday=True),
    Mutant("exit codes: inconclusive is 3", "harness/contract/status.hpp", "inconclusive = 4,", "inconclusive = 6,", "test_status",
           "what CI and scripts read", everyday=True, compile=("tests/contract/status_test.cpp",)),
    Mutant("statuses: a crash is out of memory", "harness/contract/status.cpp", '{Status::crashed, "crashed"},', '{Status::crashed, "oom"},',
           "test_catalogues", "what a launch died of"),
)

COMPARE = (
    Mutant("compare: no margin", D + "judge.cpp", "constexpr double null_share = 0.25;", "constexpr double null_share = 0.0;",
           "test_verdict_rules", "changes far below the tolerance would block"),
    Mutant("compare: any size blocks", D + "judge.cpp", "if (p.worse < alpha && item.worse.diff >= limit)", "if (p.worse < alpha)",
           "test_verdict_rules", "changes below the tolerance would block"),
    Mutant("compare: the bound is not looked at", D + "judge.cpp", "return bound < pass_limit * item.theta ?", "return true ?",
           "test_verdict_rules", "pass instead of inconclusive, whatever the noise", everyday=True),
    Mutant("compare: no correction over the rows", D + "judge.cpp", "const auto worse_adjusted = stats::holm_adjusted(worse);",
           "const auto worse_adjusted = worse;", "test_verdict_rules", "false alarms of large suites"),
    Mutant("compare: advisory rows weaken the others", D + "judge.cpp", "(rows[item.row].blocking ? blocking : advisory).push_back(&item);",
           "blocking.push_back(&item);", "test_verdict_rules", "power of the rows that count"),
    Mutant("compare: direction of a metric", D + "row_builder.cpp", "row.better == Better::higher ? stats::mirrored(*sample) : *sample",
           "row.better == Better::lower ? stats::mirrored(*sample) : *sample", "test_verdict_rules", "every verdict", everyday=True),
    Mutant("compare: a cell's own tolerance is forgotten", D + "row_builder.cpp", "own->second.relative.value_or(row.tolerance)", "row.tolerance",
           "test_verdict_rules", "what a suite says is tolerated"),
    Mutant("compare: disturbed launches are failures", D + "outcome.cpp", " - count(Status::disturbed);", ";", "test_verdict_cells",
           "a disturbed machine would be blamed on head"),
)

TREND = (
    Mutant("trend: the machine blocks", V + "trend.cpp", " && !alarm.machine;", ";", "test_verdict_trend",
           "a slow machine would block every merge", everyday=True),
    Mutant("trend: better is worse", D + "trend_alarms.cpp", "out.worse = shift.up == rule.higher_is_worse;",
           "out.worse = shift.up != rule.higher_is_worse;", "test_verdict_trend", "the direction of every alarm"),
    Mutant("trend: the control build is added", D + "trend_track.cpp", "tip.tip[i] - *reference", "tip.tip[i] + *reference",
           "test_verdict_trend", "what the machine does would count twice"),
    Mutant("trend: the oldest acknowledgement counts", V + "trend.cpp", "known.night >= out->night", "known.night <= out->night",
           "test_verdict_trend", "alarms would come back after they were acknowledged"),
    Mutant("trend: one night names a commit", D + "trend_alarms.cpp", "constexpr std::size_t sure_nights = 5;",
           "constexpr std::size_t sure_nights = 1;", "test_verdict_trend", "commit ranges that do not hold the culprit"),
    Mutant("trend: small changes stand", D + "trend_alarms.cpp", "out.small = sign * sample->diff < rule.theta / 2;", "out.small = false;",
           "test_verdict_trend", "alarms about changes that nobody asked for"),
    Mutant("trend: an alarm that blocks is green", V + "trend.cpp",
           "if (std::any_of(trend.rows.begin(), trend.rows.end(), blocks)) return ExitCode::regression;", "", "test_verdict_trend",
           "alarms that nobody reads", everyday=True),
    Mutant("trend: creep without certainty", V + "trend.cpp", "worse - certainty * error > threshold_of", "worse > threshold_of",
           "test_verdict_trend", "creep marks made by noise"),
)

MUTANTS = PAIRED + CORRECTIONS + POWER + RANDOMISATION + SERIES + GATE + CODES + COMPARE + TREND
