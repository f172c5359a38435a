"""How many nodes the same step has in each of Python's intermediate representations, and what they take."""

import gc
import pathlib
import resource
import time
import tracemalloc
from collections.abc import Callable

import torch
from torch import Tensor, nn

from . import graphs
from .cell import first_line

MIB = 1024.0 * 1024.0
METHOD = ("memory_mib: growth of Python's allocations while it was made (tracemalloc, after garbage collection); "
          "rss_mib: growth of the resident set in another pass, which is also the one that was timed")
# AOT autograd makes both graphs of one joint graph, which goes when the second is there: their memory cannot be told apart.
TOGETHER = {"aot.backward": "aot.forward"}
IR_OF_KIND = {"dynamo": "dynamo", "aot_forward": "aot.forward", "aot_backward": "aot.backward"}

# Makes graphs and reports each as soon as it exists: (ir, graph)
Report = Callable[[str, torch.fx.GraphModule], None]
Maker = Callable[[Report], None]


def resident_mib() -> float:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def allocated_mib() -> float:
    return tracemalloc.get_traced_memory()[0] / MIB


class Pass:
    """One run of a maker: what each representation cost since the one before. Graphs are kept until the end, or their memory would
    be that of the next."""

    def __init__(self, memory: Callable[[], float]) -> None:
        self._memory = memory
        self.graphs: dict[str, list[torch.fx.GraphModule]] = {}
        self.mib: dict[str, float] = {}
        self.seconds: dict[str, float] = {}

    def run(self, maker: Maker) -> None:
        self._begin()
        maker(self._report)

    def _begin(self) -> None:
        gc.collect()
        self._before = self._memory()
        self._since = time.perf_counter()

    def _report(self, ir: str, graph: torch.fx.GraphModule) -> None:
        taken = time.perf_counter() - self._since
        self.graphs.setdefault(ir, []).append(graph)
        gc.collect()
        owner = TOGETHER.get(ir, ir)
        self.mib[owner] = self.mib.get(owner, 0.0) + self._memory() - self._before
        self.seconds[ir] = self.seconds.get(ir, 0.0) + taken
        self._begin()


def counted(maker: Maker, irs: list[str]) -> list[dict]:
    """The rows of one maker: a pass for time and resident set, another for Python's allocations, which are slow to follow."""
    timed = Pass(resident_mib)
    try:
        timed.run(maker)
        traced = allocations(maker)
    except Exception as error:  # whatever a representation cannot express is a result of the census
        return [absent(ir, first_line(error)) for ir in irs]
    return [row(ir, timed, traced) if ir in timed.graphs else absent(ir, "no such graph was made") for ir in irs]


def allocations(maker: Maker) -> Pass:
    tracemalloc.start(1)
    try:
        traced = Pass(allocated_mib)
        traced.run(maker)
    finally:
        tracemalloc.stop()
    return traced


def row(ir: str, timed: Pass, traced: Pass) -> dict:
    kinds: dict[str, int] = {}
    for graph in timed.graphs[ir]:
        for kind, count in graphs.kinds(graph).items():
            kinds[kind] = kinds.get(kind, 0) + count
    return {
        "ir": ir,
        "nodes": sum(graphs.count_nodes(graph) for graph in timed.graphs[ir]),
        "graphs": len(timed.graphs[ir]),
        "memory_mib": traced.mib.get(ir),
        "rss_mib": timed.mib.get(ir),
        "method": f"{METHOD}; counted with {TOGETHER[ir]}" if ir in TOGETHER else METHOD,
        "seconds": timed.seconds[ir],
        "kinds": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
    }


def absent(ir: str, reason: str) -> dict:
    return {"ir": ir, "nodes": None, "memory_mib": None, "rss_mib": None, "method": METHOD, "seconds": None, "kinds": {}, "absent": reason}


def census(model: nn.Module, batch: tuple[Tensor, Tensor], loss: Callable[[nn.Module], Tensor], autocast: Callable) -> list[dict]:
    """loss: see retrace.retrace; autocast: makes the context of the cell's precision."""
    from .retrace import retrace

    def symbolic(report: Report) -> None:
        report("fx.symbolic", torch.fx.symbolic_trace(model))

    def compiled(report: Report) -> None:
        retrace(model, loss, lambda kind, index, graph: report(IR_OF_KIND[kind], graph))

    def exported(report: Report) -> None:
        with autocast():
            report("export", torch.export.export(model, batch).graph_module)

    return [
        *counted(symbolic, ["fx.symbolic"]),
        *counted(compiled, ["dynamo", "aot.forward", "aot.backward"]),
        *counted(exported, ["export"]),
    ]
