# SPDX-License-Identifier: Apache-2.0
"""The child process of `samebytes bench`, which runs the benchmarks of one plugin.

`python -m samebytes.benchmarks._child PLUGIN QUICK`, where QUICK is 0 or 1. A crashing driver takes
the rest of its own plugin's rows with it, and no other's. It answers in lines of JSON: {"begins": a
row's name} before each row, then the fields of a `Row`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import asdict

from .._plugins.children import answering
from .._plugins.failures import described
from ..errors import SamebytesError
from ._found import Offer, offers
from ._profile import costliest, profiled
from ._report import Row
from ._spec import Benchmark, Ways
from ._timing import FULL, QUICK, measure

__all__ = ["main"]


def main(plugin: str, *, quick: bool) -> None:
    """Measure, answer, and end the process."""
    answer = answering()
    for offer in offers():
        if offer.plugin == plugin:
            _measure(offer, answer, quick=quick)
    # Some drivers crash at exit; the answers are given.
    os._exit(0)


def _measure(offer: Offer, answer: Callable[[object], None], *, quick: bool) -> None:
    for benchmark in offer.benchmarks:
        for size in benchmark.sizes[:1] if quick else benchmark.sizes:
            answer({"begins": benchmark.name})
            row = Row(offer.plugin, benchmark.name, size)
            row.what, row.beside = benchmark.what, benchmark.beside
            row.alone = benchmark.alone
            row.goal, row.goal_us = benchmark.goal, benchmark.goal_us
            row.reason = offer.obstacle(benchmark) or _fill(row, benchmark, quick=quick)
            answer(asdict(row))


def _fill(row: Row, benchmark: Benchmark, *, quick: bool) -> str:
    """Enter the figures; return the reason why there are none, or ""."""
    module, _, name = benchmark.make.partition(":")
    try:
        ways: Ways = getattr(importlib.import_module(module), name)(*row.size)
        try:
            measured = measure(ways, QUICK if quick else FULL)
            row.ours, row.by_hand = measured.ours, measured.by_hand
            row.copying = measured.copying
            row.ratio, row.spread = measured.ratio, measured.spread
            if row.above_goal and not quick:
                row.profile = {name: costliest(stats) for name, stats in profiled(ways).items()}
        finally:
            if ways.close is not None:
                ways.close()
    except SamebytesError as error:
        return str(error)
    except Exception as error:
        return described(error)
    return ""


if __name__ == "__main__":
    main(sys.argv[1], quick=sys.argv[2] == "1")
