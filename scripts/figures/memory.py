"""Memory over one step: a step plot over its phases, one panel a cell that has them."""

import look
import records

CURVES = [("reserved_mib", "reserved", look.GREEN, ":"), ("peak_mib", "peak allocated", look.VERMILION, "--"),
          ("allocated_mib", "allocated at the end", look.BLUE, "-")]


def phases_of(cell: records.Cell) -> list[dict]:
    """Of the last launch that is ok and has them: the allocator repeats itself."""
    return next((phases for launch in reversed(cell.ok) if (phases := records.memory_phases(launch))), [])


def draw_cell(axis, cell: records.Cell, phases: list[dict]) -> None:
    axis.set_title(look.short_name(cell.id), loc="left")
    edges = range(len(phases) + 1)
    for key, label, colour, dashes in CURVES:
        values = [phase[key] if phase.get(key) is not None else float("nan") for phase in phases]
        if any(value == value for value in values):
            axis.stairs(values, edges, baseline=None, color=colour, linestyle=dashes, linewidth=1.3, label=label)
    names = [look.plain(phase["phase"], 14) for phase in phases]
    axis.set_xticks([edge + 0.5 for edge in edges[:-1]], names, rotation=25, ha="right", rotation_mode="anchor")
    axis.tick_params(axis="x", length=0)
    for edge in edges[1:-1]:
        axis.axvline(edge, color="#D9D9D9", linewidth=0.5, zorder=0)
    axis.set_xlim(0, len(phases))
    axis.set_ylim(bottom=0)
    axis.set_ylabel("memory (MiB)")


def draw(cells: list[records.Cell]) -> list:
    """No figure when no cell tells of its memory by phase."""
    found = [(cell, phases) for cell in cells if (phases := phases_of(cell))]
    figures = []
    for page in look.pages(found):
        figure, axes = look.panels(len(page), height=2.2)
        for axis, (cell, phases) in zip(axes, page):
            draw_cell(axis, cell, phases)
        handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())}
        figure.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=len(handles))
        figures.append(figure)
    return figures
