"""What the compiler did in this process: captures, graph breaks, recompilations, time by stage, caches.

Everything is read from what PyTorch keeps anyway, when the report is asked for; a steady step is not watched."""

import collections
import dataclasses

import torch
import torch._dynamo
import torch._dynamo.output_graph
import torch._dynamo.utils as dynamo

from .graphs import TORCH, count_nodes

# More than a launch compiles; PyTorch keeps the last 64 else.
KEPT_METRICS = 4096


def seconds(*microseconds: int | None) -> float:
    return sum(value or 0 for value in microseconds) / 1e6


def first_lines(reason: str) -> str:
    """What and why of a graph break, without PyTorch's hints: "Call to `f()`: User-inserted graph break."."""
    last = reason.split("*** While handling this graph break, another graph break occurred: ***")[-1]
    lines = [line.strip() for line in last.strip().splitlines()]
    why = next((line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")), "")
    return f"{lines[0]}: {why}" if why else lines[0]


@dataclasses.dataclass
class Region:
    """One graph that dynamo captured."""

    compile_id: str
    nodes: int
    ended: str
    detail: list[dict] | None = None


def ended(graph: torch.fx.GraphModule) -> str:
    reason = getattr(graph, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return "whole frame"
    return "graph break: " + first_lines(reason.reason)


def recordings(device: torch.device) -> int:
    """CUDA graphs that the compiler recorded on this device so far."""
    if device.type != "cuda":
        return 0
    from torch._inductor import cudagraph_trees

    index = torch.cuda.current_device() if device.index is None else device.index
    manager = cudagraph_trees.get_manager(index, create_if_none_exists=False)
    if manager is None:
        return 0
    waiting = [node for nodes in manager.roots.values() for node in nodes]
    count = 0
    while waiting:
        node = waiting.pop()
        count += 1
        waiting += [child for children in node.children.values() for child in children]
    return count


class Watch:
    """Sees each graph on its way to the backend; the rest is PyTorch's own account."""

    def __init__(self, device: torch.device, detail) -> None:
        """detail: called with a graph for what a snapshot keeps of it, or None."""
        self._device = device
        self._detail = detail
        self._late_metrics: int | None = None
        self._late_regions: int | None = None
        self._early_recordings = 0
        self._paused = False
        self._left_out: set[int] = set()
        self.regions: list[Region] = []
        # What was compiled before this engine was made is not its own.
        dynamo.set_compilation_metrics_limit(KEPT_METRICS)
        dynamo.clear_compilation_metrics()
        dynamo.counters.clear()
        torch._dynamo.output_graph.graph_break_reasons.clear()

    def look(self, graph: torch.fx.GraphModule, inputs: list) -> None:
        """Called by the backend while it compiles."""
        if self._paused:
            return
        name = str(torch._guards.CompileContext.current_compile_id())
        detail = None if self._detail is None else self._detail(graph)
        self.regions.append(Region(name, count_nodes(graph), ended(graph), detail))

    def mark_late(self) -> None:
        """From here on a capture or a recompilation is one of a measured step."""
        self._late_metrics = len(dynamo.get_compilation_metrics())
        self._late_regions = len(self.regions)
        self._early_recordings = recordings(self._device)

    def paused(self):
        """Around compilations that are the harness's own."""
        return Pause(self)

    def report(self, mode: str, options: dict, export_s: float | None) -> dict:
        metrics = self._metrics()
        recorded = recordings(self._device)
        late_regions = 0 if self._late_regions is None else len(self.regions) - self._late_regions
        late_recordings = 0 if self._late_metrics is None else recorded - self._early_recordings
        stages = stage_times(metrics) | {"trace": export_s}
        return {
            "mode": mode,
            "options": options,
            "captures": len(self.regions) + recorded,
            "captures_late": late_regions + late_recordings,
            "captures_by_kind": {"dynamo": len(self.regions), "cuda_graph": recorded},
            "graph_breaks": graph_breaks(metrics),
            "recompiles": self._recompiles(),
            "stages_s": stages,
            "compile_s": sum(value for value in stages.values() if value is not None),
            "graph_nodes": sum(region.nodes for region in self.regions),
            "cudagraph_skips": dynamo.counters["inductor"].get("cudagraph_skips", 0),
        }

    def _metrics(self) -> list:
        return [entry for index, entry in enumerate(dynamo.get_compilation_metrics()) if index not in self._left_out]

    def _recompiles(self) -> list[dict]:
        out = []
        for index, entry in enumerate(dynamo.get_compilation_metrics()):
            if index in self._left_out or not entry.recompile_reason:
                continue
            out.append({
                "function": entry.co_name,
                "file": entry.co_filename,
                "line": entry.co_firstlineno,
                "guard": entry.recompile_reason,
                "late": self._late_metrics is not None and index >= self._late_metrics,
            })
        return out


class Pause:
    """What is compiled inside does not appear in the report."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def __enter__(self) -> None:
        self._watch._paused = True
        self._metrics = len(dynamo.get_compilation_metrics())
        self._breaks = len(torch._dynamo.output_graph.graph_break_reasons)
        self._counters = {name: collections.Counter(counter) for name, counter in dynamo.counters.items()}

    def __exit__(self, *error: object) -> None:
        self._watch._paused = False
        self._watch._left_out |= set(range(self._metrics, len(dynamo.get_compilation_metrics())))
        del torch._dynamo.output_graph.graph_break_reasons[self._breaks :]
        dynamo.counters.clear()
        dynamo.counters.update(self._counters)


def stage_times(metrics: list) -> dict[str, float | None]:
    """Seconds by stage, each without the stages inside it. The account of the forward frame holds the whole of dynamo, within
    it AOT autograd, within it inductor; the backward graph is compiled on its own."""
    dynamo_us = sum(entry.dynamo_cumulative_compile_time_us or 0 for entry in metrics)
    aot_us = sum(entry.aot_autograd_cumulative_compile_time_us or 0 for entry in metrics)
    inductor_us = sum(entry.inductor_cumulative_compile_time_us or 0 for entry in metrics if entry.is_forward)
    backward_us = sum(entry.backward_cumulative_compile_time_us or 0 for entry in metrics)
    capture_us = sum(entry.runtime_cudagraphify_time_us or 0 for entry in metrics)
    return {
        "dynamo": max(0.0, seconds(dynamo_us) - seconds(aot_us)),
        "aot_autograd": max(0.0, seconds(aot_us) - seconds(inductor_us)),
        "inductor": seconds(inductor_us, backward_us),
        "capture": seconds(capture_us) if capture_us else None,
    }


def frames() -> dict[str, tuple[str, str, int]]:
    """Function, file and line of each captured frame, by compile id."""
    return {
        entry.compile_id: (entry.co_name, entry.co_filename, entry.co_firstlineno)
        for entry in dynamo.get_compilation_metrics()
        if entry.co_name
    }


def graph_breaks(metrics: list) -> list[dict]:
    """Where graphs ended early, equal ones counted together: dynamo's own list, and frames that it gave up."""
    found: collections.Counter = collections.Counter()
    for reason in torch._dynamo.output_graph.graph_break_reasons:
        frame = reason.user_stack[-1] if reason.user_stack else None
        place = ("", 0, "") if frame is None else (frame.filename, frame.lineno, frame.name)
        found[(first_lines(reason.reason), *place)] += 1
    for entry in metrics:
        if entry.fail_type:
            place = (entry.fail_user_frame_filename or entry.co_filename, entry.fail_user_frame_lineno or entry.co_firstlineno)
            found[(first_lines(entry.fail_reason or entry.fail_type), *place, entry.co_name)] += 1
    keys = ("reason", "file", "line", "function")
    return [dict(zip(keys, key)) | {"count": count, "in_torch": in_torch(key[1])} for key, count in found.items()]


def in_torch(file: str) -> bool:
    """PyTorch's own Python, such as DDP's forward: not something that the model's author can change."""
    return file.startswith(TORCH)


def cache_counts() -> dict[str, int]:
    """Hits and misses of inductor's graph cache and of AOT autograd's, which lies before it: a hit there asks the former no more."""
    inductor, autograd = dynamo.counters["inductor"], dynamo.counters["aot_autograd"]
    return {
        "inductor_hits": inductor.get("fxgraph_cache_hit", 0),
        "inductor_misses": inductor.get("fxgraph_cache_miss", 0),
        "inductor_bypassed": inductor.get("fxgraph_cache_bypass", 0),
        "autograd_hits": autograd.get("autograd_cache_hit", 0),
        "autograd_misses": autograd.get("autograd_cache_miss", 0),
        "autograd_bypassed": autograd.get("autograd_cache_bypass", 0),
    }
