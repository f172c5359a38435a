"""The Python side of the worker: trains a workload's Python twin, uncompiled or compiled, step by step for the C++ loop."""

from .caches import CacheRefused
from .cell import Unsupported
from .engine import Engine

__all__ = ["CacheRefused", "Engine", "Unsupported"]
