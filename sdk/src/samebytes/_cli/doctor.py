# SPDX-License-Identifier: Apache-2.0
"""`samebytes doctor`: which plugins can be used on this machine, and why others cannot."""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._cpu.consumers import particular_consumers
from .._plugins.discovery import listed
from .._plugins.probe import Examination, examine_all, find
from .._plugins.tables import PluginRecord
from .progress import shown_steps
from .table import print_table

__all__ = ["add_arguments", "run", "seconds"]


@dataclass(frozen=True, slots=True)
class _Finding:
    record: PluginRecord
    examination: Examination


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="a plugin; by default all of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="S",
        help="how long one plugin may take, in seconds (default: 10)",
    )
    parser.add_argument(
        "--hardware-report",
        metavar="FILE",
        help="check the devices and measure, in less than five minutes, and write a report to send",
    )
    parser.add_argument(
        "--hardware-row",
        metavar="FILE",
        help="print the row that such a report adds to the hardware page",
    )


def seconds(text: str) -> float:
    """The time limit given on the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number


def run(options: argparse.Namespace) -> int:
    """Examine, print, and fail if something cannot be used."""
    if options.hardware_report is not None:
        from .hardware import write_report

        return write_report(options.hardware_report, options.names)
    if options.hardware_row is not None:
        from .._hardware.row import row_of

        print(row_of(Path(options.hardware_row)))
        return 0
    records = [find(name) for name in options.names] or _all()
    with shown_steps("probing") as show:
        found = examine_all(records, options.timeout, show)
    findings = [_Finding(r, _with_consumers(r, e)) for r, e in zip(records, found, strict=True)]
    if options.json:
        print(json.dumps({**_machine(), "plugins": list(map(_as_dict, findings))}, indent=2))
    else:
        _print(findings)
    # A plugin that the user disabled is not a fault, unless it is asked for by name.
    judged = [f for f in findings if options.names or not f.record.disabled]
    return 0 if all(f.examination.result.usable for f in judged) else 1


def _with_consumers(record: PluginRecord, found: Examination) -> Examination:
    """The findings on CPU memory, together with those on the libraries that use it."""
    if record.name != "cpu":
        return found
    return replace(found, result=replace(found.result, details=particular_consumers()))


def _all() -> list[PluginRecord]:
    found = listed()
    return sorted((*found.plugins.values(), *found.set_aside), key=lambda record: record.name)


def _machine() -> dict[str, str]:
    return {
        "samebytes": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
    }


def _print(findings: list[_Finding]) -> None:
    print(", ".join(f"{name} {value}" for name, value in _machine().items()), end="\n\n")
    print_table(
        ("plugin", "version", "installed", "importable", "usable", "reason"),
        [
            (
                f.record.name,
                f.record.version,
                _word(_installed(f)),
                _word(f.examination.importable),
                _word(_usable(f)),
                f.examination.result.reason,
            )
            for f in findings
        ],
    )
    for finding in findings:
        result = finding.examination.result
        for key, value in result.details.items():
            print(f"{finding.record.name}: {key}: {value}")
        if result.hint:
            print(f"{finding.record.name}: to do: {result.hint}")


def _installed(finding: _Finding) -> bool:
    return bool(finding.record.module or finding.record.distribution)


def _usable(finding: _Finding) -> bool | None:
    return None if finding.record.disabled else finding.examination.result.usable


def _word(answer: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[answer]


def _as_dict(finding: _Finding) -> dict[str, Any]:
    record, result = finding.record, finding.examination.result
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "installed": _installed(finding),
        "importable": finding.examination.importable,
        "usable": _usable(finding),
        "reason": result.reason,
        "hint": result.hint,
        "details": dict(result.details),
    }
