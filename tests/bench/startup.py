# SPDX-License-Identifier: Apache-2.0
"""Import time, and discovery among many installed distributions. In fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .measure import Row

__all__ = ["startup_rows"]

_RUNS = 9
_DISTRIBUTIONS = 200

_IMPORT = """
import time, numpy
start = time.perf_counter()
import samebytes
print((time.perf_counter() - start) * 1e3)
"""

_DISCOVER = """
import os, sys, time, samebytes, numpy
sys.path.append(sys.argv[1])
from samebytes._plugins import discovery
import pluggy, importlib_metadata
start = time.perf_counter()
discovery.tables()
print((time.perf_counter() - start) * 1e3)
discovery.forget()
start = time.perf_counter()
discovery.tables()
print((time.perf_counter() - start) * 1e3)
"""


def _milliseconds(code: str, *arguments: str, **environment: str) -> list[float]:
    """The median of each printed number over some runs."""
    runs = [
        [
            float(line)
            for line in subprocess.run(
                [sys.executable, "-c", code, *arguments],
                capture_output=True, text=True, check=True, timeout=120,
                env={**os.environ, **environment},
            ).stdout.split()
        ]
        for _ in range(_RUNS)
    ]  # fmt: skip
    return [statistics.median(column) for column in zip(*runs, strict=True)]


def _make_distributions(folder: Path) -> None:
    for number in range(_DISTRIBUTIONS):
        info = folder / f"filler_{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: filler-{number}\nVersion: 1\n"
        )
        (info / "entry_points.txt").write_text(f"[console_scripts]\nfiller{number} = filler:main\n")


def startup_rows() -> list[Row]:
    """`import samebytes` over numpy; discovery with 200 more distributions installed."""
    (imported,) = _milliseconds(_IMPORT)
    with tempfile.TemporaryDirectory() as folder:
        _make_distributions(Path(folder))
        # No plugin chosen: the scan alone. What importing the plugins' own modules costs is theirs.
        scan, again = _milliseconds(_DISCOVER, folder, SAMEBYTES_PLUGINS="")
        loaded, _ = _milliseconds(_DISCOVER, folder)
    more = f"{_DISTRIBUTIONS} more distributions"
    return [
        Row("import samebytes, numpy already imported", None, imported, None, 30, "ms"),
        Row(f"discovery, {more}, first", None, scan, None, 10, "ms"),
        Row(f"discovery, {more}, again", None, again, None, None, "ms"),
        Row(f"discovery with all plugins loaded, {more}", None, loaded, None, None, "ms"),
    ]
