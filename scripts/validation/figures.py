"""Each figure beside its bound (thresholds.json)."""

import math
from collections.abc import Callable

import settings

PASS, FAIL, REPORTED, NOT_MEASURED = "pass", "fail", "reported", "not measured"
Done = list[tuple[dict, dict]]  # trials with their results


def figure(name: str, setting: str, value: float | None, bound: str, outcome: str, share: dict | None = None, note: str = "") -> dict:
    return {"name": name, "setting": setting, "value": value, "lower": share["lower"] if share else None,
            "upper": share["upper"] if share else None, "trials": share["trials"] if share else None, "bound": bound, "outcome": outcome,
            "note": note}


def judged(ok: bool) -> str:
    return PASS if ok else FAIL


def percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def binomial_two_sided(successes: int, trials: int) -> float:
    """Exact p of an even split."""
    chances = [math.comb(trials, k) / 2**trials for k in range(trials + 1)]
    return min(1.0, sum(chance for chance in chances if chance <= chances[successes] * (1 + 1e-9)))


def of(done: Done, trial: str, name: str | None = None, **wanted) -> Done:
    return [(setting, result) for setting, result in done if setting["trial"] == trial and name in (None, setting["name"])
            and all(setting.get(key) == value for key, value in wanted.items())]


def design_text(setting: dict) -> str:
    return "" if setting["design"] == "sequential" else ", fixed design 5,15"


def quiet(done: Done) -> Done:
    return [(setting, result) for setting, result in of(done, "gates") if not setting["planted"]["rows"]]


def false_blocks(done: Done, bounds: dict) -> list[dict]:
    out = []
    for setting, result in quiet(done):
        s_d, share = settings.s_d_of(setting["model"]), result["false_block"]
        limit = bounds["at_most"] if s_d <= bounds["at_most_up_to_s_d"] + 1e-9 else bounds["at_most_above"]
        known = s_d <= bounds["above_holds_up_to_s_d"] + 1e-9
        enough = share["trials"] >= bounds["least_gates_per_setting"]
        out.append(figure("false_blocks", f"{setting['name']}, s_d {percent(s_d)}{design_text(setting)}", share["share"],
                          f"<= {limit} in {bounds['least_gates_per_setting']} gates or more" if known else "-",
                          judged(share["share"] <= limit and enough) if known else REPORTED, share))
    return out


def symmetry(done: Done, bounds: dict) -> list[dict]:
    results = [result for setting, result in quiet(done) if setting["design"] == "sequential"]
    worse, better = (sum(result[key] for result in results) for key in ("false_regressed_rows", "improved_rows"))
    p = binomial_two_sided(worse, worse + better)
    return [figure("symmetry", f"{worse} false regressions, {better} false improvements in {sum(r['rows'] for r in results)} rows", p,
                   f">= {bounds['p_at_least']}", judged(p >= bounds["p_at_least"]))]


def power(done: Done, bounds: dict, design: str) -> list[dict]:
    out = []
    for setting, result in of(done, "gates", "planted", design=design):
        s_d, planted, share = setting["model"]["s_d"], setting["planted"], result["found"]
        table = bounds["table"][str(s_d)].get(str(planted["effect"]))
        limit = None if table is None else round(table - bounds["less"], 4)
        out.append(figure("power", f"{planted['rows']} of {percent(planted['effect'])}, s_d {percent(s_d)}{design_text(setting)}", share["share"],
                          "-" if limit is None else f">= {limit}", REPORTED if limit is None else judged(share["share"] >= limit), share,
                          "not blocked by design: it is for the trend to find" if limit is None else ""))
    return out


def power_aim(done: Done, bounds: dict) -> list[dict]:
    return [figure("power_aim", "1 of 2 %, s_d 0.5 %", result["found"]["share"], f">= {bounds['at_least']}",
                   judged(result["found"]["share"] >= bounds["at_least"]), result["found"])
            for setting, result in of(done, "gates", "planted", design="sequential")
            if setting["model"]["s_d"] == 0.005 and setting["planted"] == {"rows": 1, "effect": 0.02}]


