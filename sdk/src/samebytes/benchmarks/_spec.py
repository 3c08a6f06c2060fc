# SPDX-License-Identifier: Apache-2.0
"""The declaration of a benchmark by its distribution, and the calls to be timed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core.edges.edge import MapperSpec
from ..errors import SamebytesError

__all__ = ["Benchmark", "CannotMeasureError", "Ways", "check_benchmark", "edge_name"]

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_EDGE = re.compile(r"\S+ -> \S+ (tensor|frame) (alias|import|map|copy)")


class CannotMeasureError(SamebytesError):
    """A benchmark cannot run on this machine; the text gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A row of the report: data only, so that declaring it imports no framework.

    Attributes:
        name: the name of the row, unique in its distribution: "cpu -> openvino".
        what: the beginning of a sentence that goes on with " in 1.5 us": "An array becomes an
            OpenVINO tensor".
        make: "module:function", called with the width and height in pixels. It returns the `Ways`,
            or raises `CannotMeasureError` or another SamebytesError if they cannot run.
        edges: the edges that it measures, as `edge_name` spells them.
        requires: the names of plugins that must be installed besides the distribution's own.
        packages: modules that must be importable besides, each with the command that installs it.
        sizes: (width, height) in pixels; `--quick` takes the first.
        beside: the call of `by_hand`: "openvino.Tensor(array, shared_memory=True)".
        alone: the reason why it has no call by hand, if it has none.
        goal: the longest that it may take, as a multiple of the call by hand, or None.
        goal_us: the most microseconds that it may take, or None.
    """

    name: str
    what: str
    make: str
    edges: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[tuple[int, int], ...] = ((1920, 1080),)
    beside: str = ""
    alone: str = ""
    goal: float | None = None
    goal_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The calls to be timed. They must keep everything alive that they use.

    Attributes:
        ours: with samebytes.
        by_hand: the same with the framework's own calls, as a user would write it; or None.
        copying: the usual idiom, which copies the bytes; or None.
        fresh: makes the argument of each call, outside the measured time; without it, they have no
            argument. So first mappings can be measured, of which nothing is remembered yet.
        each: how many times one call does the measured operation; the figures are divided by it.
        cpu_time: measure the CPU time of all threads, not the time on the clock: for calls that
            take longer than other programs leave a processor alone.
        timed: the calls return the seconds that they took, for work that another process does.
        close: releases what the calls used, if dropping them does not do that; or None.
    """

    ours: Callable[..., object]
    by_hand: Callable[..., object] | None = None
    copying: Callable[..., object] | None = None
    fresh: Callable[[], Any] | None = None
    each: int = 1
    cpu_time: bool = False
    timed: bool = False
    close: Callable[[], object] | None = None


def edge_name(edge: MapperSpec) -> str:
    """The name of an edge in benchmarks: "cpu -> openvino tensor alias".

    Args:
        edge: the edge as the plugin declares it.
    """
    return f"{edge.name} {edge.level} {edge.transfer.value}"


def check_benchmark(benchmark: object) -> str | None:
    """A sentence on the fault of a benchmark's declaration, or None."""
    if not isinstance(benchmark, Benchmark):
        return f"{benchmark!r} is not a samebytes.benchmarks.Benchmark"
    if not _REFERENCE.fullmatch(benchmark.make):
        return f'{benchmark.name!r}: make {benchmark.make!r} is not "module:function"'
    for edge in benchmark.edges:
        if not _EDGE.fullmatch(edge):
            return f'{benchmark.name!r}: {edge!r} is not an edge, as "cpu -> cpu tensor copy" is'
    if not benchmark.sizes:
        return f"{benchmark.name!r} has no sizes"
    return None
