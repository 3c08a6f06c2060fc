# SPDX-License-Identifier: Apache-2.0
"""A row of docs/reference/hardware.md from the report of `samebytes doctor --hardware-report`.

Anyone may send a report: it is read through the list of what a report may say, so a row holds no
link, no path and no markup of the sender's.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from ..errors import UnsupportedObjectError
from .fields import allowed

__all__ = ["row_of"]

_COMMAND = "`samebytes doctor --hardware-report FILE`"


def row_of(file: Path) -> str:
    """The row, in the table's columns: device, driver, what ran, command, date.

    Raises:
        UnsupportedObjectError: the file cannot be read as a report, or names no device.
    """
    try:
        said = allowed(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UnsupportedObjectError(f"{file} cannot be read as a report: {error}") from error
    if not said["devices"]:
        raise UnsupportedObjectError(f"{file} names no device")
    cells = (_devices(said), _drivers(said), _ran(said), _COMMAND, said["date"])
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _devices(said: dict[str, Any]) -> str:
    names = dict.fromkeys(f"{d['kind']} {d['name']}" for d in said["devices"] if d["name"])
    return f"{', '.join(names)}; {said['processor']}"


def _drivers(said: dict[str, Any]) -> str:
    versions = [f"{_named(v)} {v['version']}" for v in said["versions"] if v["version"]]
    system = f"{said['system']}, Linux {said['kernel']}, Python {said['python']}"
    return f"samebytes {said['samebytes']}; {', '.join(dict.fromkeys(versions))}; {system}"


def _named(version: dict[str, str]) -> str:
    """The name of what has the version: a plugin's own framework calls itself "version"."""
    return version["plugin"] if version["of"] == "version" else version["of"]


def _ran(said: dict[str, Any]) -> str:
    """The number of each result, each refusal and each fault, and the ratios of the benchmarks."""
    counted = Counter(check["result"] for check in said["checks"])
    parts = [", ".join(f"{count} {result}" for result, count in counted.items() if result)]
    for result in ("failed", "hung", "crashed", "refused"):
        those = [
            f"{c['node']} {c['check']}{' (' + c['by'] + ')' if c['by'] else ''}"
            for c in said["checks"]
            if c["result"] == result
        ]
        if those:
            parts.append(f"{result}: {', '.join(those)}")
    ratios = [b["ratio"] for b in said["benchmarks"] if b["ratio"] is not None]
    if ratios:
        middle = statistics.median(ratios)
        parts.append(
            f"{len(ratios)} benchmark{'s' * (len(ratios) > 1)}, {middle:.2f} times as long as by "
            f"hand in the middle, {max(ratios):.2f} at most"
        )
    return "; ".join(parts)


def _plain(text: str) -> str:
    """The text without what Markdown would read in it; but our own command stays code."""
    if text == _COMMAND:
        return text
    return "".join("\\" + c if c in "[]_*`<>|#" else c for c in text)
