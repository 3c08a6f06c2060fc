# SPDX-License-Identifier: Apache-2.0
"""Where the time of one row goes: what Python's profiler counts in samebytes' call."""

from __future__ import annotations

import cProfile
import importlib
import io
import pstats
import time

from .._plugins.words import unknown_plugin
from ..errors import UnknownNameError
from ._found import offers
from ._spec import Benchmark, CannotMeasureError, Ways

__all__ = ["profile"]

_SECONDS = 0.5
_LINES = 20


def profile(name: str, plugin: str | None = None) -> str:
    """The functions that a row's call spends its time in, those that take longest first.

    The profiler makes each Python function seem slower than it is, by some tenths of a
    microsecond, and C functions less so: compare rows of the table, not these times.

    Args:
        name: of the row.
        plugin: whose row it is; by default the first of that name.

    Raises:
        UnknownNameError: there is no such plugin, or no such row.
        CannotMeasureError: it cannot run here.
    """
    ways, size = _ways(name, plugin)
    try:
        return f"{name}, {size[0]}x{size[1]}\n{_profiled(ways)}"
    finally:
        if ways.close is not None:
            ways.close()


def _profiled(ways: Ways) -> str:
    made = [ways.fresh() for _ in range(64)] if ways.fresh is not None else []
    call = ways.ours
    if not made:
        call()  # what happens once for each process
    profiler, calls, end = cProfile.Profile(), 0, time.perf_counter() + _SECONDS
    profiler.enable()
    if made:
        for one in made:
            call(one)
        calls = len(made)
    else:
        while time.perf_counter() < end:
            for _ in range(100):
                call()
            calls += 100
    profiler.disable()
    text = io.StringIO()
    stats = pstats.Stats(profiler, stream=text).strip_dirs()
    stats.sort_stats("tottime").print_stats(_LINES)
    return f"{calls} calls\n{text.getvalue().strip()}"


def _ways(name: str, plugin: str | None) -> tuple[Ways, tuple[int, int]]:
    offered = [offer for offer in offers() if plugin in (None, offer.plugin)]
    if not offered:
        raise unknown_plugin(plugin or "", [offer.plugin for offer in offers()])
    rows: dict[str, tuple[Benchmark, str]] = {}
    for offer in offered:
        for benchmark in offer.benchmarks:
            rows.setdefault(benchmark.name, (benchmark, offer.obstacle(benchmark)))
    if name not in rows:
        raise UnknownNameError("row", name, rows)
    benchmark, obstacle = rows[name]
    if obstacle:
        raise CannotMeasureError(f"{name}: {obstacle}")
    module, _, function = benchmark.make.partition(":")
    size = benchmark.sizes[0]
    ways: Ways = getattr(importlib.import_module(module), function)(*size)
    return ways, size
