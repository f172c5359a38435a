"""All-reduces as a user would time them with torch.distributed, by the rules of docs/metrics.md ("The all-reduce sweep")."""

import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from loop import Device

BLOCKS = 5
BUDGET_S = 2.0  # of all sizes together, as planned
PATIENCE_S = 4.0  # after that no larger size is begun
LATENCY_BYTES = 8


def sweep(device: Device, largest: Callable[[list[float]], list[float]]) -> dict:
    """`communication` of the rank record. `largest`: each value's largest over the ranks."""
    if device.cuda:
        torch.cuda.empty_cache()
    sizes = [LATENCY_BYTES, *sizes_up_to(-largest([-cap(device)])[0])]
    buffer = torch.zeros(sizes[-1] // 4, device=device.device)
    out: dict = {"sweep": []}
    start = time.perf_counter()
    for size in sizes:
        if largest([time.perf_counter() - start])[0] > PATIENCE_S:
            out["sweep_stopped"] = f"{size} bytes and more would have taken too long"
            break
        point = time_size(buffer[: size // 4], device, largest, BUDGET_S / len(sizes))
        if size == LATENCY_BYTES:
            out["latency_us"] = point["time_us"]
        else:
            out["sweep"].append(point)
    return out


def cap(device: Device) -> float:
    """Largest buffer in bytes."""
    if not device.cuda:
        return 64 * 2**20
    return min(2**30, torch.cuda.mem_get_info(device.device)[0] / 3)


def sizes_up_to(most: float) -> list[int]:
    return [1024 * 4**power for power in range(11) if 1024 * 4**power <= most]


def time_size(tensor: torch.Tensor, device: Device, largest: Callable[[list[float]], list[float]], share_s: float) -> dict:
    for _ in range(5 if tensor.numel() <= 2**18 else 1):
        dist.all_reduce(tensor)
    device.synchronize()
    start = time.perf_counter()
    dist.all_reduce(tensor)
    device.synchronize()
    one_s = largest([time.perf_counter() - start])[0]
    iterations = max(1, min(1000, int(share_s / BLOCKS / one_s)))
    clock = device.clock(BLOCKS + 1)
    clock.mark(0)
    for block in range(BLOCKS):
        for _ in range(iterations):
            dist.all_reduce(tensor)
        clock.mark(block + 1)
    clock.drain(BLOCKS, lambda done: None)
    taken_us = [clock.elapsed_ms(block) * 1e3 / iterations for block in range(BLOCKS)]
    median_us, least_us = largest([statistics.median(taken_us), min(taken_us)])
    size, ranks = tensor.numel() * 4, dist.get_world_size()
    algorithm = size / median_us / 1e3
    return {"bytes": size, "time_us": median_us, "min_us": least_us, "algbw_gbps": algorithm,
            "busbw_gbps": algorithm * 2 * (ranks - 1) / ranks, "iterations": iterations * BLOCKS}
