# SPDX-License-Identifier: Apache-2.0
"""`samebytes bench`: the cost of mappings on this machine, beside doing it by hand or copying."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from .. import __version__
from .._hardware.machine import processor
from .doctor import seconds
from .table import print_table

if TYPE_CHECKING:
    from ..benchmarks._report import Row

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="a plugin; by default all of them")
    parser.add_argument(
        "--quick", action="store_true", help="measure less exactly, each row in one size"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--profile", metavar="ROW", help="show where the time of one row goes, instead of measuring"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="S",
        help="how long the rows of one plugin may take, in seconds (default: 300)",
    )


def run(options: argparse.Namespace) -> int:
    """Measure and print. Being slow is not a failure."""
    if options.profile is not None:
        from ..benchmarks._profile import profile

        for plugin in options.names or [None]:
            print(profile(options.profile, plugin))
        return 0
    from ..benchmarks._run import run_benchmarks
    from ..benchmarks._timing import FULL, QUICK

    def progress(name: str) -> None:
        if sys.stderr.isatty():
            print(f"measuring {name} ...", file=sys.stderr)

    rows = run_benchmarks(
        options.names, quick=options.quick, timeout=options.timeout, on_plugin=progress
    )
    if options.json:
        made = {
            **_machine(),
            "cores": os.cpu_count(),
            "quick": options.quick,
            "repeats": (QUICK if options.quick else FULL).repeats,
            "rows": [_as_dict(row) for row in rows],
        }
        print(json.dumps(made, indent=2))
    else:
        _print(rows)
    return 0


def _machine() -> dict[str, str]:
    return {
        "samebytes": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
    }


def _as_dict(row: Row) -> dict[str, object]:
    said = {"above_goal": row.above_goal, "sentence": row.sentence()}
    return {**asdict(row), **said}


def _print(rows: list[Row]) -> None:
    measured = [row for row in rows if row.ours is not None]
    print(", ".join(f"{name} {value}" for name, value in _machine().items()))
    print("Microseconds of one call, the least of many; *: above its goal, which follows.")
    if busy := _busy():
        print(busy)
    print()
    print_table(
        ("what", "size", "samebytes", "by hand", "times", "spread", "copying", "goal"),
        [_cells(row) for row in measured],
    )
    print()
    for row in measured:
        print(f"{row.name}, {_size(row)}: {row.sentence()}")
    missing = [row for row in rows if row.ours is None]
    if missing:
        print("\nNot measured:")
    for row in missing:
        print(f"  {row.name} ({row.plugin}): {row.reason}")


def _cells(row: Row) -> tuple[str, ...]:
    spread = "-".join(f"{number:.2f}" for number in row.spread or ())
    return (
        row.name,
        _size(row),
        _figure(row.ours),
        _figure(row.by_hand),
        _figure(row.ratio),
        spread,
        _figure(row.copying),
        _missed(row),
    )


def _missed(row: Row) -> str:
    """The goal that a row misses: a ratio, a time, or both; "" if it misses none."""
    if not row.above_goal:
        return ""
    ratio = "" if row.goal is None else f" {row.goal:.2f} times"
    time = "" if row.goal_us is None else f" {row.goal_us:g} us"
    return f"*{ratio}{time}"


def _busy() -> str:
    """A warning if other programs keep the processor busy; else ""."""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load < cores + 1:  # this process counts in the load
        return ""
    return (
        f"Other programs use this machine (load {load:.1f} on {cores} cores): rows whose spread is "
        "wide may be above their goals for that alone."
    )


def _size(row: Row) -> str:
    return "x".join(map(str, row.size))


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"
