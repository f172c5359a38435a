"""The loop every worker shares: first step, warm-up until settled, measured steps without host synchronisation."""

import dataclasses
import time
from collections.abc import Callable

import torch

from contract import Progress
from settled import settled

MIB = 1024.0 * 1024.0
POLL_S = 0.0005


class CpuClock:
    """Host clock between steps."""

    def __init__(self, marks: int) -> None:
        self._marks = [0] * marks

    def mark(self, index: int) -> None:
        self._marks[index] = time.perf_counter_ns()

    def drain(self, last: int, alive: Callable[[int], None]) -> None:
        pass

    def elapsed_ms(self, index: int) -> float:
        return (self._marks[index + 1] - self._marks[index]) / 1e6


class CudaClock:
    """CUDA events between steps, all made before the first one is recorded."""

    def __init__(self, marks: int) -> None:
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(marks)]

    def mark(self, index: int) -> None:
        self._events[index].record()

    def drain(self, last: int, alive: Callable[[int], None]) -> None:
        done = 0
        while done < last:
            before = done
            while done < last and self._events[done + 1].query():
                done += 1
            if done > before:  # a stuck device says nothing, so that the launcher sees a hang
                alive(done)
            if done < last:
                time.sleep(POLL_S)
        torch.cuda.synchronize()

    def elapsed_ms(self, index: int) -> float:
        return self._events[index].elapsed_time(self._events[index + 1])


class Device:
    """What the loop needs from a device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.cuda = device.type == "cuda"

    def synchronize(self) -> None:
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def clock(self, marks: int) -> CpuClock | CudaClock:
        return CudaClock(marks) if self.cuda else CpuClock(marks)

    def reset_peaks(self) -> None:
        if self.cuda:
            torch.cuda.reset_peak_memory_stats(self.device)

    def peaks(self) -> dict:
        if not self.cuda:
            return {"allocated_mib": None, "active_mib": None, "reserved_mib": None}
        stats = torch.cuda.memory_stats(self.device)
        return {f"{kind}_mib": stats[f"{kind}_bytes.all.peak"] / MIB for kind in ("allocated", "active", "reserved")}

    def graph_pools_mib(self) -> float | None:
        """What the pools of captured graphs hold, which the peaks miss once the counters were reset after the capture."""
        if not self.cuda:
            return None
        segments = torch.cuda.memory_snapshot()
        return sum(segment["total_size"] for segment in segments if tuple(segment["segment_pool_id"]) != (0, 0)) / MIB

    def memory_method(self) -> str:
        return "torch.cuda.memory_stats; outside the allocator not measured" if self.cuda else "not measured"


@dataclasses.dataclass
class Result:
    step_ms: list[float] = dataclasses.field(default_factory=list)
    first_step_s: float = 0.0
    measured_from: int = 0
    settled: bool = False
    measured_s: float = 0.0
    losses: list[torch.Tensor] = dataclasses.field(default_factory=list)
    last_loss: torch.Tensor | None = None
    first_step_peaks: dict = dataclasses.field(default_factory=dict)
    steady_peaks: dict = dataclasses.field(default_factory=dict)
    graph_pools_mib: float | None = None
    trace_step_ms: list[float] = dataclasses.field(default_factory=list)


class Loop:
    """`step` runs one training iteration and returns its detached loss; `any_rank` says whether a condition holds on any rank."""

    def __init__(self, step: Callable[[], torch.Tensor], measure: dict, device: Device, progress: Progress,
                 any_rank: Callable[[list[bool]], list[bool]]) -> None:
        self._train = step
        self._measure = measure
        self._device = device
        self._progress = progress
        self._any_rank = any_rank
        self._index = 0
        self.result = Result()

    def run(self, trace_path: str | None = None) -> Result:
        self._first_step()
        self._warm_up()
        self._steady_steps()
        if trace_path and self._measure.get("trace_steps", 0) > 0:
            self._traced_steps(trace_path)
        return self.result

    def _first_step(self) -> None:
        self._progress.phase("first_step")
        self._device.synchronize()
        self._device.reset_peaks()
        start = time.perf_counter()
        self._step()
        self._device.synchronize()
        self.result.first_step_s = time.perf_counter() - start
        self.result.step_ms.append(self.result.first_step_s * 1e3)
        self.result.measured_from = 1
        self.result.first_step_peaks = self._device.peaks()

    def _warm_up(self) -> None:
        """Blocks of steps until their times settle on every rank, or a cap is reached."""
        self._progress.phase("warmup")
        block = self._measure["warmup_block"]
        start = time.perf_counter()
        times: list[float] = []
        while not self.result.settled and len(times) < self._measure["warmup_max_steps"]:
            taken = self._timed_steps(block)
            times += taken
            self.result.step_ms += taken
            self.result.measured_from = len(self.result.step_ms)
            late = time.perf_counter() - start > self._measure["warmup_max_s"]
            unsettled, late = self._any_rank([not settled(times, block), late])
            self.result.settled = not unsettled
            if late:
                break

    def _steady_steps(self) -> None:
        self._progress.phase("measure")
        self._device.reset_peaks()
        start = time.perf_counter()
        taken = self._timed_steps(self._measure["steps"])
        self.result.measured_s = time.perf_counter() - start
        self.result.steady_peaks = self._device.peaks()
        self.result.graph_pools_mib = self._device.graph_pools_mib()
        self.result.step_ms += taken

    def _traced_steps(self, path: str) -> None:
        """A pass of its own under torch.profiler, whose trace file the harness reads like its own worker's."""
        from torch.profiler import ProfilerActivity, profile, record_function

        self._progress.phase("trace")
        count = self._measure["trace_steps"]
        activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if self._device.cuda else [])
        with profile(activities=activities) as profiler:
            for _ in range(2):  # the profiler's own first use
                self._step()
            clock = self._device.clock(count + 1)
            clock.mark(0)
            for i in range(count):
                with record_function(f"ProfilerStep#{i}"):
                    self._step()
                clock.mark(i + 1)
            clock.drain(count, lambda done: None)
            self._device.synchronize()
        profiler.export_chrome_trace(path)
        self.result.trace_step_ms = [clock.elapsed_ms(i) for i in range(count)]

    def _step(self) -> None:
        loss = self._train()
        self.result.last_loss = loss
        if len(self.result.losses) < self._measure["losses"]:
            self.result.losses.append(loss)
        self._index += 1

    def _timed_steps(self, count: int) -> list[float]:
        """Submits `count` steps with a mark before and after each, no waiting in between, then waits for the last."""
        clock = self._device.clock(count + 1)
        base = self._index
        clock.mark(0)
        for i in range(count):
            self._step()
            clock.mark(i + 1)
            self._progress.step(self._index - 1)
        clock.drain(count, lambda done: self._progress.step(base + done))
        return [clock.elapsed_ms(i) for i in range(count)]
