"""Graphs of the compiler as plain data: nodes with where they come from in the source."""

import json
import pathlib
import re

import torch

SCHEMA = "stepgauge.graphs"
VERSION = 1
TORCH = str(pathlib.Path(torch.__file__).parent)
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def source_of(node: torch.fx.Node) -> tuple[str | None, int | None, str | None]:
    """The innermost line of the model that the node comes from; of PyTorch's own Python where there is no other."""
    frames = list(FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return None, None, None
    own = [frame for frame in frames if not frame["file"].startswith(TORCH)]
    frame = (own or frames)[-1]
    return frame["file"], int(frame["line"]), frame["function"]


def target_name(node: torch.fx.Node) -> str:
    """aten.mm.default, torch.nn.functional.linear, or the name that a placeholder or attribute has."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if callable(target):
        module = getattr(target, "__module__", None) or ""
        return f"{module}.{getattr(target, '__name__', str(target))}".lstrip(".")
    return str(target)


def value_of(node: torch.fx.Node) -> torch.Tensor | None:
    value = node.meta.get("val", node.meta.get("example_value"))
    return value if isinstance(value, torch.Tensor) else None


def shape_of(value: torch.Tensor) -> list[int | str]:
    """Sizes that are not fixed are shown as the compiler's symbols."""
    return [size if isinstance(size, int) else str(size) for size in value.shape]


def node_data(node: torch.fx.Node, prefix: str) -> dict:
    file, line, function = source_of(node)
    value = value_of(node)
    return {
        "name": prefix + node.name,
        "op": node.op,
        "target": target_name(node),
        "file": file,
        "line": line,
        "function": function,
        "shape": None if value is None else shape_of(value),
        "dtype": None if value is None else str(value.dtype).removeprefix("torch."),
        "inputs": [prefix + source.name for source in node.all_input_nodes],
    }


def parts(graph: torch.fx.GraphModule) -> list[tuple[str, torch.fx.GraphModule]]:
    """The graph and those inside it, such as the body of a checkpointed block, by a prefix for the names of their nodes."""
    named = [(name, module) for name, module in graph.named_modules() if isinstance(module, torch.fx.GraphModule)]
    return [(f"{name}." if name else "", module) for name, module in named]


def count_nodes(graph: torch.fx.GraphModule) -> int:
    return sum(len(part.graph.nodes) for _, part in parts(graph))


def graph_data(graph: torch.fx.GraphModule) -> list[dict]:
    return [node_data(node, prefix) for prefix, part in parts(graph) for node in part.graph.nodes]


def frame_of(compile_id: str, frames: dict[str, tuple[str, str, int]], nodes: list[dict]) -> tuple[str, str, int]:
    """Function, file and line of the frame that a region was captured from. Where the compiler keeps no account of the frame, the
    first node that has a source stands for it."""
    if compile_id in frames:
        return frames[compile_id]
    first = next((node for node in nodes if node["file"]), None)
    return ("", "", 0) if first is None else (first["function"], first["file"], first["line"])


def region(name: str, kind: str, ended: str, nodes: list[dict], frame: tuple[str, str, int]) -> dict:
    return {"name": name, "function": frame[0], "file": frame[1], "line": frame[2], "kind": kind, "ended": ended, "nodes": nodes}


def captured(found: list, frames: dict[str, tuple[str, str, int]]) -> list[dict]:
    """What dynamo captured (watch.Region), named by compile id; several of one frame, such as DDP's buckets, get a number."""
    counts: dict[str, int] = {}
    out = []
    for item in found:
        index = counts.get(item.compile_id, 0)
        counts[item.compile_id] = index + 1
        name = item.compile_id if index == 0 else f"{item.compile_id}.{index}"
        nodes = item.detail or []
        out.append(region(name, "dynamo", item.ended, nodes, frame_of(item.compile_id, frames, nodes)))
    return out


def lowered(kind: str, source: dict | None, index: int, graph: torch.fx.GraphModule) -> dict:
    """A graph after AOT autograd, named as the captured one that it was made from, where it is known."""
    nodes = graph_data(graph)
    if source is None:
        return region(f"retraced {index}", kind, "whole graph", nodes, frame_of("", {}, nodes))
    return region(source["name"], kind, source["ended"], nodes, (source["function"], source["file"], source["line"]))


def write(path: str, cell_id: str, mode: str, regions: list[dict], absent: str) -> None:
    """By rename, so that a reader never sees half a file. absent: why some regions are not there."""
    content = {"schema": SCHEMA, "version": VERSION, "cell_id": cell_id, "mode": mode, "regions": regions}
    if absent:
        content["absent"] = absent
    target = pathlib.Path(path)
    temporary = target.with_name(target.name + ".tmp")
    temporary.write_text(json.dumps(content))
    temporary.replace(target)


def kinds(graph: torch.fx.GraphModule) -> dict[str, int]:
    """Nodes by what they call; placeholders, attributes and outputs by what they are."""
    counts: dict[str, int] = {}
    for _, part in parts(graph):
        for node in part.graph.nodes:
            name = node_kind(part, node)
            counts[name] = counts.get(name, 0) + 1
    return counts


def node_kind(graph: torch.fx.GraphModule, node: torch.fx.Node) -> str:
    if node.op == "call_module":
        return type(graph.get_submodule(node.target)).__name__
    return target_name(node) if node.op in ("call_function", "call_method") else node.op