def sequential_launches(done: Done, bounds: dict) -> list[dict]:
    out = []
    pairs = {design: {setting["seed"]: (setting, result) for setting, result in of(done, "gates", design=design)}
             for design in settings.DESIGNS}
    bound_ones = {(0.005, 1, 0.02), (0.02, 1, 0.05)}
    for seed, (setting, result) in pairs["sequential"].items():
        if seed not in pairs["fixed"]:
            continue
        fixed = pairs["fixed"][seed][1]
        s_d, planted = setting["model"]["s_d"], setting["planted"]
        text = f"{planted['rows']} of {percent(planted['effect'])}" if planted["rows"] else "quiet"
        bound = (not planted["rows"] and s_d <= 0.02) or (s_d, planted["rows"], planted["effect"]) in bound_ones
        ratio = (result["new_pairs"] / result["gates"]) / (fixed["new_pairs"] / fixed["gates"])
        per_cell = [one["new_pairs"] / one["gates"] / 120 for one in (result, fixed)]
        out.append(figure("sequential_launches", f"{text}, s_d {percent(s_d)}", ratio, f"<= {bounds['at_most']}" if bound else "-",
                          judged(ratio <= bounds["at_most"]) if bound else REPORTED, None,
                          f"new pairs per cell {per_cell[0]:.2f}, fixed {per_cell[1]:.2f}; false blocks {result['false_block']['share']:.4f}, "
                          f"fixed {fixed['false_block']['share']:.4f}"))
    return out


def test_level(done: Done, bounds: dict) -> list[dict]:
    out = []
    for setting, result in of(done, "level"):
        share = result["rejected"]
        out.append(figure("test_level", f"{setting['name']}, {setting['pairs']} pairs", share["share"],
                          f"{bounds['at_least']} to {bounds['at_most']}",
                          judged(bounds["at_least"] <= share["share"] <= bounds["at_most"]), share))
    return out


def go_data(done: Done, rows: dict, level: dict) -> list[dict]:
    out = []
    for setting, result in of(done, "pairs"):
        share = result["false_rows"]
        out.append(figure("go_false_per_test", setting["name"], share["share"], f"<= {rows['at_most']}",
                          judged(share["share"] <= rows["at_most"]), share,
                          f"{result['regressed']} regressed, {result['improved']} improved, {result['inconclusive']} inconclusive rows; "
                          f"{result['blocked_gates']['hits']} of {result['gates']} gates block"))
    for setting, result in of(done, "pairs"):
        share, interleaved = result["rejected_at_005"], setting["name"].startswith("odd")
        out.append(figure("go_test_level", setting["name"], share["share"], f"<= {level['at_most']}" if interleaved else "-",
                          judged(share["share"] <= level["at_most"]) if interleaved else REPORTED, share,
                          "" if interleaved else "launches of two times are not interleaved: the machine's drift is in it"))
    return out


def change_points(done: Done, bounds: dict, published: list[list[int]]) -> list[dict]:
    found = of(done, "changes")[0][1]["found"]
    same = sum(one == other for one, other in zip(found, published, strict=True))
    return [figure("change_points", f"TigerBeetle, {len(published)} settings", same, f">= {bounds['lists']}", judged(same >= bounds["lists"]), None,
                   f"{sum(map(len, published))} change points in all")]


def moderated(done: Done, bounds: dict) -> list[dict]:
    out = []
    for setting, result in of(done, "moderated"):
        level, gain = result["level_moderated"], result["found_moderated"]["share"] - result["found_plain"]["share"]
        text = f"{setting['pairs']} pairs, prior wanders by 20 %"
        out.append(figure("moderated_variance", f"level, {text}", level["share"], f"<= {bounds['level_at_most']}",
                          judged(level["share"] <= bounds["level_at_most"]), level,
                          f"plain {result['level_plain']['share']:.4f}; prior refused in {result['refused']['share']:.4f}"))
        bound = setting["pairs"] == 10
        out.append(figure("moderated_variance", f"power gained for 2 % at s_d 2 %, {text}", gain, f">= {bounds['gain_at_least']}" if bound else "-",
                          judged(gain >= bounds["gain_at_least"]) if bound else REPORTED, None,
                          f"{result['found_plain']['share']:.3f} to {result['found_moderated']['share']:.3f} of 'd <= theta / 4' rejected"))
    return out


