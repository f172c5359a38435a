"""The cell as the engine reads it: only what a step depends on."""

import dataclasses
import hashlib
import json

NOT_COMPILED = ("id", "hash", "cache", "measure", "limits", "launches")  # parts of a cell that no compiled program depends on


class Unsupported(Exception):
    """The cell asks for what this engine, this Torch or this device cannot do."""


def first_line(error: BaseException) -> str:
    """What went wrong, without the pages that a compiler adds."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def digest(document: dict) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    fullgraph: bool = False
    dynamic: str = "auto"
    ddp_optimizer: bool = True
    compiled_autograd: bool = False
    compile_optimizer: bool = False


@dataclasses.dataclass(frozen=True)
class Checkpointing:
    """`policy` none, full, every or selective; with every, each `every`-th block is recomputed."""

    policy: str = "none"
    every: int = 1
    reentrant: bool = False

    @staticmethod
    def parse(value: str) -> "Checkpointing":
        name, _, suffix = value.partition(".")
        policy, _, count = name.partition("_")
        known = policy in ("none", "full", "selective") and not count or policy == "every" and count.isdigit() and int(count) > 0
        if not known or suffix not in ("", "reentrant") or (suffix and policy not in ("full", "every")):
            raise ValueError(f'checkpointing "{value}" is not none, full, every_K, selective, full.reentrant or every_K.reentrant')
        return Checkpointing(policy, int(count or 1), suffix == "reentrant")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One point of the matrix. `document` is the whole JSON, for the parts that only one module reads; `program` is the
    same in cells that compile the same."""

    id: str
    hash: str
    program: str
    family: str
    sizes: dict[str, int]
    precision: str
    compile: str
    options: CompileOptions
    cache: str
    checkpointing: Checkpointing
    checkpointing_name: str
    memory_format: str
    optimizer: dict
    ddp: dict
    wrong: str
    document: dict

    @staticmethod
    def parse(text: str) -> "Cell":
        document = json.loads(text)
        known = {field.name for field in dataclasses.fields(CompileOptions)}
        options = {key: value for key, value in document.get("compile_options", {}).items() if key in known}
        return Cell(
            id=document["id"],
            hash=document["hash"],
            program=digest({key: value for key, value in document.items() if key not in NOT_COMPILED}),
            family=document["workload"]["family"],
            sizes=document["workload"]["sizes"],
            precision=document["precision"],
            compile=document["compile"],
            options=CompileOptions(**options),
            cache=document.get("cache", ""),
            checkpointing=Checkpointing.parse(document["checkpointing"]),
            checkpointing_name=document["checkpointing"],
            memory_format=document["memory_format"],
            optimizer=document["optimizer"],
            ddp=document["ddp"],
            wrong=(document.get("perturb") or {}).get("wrong", ""),
            document=document,
        )

    @property
    def compiled(self) -> bool:
        return self.compile.startswith("compile.")

    @property
    def ranks(self) -> int:
        return self.ddp["ranks"]
