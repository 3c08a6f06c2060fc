# SPDX-License-Identifier: Apache-2.0
"""Import time, and discovery among many installed distributions. In fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .measure import Row

__all__ = ["startup_rows"]

_RUNS = 9
_DISTRIBUTIONS = 200

_IMPORT = """
import time, numpy
start = time.process_time()
import samebytes
print((time.process_time() - start) * 1e3)
samebytes.tensor(numpy.zeros(4)).map("cpu")
print((time.process_time() - start) * 1e3)
"""

# OpenCV itself is not what is measured.
_FIRST_MAP = """
import time, numpy, cv2, samebytes
tensor = samebytes.tensor(numpy.zeros((4, 4), numpy.uint8))
start = time.process_time()
tensor.map("opencv")
print((time.process_time() - start) * 1e3)
"""

_BY_HAND = """
import time, numpy, cv2, samebytes
start = time.process_time()
import pluggy, importlib_metadata
importlib_metadata.entry_points()
print((time.process_time() - start) * 1e3)
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
    """The least of each printed number over some runs, with the bytecode of the first one."""
    with tempfile.TemporaryDirectory() as bytecode:
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        environment["PYTHONDONTWRITEBYTECODE"] = ""  # else compilation would be measured
        _, *runs = _run(code, arguments, environment)
    return [min(column) for column in zip(*runs, strict=True)]


def _run(code: str, arguments: Sequence[str], environment: Mapping[str, str]) -> list[list[float]]:
    return [
        [
            float(line)
            for line in subprocess.run(
                [sys.executable, "-c", code, *arguments],
                capture_output=True, text=True, check=True, timeout=120,
                env={**os.environ, **environment},
            ).stdout.split()
        ]
        for _ in range(_RUNS + 1)
    ]  # fmt: skip


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
    imported, with_map = _milliseconds(_IMPORT)
    (first,), (by_hand,) = _milliseconds(_FIRST_MAP), _milliseconds(_BY_HAND)
    with tempfile.TemporaryDirectory() as folder:
        _make_distributions(Path(folder))
        # No plugin chosen: the scan alone. What importing the plugins' own modules costs is theirs.
        scan, again = _milliseconds(_DISCOVER, folder, SAMEBYTES_PLUGINS="")
        loaded, _ = _milliseconds(_DISCOVER, folder)
    more = f"{_DISTRIBUTIONS} more distributions"
    return [
        Row("import samebytes, numpy already imported, CPU time", None, imported, None, 25, "ms"),
        Row("... and the first tensor(array).map('cpu')", None, with_map, None, 25, "ms"),
        Row("the first map() to a plugin's memory, against importing pluggy and entry_points()",
            by_hand, first, first / by_hand, 1.2, "ms"),
        Row(f"discovery, {more}, first", None, scan, None, 10, "ms"),
        Row(f"discovery, {more}, again", None, again, None, None, "ms"),
        Row(f"discovery with all plugins loaded, {more}", None, loaded, None, None, "ms"),
    ]  # fmt: skip
