"""Three pictures of the figures, in the look of scripts/plot."""

import pathlib
import sys

import settings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "figures"))
import look  # noqa: E402


def error_bars(axis, xs: list[float], shares: list[dict], label: str, style: tuple[str, str]) -> None:
    ys = [share["share"] for share in shares]
    spread = [[y - share["lower"] for y, share in zip(ys, shares)], [share["upper"] - y for y, share in zip(ys, shares)]]
    axis.errorbar(xs, ys, yerr=spread, label=label, color=style[0], linestyle=style[1], marker="o", markersize=3, capsize=2)


def false_blocks(done, bounds):
    figure, (axis,) = look.panels(1, 2.8)
    for design, style in zip(settings.DESIGNS, look.LINES):
        chosen = sorted(((s["model"]["s_d"], r["false_block"]) for s, r in done
                         if s["trial"] == "gates" and s["name"] == "quiet" and s["design"] == design), key=lambda one: one[0])
        error_bars(axis, [100 * s_d for s_d, _ in chosen], [share for _, share in chosen], design, style)
    limit = bounds["false_blocks"]
    axis.plot([0, 100 * limit["at_most_up_to_s_d"], 100 * limit["at_most_up_to_s_d"], 3], [limit["at_most"]] * 2 + [limit["at_most_above"]] * 2,
              color=look.GREY, linestyle=":", label="bound")
    axis.set(xlabel="median standard deviation of a pair, %", ylabel="A/A gates with a false block", xlim=(0, 3), ylim=(0, None))
    axis.legend()
    return figure


def power(done, bounds):
    figure, axes = look.panels(len(settings.S_D), 2.2)
    for axis, s_d in zip(axes, settings.S_D):
        for design, style in zip(settings.DESIGNS, look.LINES):
            chosen = sorted(((s["planted"]["effect"], r["found"]) for s, r in done if s["trial"] == "gates" and s["name"] == "planted"
                             and s["design"] == design and s["planted"]["rows"] == 1 and s["model"]["s_d"] == s_d), key=lambda one: one[0])
            error_bars(axis, [100 * effect for effect, _ in chosen], [share for _, share in chosen], design, style)
        table = bounds["power"]["table"][str(s_d)]
        axis.plot([100 * float(effect) for effect in table], [value - bounds["power"]["less"] for value in table.values()], color=look.GREY,
                  linestyle=":", marker="_", label="bound")
        axis.set_title(f"s_d {100 * s_d:.1f} %", loc="left")
        axis.set(xlabel="planted change, %", ylabel="found", ylim=(0, 1.03))
    axes[0].legend(loc="lower right")
    return figure


def launches(done, _):
    figure, (axis,) = look.panels(1, 2.8)
    for (design, rows), style in zip([(design, rows) for design in settings.DESIGNS for rows in (0, 1)], look.LINES):
        chosen = sorted((s["model"]["s_d"], r["new_pairs"] / r["gates"] / 120) for s, r in done
                        if s["trial"] == "gates" and s["name"] in ("quiet", "planted") and s["design"] == design
                        and s["planted"] == {"rows": rows, "effect": 0.05 if rows else 0})
        axis.plot([100 * s_d for s_d, _ in chosen], [pairs for _, pairs in chosen], color=style[0], linestyle=style[1], marker="o", markersize=3,
                  label=f"{design}, {'one row of 5 %' if rows else 'nothing planted'}")
    axis.set(xlabel="median standard deviation of a pair, %", ylabel="new pairs per cell", xlim=(0, 3), ylim=(0, None))
    axis.legend()
    return figure


def draw(done, bounds: dict, folder: pathlib.Path) -> list[str]:
    names = []
    for name, part in (("false_blocks", false_blocks), ("power", power), ("launches", launches)):
        names.append(look.save(part(done, bounds), folder, name)[0].name)
    return names