def nightly(done: Done, bounds: dict) -> list[dict]:
    out = []
    for setting, result in of(done, "nights"):
        share, step = result["alarm"], setting.get("step", 0)
        if step == 0:
            out.append(figure("nightly", f"false alarms, {setting['name']}", share["share"], f"<= {bounds['false_at_most']}",
                              judged(share["share"] <= bounds["false_at_most"]), share, f"blocking {result['blocks']['share']:.4f}"))
            continue
        two = abs(step / setting["noise"] - 2) < 1e-9
        delay, placed = result["median_delay"], result["placed"]
        out.append(figure("nightly", f"nights until found, {setting['name']}", delay, f"<= {bounds['median_delay_at_most']}" if two else "-",
                          judged(delay <= bounds["median_delay_at_most"]) if two else REPORTED, None, f"found in {share['share']:.3f}"))
        out.append(figure("nightly", f"placed within two nights, {setting['name']}", placed["share"], f">= {bounds['placed_at_least']}",
                          judged(placed["share"] >= bounds["placed_at_least"]), placed))
    return out


def weekly(done: Done, bounds: dict) -> list[dict]:
    out = []
    for setting, result in of(done, "weekly"):
        found = result["found"]
        if not setting.get("step"):
            independent = "r1" not in setting
            out.append(figure("weekly", f"series with a false change, {setting['name']}", found["share"],
                              f"<= {bounds['false_at_most']}" if independent else "-",
                              judged(found["share"] <= bounds["false_at_most"]) if independent else REPORTED, found,
                              f"searched in {result['searched']['share']:.3f}: no alarm stands"))
            continue
        placed, three = result["placed"], abs(setting["step"] / setting["noise"] - 3) < 1e-9
        out.append(figure("weekly", f"placed within two nights, {setting['name']}", placed["share"],
                          f">= {bounds['placed_at_least']}" if three else "-",
                          judged(placed["share"] >= bounds["placed_at_least"]) if three else REPORTED, placed, f"found in {found['share']:.3f}"))
    return out


def speed(done: Done, bounds: dict, quick: bool) -> list[dict]:
    out = []
    for _, result in of(done, "speed"):
        gate, night = bounds["speed_gate_s"], bounds["speed_history_s"]
        sizes = f"{result['cells']} cells x {result['metrics']} metrics x {result['launches_an_arm']} launches an arm"
        timed = (("speed_gate_s", f"gate, {design}: {sizes}", result[f"gate_{design}_s"], gate) for design in settings.DESIGNS)
        series = f"history: {result['nights']} nights x {result['series']} series"
        for name, text, seconds, bound in [*timed, ("speed_history_s", series, result["history_s"], night)]:
            out.append(figure(name, text, seconds, "-" if quick else f"<= {bound['at_most']}",
                              REPORTED if quick else judged(seconds <= bound["at_most"]), None, "CPU seconds, values in memory"))
        out.append(figure("speed_gate_s", f"compare of two runs: {result['compared_values']} launch values", result["compare_s"], "-", REPORTED,
                          None, "CPU seconds, values in memory"))
    return out


def against_benchstat(bounds: dict, measured: dict | None) -> dict:
    limit = bounds["times_at_least"]
    if measured is None:
        return figure("speed_benchstat", "1,000,000 launch values", None, f">= {limit}", NOT_MEASURED, None,
                      "scripts/validate_statistics --benchstat PROGRAM")
    times = measured["benchstat_s"] / measured["compare_s"]
    return figure("speed_benchstat", f"{measured['values']:,} launch values", times, f">= {limit}", judged(times >= limit), None,
                  f"CPU seconds, fastest of {measured['rounds']}: benchstat {measured['benchstat_s']:.2f} with the reading of its text, "
                  f"compare {measured['compare_s']:.2f} with the values in memory; {measured['machine']}, {measured['made_at']}")


