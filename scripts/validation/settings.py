"""What is simulated: every trial with its seed. Each runs once; none is chosen by its result."""

S_D = (0.005, 0.01, 0.014, 0.02, 0.028)
EFFECTS = (0.01, 0.02, 0.03, 0.05)
DESIGNS = ("sequential", "fixed")
FOUR = ["init_latency", "first_step_latency", "throughput", "peak_memory"]
FIRST_SEED = 20261130

# What spoils launches, one thing at a time: 30 cells of four metrics, s_d 1 % before the setting's own part of it.
SPOILT = {
    "launches of four metrics": {},
    "metrics of a launch correlated 0.8": {"correlation": 0.8},
    "random walk of 0.5 % a launch": {"random_walk": 0.005},
    "ramp of 0.2 % a launch": {"ramp": 0.002},
    "5 % of launches slow by 5 %": {"slow_share": 0.05, "slow_size": 0.05},
    "launches in two modes 1 % apart": {"modes_apart": 0.01},
    "head varies twice as much as base": {"head_spread": 2},
    "noisy, correlated steps (5 %, r1 0.9, 300)": {"sigma_w": 0.05, "r1": 0.9, "steps": 300},
    "few, correlated steps (1 %, r1 0.95, 50)": {"sigma_w": 0.01, "r1": 0.95, "steps": 50},
    "no shocks, all rows alike": {"shock_share": 0, "s_d_log_sd": 0},
}


def variance_of_steps(model: dict) -> float:
    """As launch_model.hpp has it."""
    sigma, r, m = model.get("sigma_w", 0.01), model.get("r1", 0.5), model.get("steps", 100)
    return sigma * sigma / m * ((1 + r) / (1 - r) - 2 * r * (1 - r**m) / (m * (1 - r) ** 2))


def s_d_of(model: dict) -> float:
    """Standard deviation of a pair's difference of the median row, with the parts that the setting adds; without shocks."""
    slow, drift = model.get("slow_share", 0), model.get("random_walk", 0) ** 2 + model.get("ramp", 0) ** 2
    added = 2 * slow * (1 - slow) * model.get("slow_size", 0) ** 2 + 0.5 * model.get("modes_apart", 0) ** 2 + model.get("grid", 0) ** 2 / 6
    return (model["s_d"] ** 2 + added + drift) ** 0.5


def gates(name: str, design: str, count: int, model: dict, rows: int = 0, effect: float = 0) -> dict:
    return {"name": name, "trial": "gates", "design": design, "gates": count, "model": model, "planted": {"rows": rows, "effect": effect}}


def quiet_gates(quick: bool) -> list[dict]:
    count = 300 if quick else 3000
    chosen = (0.005, 0.02) if quick else S_D
    out = [gates("quiet", design, count, {"s_d": s_d}) for s_d in chosen for design in DESIGNS]
    if quick:
        return out
    return out + [gates(name, "sequential", 1000, {"cells": 30, "metrics": FOUR, "s_d": 0.01} | more) for name, more in SPOILT.items()]


def grid_gates(quick: bool) -> list[dict]:
    """Values in steps as large as the tolerance, as memory may have them: some samples have no spread at all, by chance."""
    return [] if quick else [gates(f"values in steps of 2 %, {100 * s_d:g} % before", "sequential", 1000, {"s_d": s_d, "grid": 0.02})
                             for s_d in (0.01, 0.02)]


def planted_gates(quick: bool) -> list[dict]:
    if quick:
        return [gates("planted", "sequential", 300, {"s_d": s_d}, 1, effect) for s_d, effect in ((0.005, 0.02), (0.01, 0.03))]
    counts = {1: 1000, 3: 500, 20: 150}
    return [gates("planted", design, counts[rows], {"s_d": s_d}, rows, effect)
            for s_d in S_D for effect in EFFECTS for rows in counts for design in DESIGNS]


def levels(quick: bool) -> list[dict]:
    rounds = 4000 if quick else 20000
    plain = {"shock_share": 0, "s_d_log_sd": 0, "s_d": 0.01}
    models = {"plain": plain} if quick else {
        "plain": plain, "rows and shocks of the gates": {"s_d": 0.01}, "ramp of 0.2 % a launch": plain | {"ramp": 0.002},
        "random walk of 0.5 % a launch": plain | {"random_walk": 0.005}, "two modes 1 % apart": plain | {"modes_apart": 0.01},
        "head varies twice as much": plain | {"head_spread": 2}}
    return [{"name": name, "trial": "level", "pairs": pairs, "rounds": rounds, "model": model}
            for name, model in models.items() for pairs in (5, 10, 15)]


def moderated(quick: bool) -> list[dict]:
    return [{"name": "moderated", "trial": "moderated", "pairs": pairs, "rounds": 5000 if quick else 20000, "s_d": 0.02, "wander": 0.2,
             "effect": 0.02, "tolerance": 0.02} for pairs in (5, 10)]


def nights(quick: bool) -> list[dict]:
    series = 400 if quick else 1500
    outliers = {"outlier_share": 0.02, "outlier_size": 0.05}
    settings = {"quiet": {"noise": 0.01}, "quiet, 2 % outliers of five standard deviations": {"noise": 0.01} | outliers,
                "step of two standard deviations": {"noise": 0.01, "step": 0.02}}
    if not quick:
        settings |= {"quiet, noise a quarter of the tolerance": {"noise": 0.005}, "quiet, noise twice the tolerance": {"noise": 0.04},
                     "step of three standard deviations": {"noise": 0.01, "step": 0.03},
                     "step of five standard deviations": {"noise": 0.01, "step": 0.05}}
    return [{"name": name, "trial": "nights", "series": series} | one for name, one in settings.items()]


def weekly(quick: bool) -> list[dict]:
    """A quiet series of any noise, and losses in series that are too young for an alarm."""
    series = 400 if quick else 1500
    settings = {f"quiet, noise {text} the tolerance": {"noise": noise} for text, noise in
                (("a quarter of", 0.005), ("half of", 0.01), ("as large as", 0.02), ("twice", 0.04))}
    settings |= {f"quiet, noise half of the tolerance, r1 {r1}": {"noise": 0.01, "r1": r1} for r1 in (0.3, 0.6)}
    settings = {name: one | {"nights": 100} for name, one in settings.items()}
    settings |= {f"step of {words} standard deviations, 15 nights before and 10 after": {"noise": 0.01, "step": step, "nights": 25, "change": 15}
                 for words, step in (("two", 0.02), ("three", 0.03))}
    return [{"name": name, "trial": "weekly", "series": series} | one for name, one in settings.items()]


def speed(quick: bool) -> list[dict]:
    return [{"name": "speed", "trial": "speed", "cells": 1000 if quick else 10000, "launches": 20, "nights": 200 if quick else 1000,
             "series": 100 if quick else 500}]


def all_trials(quick: bool) -> list[dict]:
    """Seeds follow the place in this list. The two designs of a setting share one: they meet the same machines."""
    out = [*quiet_gates(quick), *planted_gates(quick), *levels(quick), *moderated(quick), *nights(quick), *speed(quick), *grid_gates(quick), *weekly(quick)]
    seeds: dict[str, int] = {}
    for trial in out:
        key = str({name: value for name, value in trial.items() if name != "design"})
        trial["seed"] = seeds.setdefault(key, FIRST_SEED + len(seeds))
    return out
