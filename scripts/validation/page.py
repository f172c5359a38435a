"""The page of the figures, in Markdown."""

import figures

TITLES = {
    "false_blocks": "A/A gates: any false block",
    "symmetry": "Regressions and improvements are equally rare",
    "power": "Power: planted rows that the gate calls regressed",
    "power_aim": "The aim for small changes",
    "sequential_launches": "Launches of the design that stops early, over the fixed one",
    "test_level": "Level of one test",
    "go_false_per_test": "Go 1.17 control runs: rows called regressed or improved",
    "go_test_level": "Go 1.17 control runs: level of one test",
    "change_points": "Change points",
    "moderated_variance": "Moderated variance",
    "nightly": "Nightly alarms",
    "weekly": "The weekly search for changes",
    "speed_gate_s": "Speed: a gate",
    "speed_history_s": "Speed: a history",
    "speed_benchstat": "Speed: against benchstat",
    "cpu_gates": "A/A gates on this machine",
    "h200_launches": "H200: launches by calibrate",
    "h200_repaired_gates": "H200: gates of re-paired launches",
    "h200_planted": "H200: planted slowdowns",
}


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(int(value)) if float(value).is_integer() and abs(value) >= 1 else f"{value:.4g}"


def interval(one: dict) -> str:
    return "-" if one["lower"] is None else f"{one['lower']:.4f} to {one['upper']:.4f} ({one['trials']})"


def row(one: dict) -> str:
    outcome = f"**{one['outcome']}**" if one["outcome"] == figures.FAIL else one["outcome"]
    return f"| {one['setting']} | {number(one['value'])} | {interval(one)} | {one['bound']} | {outcome} | {one['note']} |"


def markdown(document: dict, bounds: dict, pictures: list[str]) -> str:
    all_of_them = document["figures"]
    counts = {outcome: sum(one["outcome"] == outcome for one in all_of_them)
              for outcome in (figures.PASS, figures.FAIL, figures.REPORTED, figures.NOT_MEASURED)}
    lines = ["# Figures of the statistics", "",
             f"Made by `scripts/validate_statistics{' --quick' if document['quick'] else ''}` on {document['made_at']}, {document['machine']}. "
             "Bounds: `thresholds.json`, committed before.",
             "Every trial is in `statistics.json` with its setting, seed and counts; each ran once. Intervals are Clopper-Pearson's, 95 %; in "
             "brackets the trials.",
             "Gates are of the design that stops early, which is the default, unless `fixed design` (`--pairs`) is said.", "",
             f"**{counts['pass']} pass, {counts['fail']} fail, {counts['reported']} reported without a bound, {counts['not measured']} not "
             "measured.**", ""]
    failed = [one for one in all_of_them if one["outcome"] == figures.FAIL]
    if failed:
        lines += ["Failed:", "", *[f"- {TITLES[one['name']]}: {one['setting']}: {number(one['value'])}, bound {one['bound']}" for one in failed], ""]
    for name, title in TITLES.items():
        chosen = [one for one in all_of_them if one["name"] == name]
        if not chosen:
            continue
        lines += [f"## {title}", "", f"{bounds[name]['what'][0].upper()}{bounds[name]['what'][1:]}.", "",
                  "| setting | value | interval | bound | outcome | |", "|---|---|---|---|---|---|", *map(row, chosen), ""]
    if pictures:
        lines += ["## Pictures", "", *[f"![{name}]({name})" for name in pictures], ""]
    return "\n".join(lines)
