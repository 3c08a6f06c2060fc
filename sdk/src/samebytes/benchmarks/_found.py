# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of the installed distributions, and the reasons why some of them cannot run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass

from .._plugins.discovery import listed
from .._plugins.distributions import Entry, entries
from .._plugins.failures import described
from .._plugins.tables import Tables
from ._spec import Benchmark, check_benchmark

__all__ = ["GROUP", "Offer", "offers"]

GROUP = "samebytes.benchmarks"
_OWN = Entry("cpu", "samebytes._benchmarks")


@dataclass(frozen=True, slots=True)
class Offer:
    """The benchmarks of one plugin.

    Attributes:
        plugin: its name.
        benchmarks: the benchmarks that it declares; none if its module is faulty.
        problem: the reason why none of them can run; "" if they may.
    """

    plugin: str
    benchmarks: tuple[Benchmark, ...] = ()
    problem: str = ""

    def obstacle(self, benchmark: Benchmark) -> str:
        """The reason why a benchmark cannot run here, if known without trying; "" if it may.

        Args:
            benchmark: one of `benchmarks`.
        """
        if self.problem:
            return self.problem
        found = listed()
        for name in benchmark.requires:
            if name not in found.plugins:
                return f"plugin {name!r} {found.absence(name)}"
        for module, command in benchmark.packages.items():
            if importlib.util.find_spec(module) is None:
                return f"the package {module!r} is not installed: {command}"
        return ""


def offers() -> list[Offer]:
    """The benchmarks of every installed distribution, the core's first. Imports no framework."""
    found = listed()
    return [_offer(entry, found) for entry in _entries()]


def _entries() -> Iterator[Entry]:
    yield _OWN
    yield from entries(GROUP)


def _offer(entry: Entry, found: Tables) -> Offer:
    if entry.problem is not None:
        return Offer(entry.name, problem=entry.problem)
    try:
        declared = importlib.import_module(entry.module).BENCHMARKS
        benchmarks = tuple(declared)
    except Exception as error:
        return Offer(entry.name, problem=f"importing {entry.module} raised {described(error)}")
    for benchmark in benchmarks:
        wrong = check_benchmark(benchmark)
        if wrong is not None:
            return Offer(entry.name, problem=f"{entry.module}: {wrong}")
    if entry.name in found.plugins:
        return Offer(entry.name, benchmarks)
    return Offer(entry.name, benchmarks, f"plugin {entry.name!r} {found.absence(entry.name)}")
