# SPDX-License-Identifier: Apache-2.0
"""A profile of the time of one row: the counts of Python's profiler in the calls."""

from __future__ import annotations

import cProfile
import importlib
import io
import pstats
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._plugins.words import unknown_plugin
from ..errors import UnknownNameError
from ._found import offers
from ._report import Spent
from ._spec import Benchmark, CannotMeasureError, Ways

__all__ = ["Profile", "costliest", "profile", "profiled"]

_SECONDS = 0.5
_LINES = 20


class Profile(NamedTuple):
    """The counts of the profiler.

    Attributes:
        calls: the number of times that the measured operation was done.
        stats: the profiler's statistics of all these calls together.
    """

    calls: int
    stats: pstats.Stats


def profile(name: str, plugin: str | None = None) -> str:
    """The functions that a row's calls spend their time in, as text, the longest first.

    The functions of samebytes' call come first, then those of the call by hand, if the row has one.

    The profiler makes each Python function seem slower than it is, by some tenths of a
    microsecond, and C functions less so: compare rows of the table, not these times.

    Args:
        name: the name of the row.
        plugin: the plugin that the row belongs to; by default the first row of that name.

    Raises:
        UnknownNameError: there is no such plugin, or no such row.
        CannotMeasureError: it cannot run here.
    """
    ways, size = _ways(name, plugin)
    said = {"ours": "samebytes", "by_hand": "by hand"}
    try:
        found = profiled(ways)
    finally:
        if ways.close is not None:
            ways.close()
    if not found:
        raise CannotMeasureError(f"{name}: what it measures happens in other processes")
    parts = [_shown(said[way], profile_) for way, profile_ in found.items()]
    return "\n\n".join([f"{name}, {size[0]}x{size[1]}", *parts])


def profiled(ways: Ways) -> dict[str, Profile]:
    """The profiles of samebytes' call, and of the one by hand if there is one."""
    if ways.timed:  # their work is done in another process
        return {}
    return {
        name: _profiled(ways, call)
        for name in ("ours", "by_hand")
        if (call := getattr(ways, name)) is not None
    }


def costliest(found: Profile, count: int = 5) -> list[Spent]:
    """The functions that take longest by themselves, for one call."""
    stats: Any = found.stats
    spent = [
        Spent(where=_where(*function), calls=n / found.calls, us=own * 1e6 / found.calls)
        for function, (_, n, own, _, _) in stats.stats.items()
    ]
    return sorted(spent, key=lambda one: -one["us"])[:count]


def _where(file: str, line: int, name: str) -> str:
    return name if file == "~" else f"{file}:{line}({name})"  # "~" is C


def _profiled(ways: Ways, call: Callable[..., object]) -> Profile:
    made = [ways.fresh() for _ in range(64)] if ways.fresh is not None else []
    batch = 1
    if not made:
        call()  # what happens once for each process
        start = time.perf_counter()
        call()
        # Otherwise the profiler would count the calls that read the clock.
        batch = max(1, min(100, int(_SECONDS / 10 / (time.perf_counter() - start))))
    profiler, calls, end = cProfile.Profile(), 0, time.perf_counter() + _SECONDS
    profiler.enable()
    if made:
        for one in made:
            call(one)
        calls = len(made)
    else:
        while time.perf_counter() < end:
            for _ in range(batch):
                call()
            calls += batch
    profiler.disable()
    return Profile(calls * ways.each, pstats.Stats(profiler).strip_dirs())


def _shown(what: str, found: Profile) -> str:
    text = io.StringIO()
    stats: Any = found.stats
    stats.stream = text
    stats.sort_stats("tottime").print_stats(_LINES)
    return f"{what}: {found.calls} calls\n{text.getvalue().strip()}"


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