def on_h200(bounds: dict, own: dict | None) -> list[dict]:
    least, most, ten = bounds["h200_launches"]["at_least"], bounds["h200_repaired_gates"]["blocked_at_most"], bounds["h200_planted"]["at_least"]
    if own is None:
        limits = {"h200_launches": f">= {least}", "h200_repaired_gates": f"<= {most}", "h200_planted": f">= {ten}"}
        return [figure(name, "real H200", None, limit, NOT_MEASURED, None, "stepgauge calibrate there, then --launches RUN")
                for name, limit in limits.items()]
    spreads = ", ".join(f"{cell} {percent(value)}" for cell, value in own["s_d"].items())
    out = [figure("h200_launches", f"{own['cells']} cells", own["launches"], f">= {least}", judged(own["launches"] >= least and own["cells"] >= 4), None,
                  f"{own['measured_at']}; {own['not_ok']} launches not ok; s_d of throughput: {spreads}")]
    blocked = own["quiet"]["blocked_gates"]
    out.append(figure("h200_repaired_gates", f"{own['quiet']['gates']} gates of {own['gated']} cells", blocked["hits"], f"<= {most}",
                      judged(blocked["hits"] <= most), blocked, f"{own['quiet']['inconclusive']} of {own['quiet']['rows']} rows inconclusive"))
    for effect, result in own["planted"].items():
        found, bound = result["blocked_gates"], effect == 0.05
        out.append(figure("h200_planted", f"{percent(effect)} planted into one cell's numbers", 10 * found["share"],
                          f">= {ten}" if bound else "-", judged(10 * found["share"] >= ten) if bound else REPORTED, found, "of ten"))
    return out


def apart(bounds: dict, gates: list[dict], benchstat: dict | None, own: dict | None) -> list[dict]:
    """What is measured by calls of its own, and what cannot be measured here."""
    out = [against_benchstat(bounds["speed_benchstat"], benchstat)]
    blocked, wanted = sum(gate["exit_code"] == 1 for gate in gates), bounds["cpu_gates"]
    rows = {key: sum(gate[key] for gate in gates) for key in ("rows", "invalid", "inconclusive", "not_gateable")}
    note = (f"exit codes {sorted(gate['exit_code'] for gate in gates)}; of {rows['rows']} rows {rows['not_gateable']} could not be gated, "
            f"{rows['inconclusive']} are inconclusive, {rows['invalid']} invalid" if gates else "scripts/validate_statistics --cpu-gates 20")
    told = sum(gate["compared"] > 0 for gate in gates)  # a gate that compared nothing says nothing
    outcome = judged(blocked <= wanted["blocked_at_most"]) if told >= wanted["gates"] or blocked else NOT_MEASURED
    out.append(figure("cpu_gates", f"{told} of {wanted['gates']} gates that compared something", blocked if gates else None,
                      f"<= {wanted['blocked_at_most']}", outcome, None, note))
    return out + on_h200(bounds, own)


def all_figures(done: Done, bounds: dict, published: list[list[int]], gates: list[dict], benchstat: dict | None, own: dict | None,
                quick: bool) -> list[dict]:
    parts: list[Callable[[], list[dict]]] = [
        lambda: false_blocks(done, bounds["false_blocks"]), lambda: symmetry(done, bounds["symmetry"]),
        lambda: power(done, bounds["power"], "sequential"), lambda: power_aim(done, bounds["power_aim"]),
        lambda: sequential_launches(done, bounds["sequential_launches"]), lambda: power(done, bounds["power"], "fixed"),
        lambda: test_level(done, bounds["test_level"]), lambda: go_data(done, bounds["go_false_per_test"], bounds["go_test_level"]),
        lambda: change_points(done, bounds["change_points"], published), lambda: moderated(done, bounds["moderated_variance"]),
        lambda: nightly(done, bounds["nightly"]), lambda: weekly(done, bounds["weekly"]), lambda: speed(done, bounds, quick),
        lambda: apart(bounds, gates, benchstat, own)]
    return [one for part in parts for one in part()]
