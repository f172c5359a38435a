"""PyTorch's DDP over a process group that torch.distributed was not told of, as C++ makes it."""

import datetime
import json
import pathlib

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing
from conftest import BATCH, Engine, Run, make_batch, make_cell, make_tensors

RANKS = 2
DDP = {"ranks": RANKS, "first_bucket_mb": 0.005, "bucket_cap_mb": 0.01, "gradient_as_bucket_view": True, "find_unused": False,
       "static_graph": False}


def make_group(rank: int, path: str) -> dist.ProcessGroup:
    store = dist.FileStore(path, RANKS)
    group = dist.ProcessGroup(store, rank, RANKS)
    gloo = dist.ProcessGroupGloo(store, rank, RANKS, datetime.timedelta(seconds=120))
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
    group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    return group


def train(rank: int, folder: str, changes: dict) -> None:
    """One rank with its share of the batch; the compiler stops at its graphs."""
    from torch._dynamo.backends.debugging import aot_eager

    from stepgauge_engine.compiler import LookingInductor

    def call(self, graph, inputs):
        self._look(graph, inputs)
        return aot_eager(graph, inputs)

    LookingInductor.__call__ = call
    torch.set_num_threads(1)
    cell = make_cell(**changes)
    weights, buffers = make_tensors(cell)
    if rank != 0:  # rank 0's are broadcast
        weights = {name: torch.zeros_like(value) for name, value in weights.items()}
    engine = Engine(json.dumps(cell), "cpu", weights, buffers, "{}")
    share = slice(rank * BATCH // RANKS, (rank + 1) * BATCH // RANKS)
    engine.set_batch(*(tensor[share].contiguous() for tensor in make_batch(cell)))
    engine.wrap(make_group(rank, f"{folder}/store"))
    engine.prepare()
    losses = [engine.step().item() for _ in range(3)]
    result = {"losses": losses, "used": json.loads(engine.settings())["used"], "report": json.loads(engine.report()),
              "norms": {name: parameter.grad.norm().item() for name, parameter in engine.parameters()}}
    pathlib.Path(f"{folder}/{rank}.json").write_text(json.dumps(result))
    engine.close()


def train_all(folder: pathlib.Path, **changes) -> list[dict]:
    torch.multiprocessing.spawn(train, (str(folder), changes | {"ddp": DDP | changes.get("ddp", {})}), nprocs=RANKS)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(RANKS)]


def mean_losses(results: list[dict]) -> list[float]:
    return [sum(step) / RANKS for step in zip(*(result["losses"] for result in results))]


@pytest.mark.parametrize(("mode", "options", "captures"), [
    ("python_eager", {}, None),
    ("compile.default", {}, 5),
    ("compile.default", {"ddp_optimizer": False}, 1),
    ("compile.export", {"ddp_optimizer": False}, 1),
])
def test_two_ranks_train_as_one(tmp_path: pathlib.Path, mode: str, options: dict, captures: int | None) -> None:
    alone = Run()
    results = train_all(tmp_path, compile=mode, compile_options=options)
    assert mean_losses(results) == pytest.approx(alone.losses, rel=1e-4)
    assert results[0]["norms"] == results[1]["norms"]
    assert results[0]["norms"] == pytest.approx({name: gradient.norm().item() for name, gradient in alone.gradients().items()}, rel=1e-3)
    assert len(results[0]["used"]["bucket_bytes"]) > 3  # the caps took effect
    if captures is None:
        assert results[0]["report"] == {}
    elif captures > 1:
        assert results[0]["report"]["captures"] >= captures  # split at the buckets
    else:
        assert results[0]["report"]["captures"] == captures


def test_static_graph_and_statistics(tmp_path: pathlib.Path) -> None:
    results = train_all(tmp_path, family="resnet", ddp={"static_graph": True})
    assert results[0]["norms"] == results[1]["norms"]


def test_fp8_scales_stay_with_their_rank(tmp_path: pathlib.Path) -> None:
    results = train_all(tmp_path, precision="fp8_delayed")
    assert results[0]["norms"] == results[1]["norms"]
    assert mean_losses(results) == pytest.approx(Run(precision="fp8_delayed").losses, rel=2e-2)


@pytest.mark.parametrize(("options", "asked"), [({}, False), ({"ddp_optimizer": False}, True)])
def test_a_selective_policy_that_the_compiler_drops_is_seen(tmp_path: pathlib.Path, options: dict, asked: bool) -> None:
    used = train_all(tmp_path, compile="compile.default", checkpointing="selective", compile_options=options)[0]["used"]
    assert (used["selective_choices"] > 0) == asked, used
