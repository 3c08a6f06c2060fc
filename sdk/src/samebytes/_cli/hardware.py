# SPDX-License-Identifier: Apache-2.0
"""`samebytes doctor --hardware-report FILE`: a file to send, with devices checked and measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._hardware.report import made_report
from .._numbers import counted
from .._secrets import without_secrets
from .table import print_table

__all__ = ["write_report"]


def write_report(file: str, names: Sequence[str]) -> int:
    """Check, write the file, and print the findings; 1 if there is no device, or no file.

    Args:
        file: where the report is written, as JSON.
        names: the names of plugins; if there are none, all plugins.

    Raises:
        UnknownNameError: no plugin of that name is installed.
    """
    path = Path(file)
    try:
        path.write_text("")  # before the work, which takes minutes
    except OSError as error:
        print(
            f"samebytes: {without_secrets(file)} cannot be written: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    report = made_report(names, on_step=_progress)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _print(report)
    if not report["devices"]:
        print("\nNo device was found. `samebytes doctor` says what is missing.")
        return 1
    print(
        f"\n{file} holds what is shown here, versions and ratios, and nothing else: no paths, no "
        "names of hosts or users, no serial numbers. Read it, and send it."
    )
    return 0


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        print(f"{step} ...", file=sys.stderr)


def _print(report: dict[str, Any]) -> None:
    for device in report["devices"]:
        print(f"{device['node']}: {device['kind']} {device['name']}")
    rows = [(c["node"], c["check"], c["result"], c["by"]) for c in report["checks"]]
    print_table(("memory", "check", "result", "how, or by whom"), rows)
    results = Counter(c["result"] for c in report["checks"])
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    print(f"{counted(len(report['benchmarks']), 'benchmark')} measured")
