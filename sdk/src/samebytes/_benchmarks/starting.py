# SPDX-License-Identifier: Apache-2.0
"""The import of samebytes, and finding plugins among many distributions, in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..benchmarks import Ways

__all__ = ["discovered", "first_map", "imported"]

_DISTRIBUTIONS = 200

_IMPORT = """
import time, numpy
start = time.process_time()
import samebytes
samebytes.tensor(numpy.zeros(4)).map("cpu")
print(time.process_time() - start)
"""

# OpenCV itself is not what is measured.
_FIRST_MAP = """
import time, numpy, cv2, samebytes
tensor = samebytes.tensor(numpy.zeros((4, 4), numpy.uint8))
start = time.process_time()
tensor.map("opencv")
print(time.process_time() - start)
"""

_ENTRY_POINTS = """
import time, numpy, cv2, samebytes
start = time.process_time()
import pluggy, importlib_metadata
importlib_metadata.entry_points()
print(time.process_time() - start)
"""

# Without plugins: the cost of importing their modules is theirs.
_DISCOVER = """
import sys, time, samebytes, numpy
sys.path.append(sys.argv[1])
from samebytes._plugins import discovery
import pluggy, importlib_metadata
start = time.process_time()
discovery.tables()
print(time.process_time() - start)
"""


def _seconds(code: str, bytecode: str, *arguments: str, **environment: str) -> float:
    """The seconds that `code` prints in a fresh process."""
    # The first run fills this separate folder of bytecode; else compilation would be measured.
    cached = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    answer = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **cached, **environment},
    )
    return float(answer.stdout)


def _ways(
    folder: tempfile.TemporaryDirectory[str],
    ours: Callable[[], float],
    by_hand: Callable[[], float] | None = None,
) -> Ways:
    return Ways(ours=ours, by_hand=by_hand, timed=True, close=folder.cleanup)


def imported(_width: int, _height: int) -> Ways:
    """The import beyond that of numpy, with a first tensor and its first mapping."""
    folder = tempfile.TemporaryDirectory()
    return _ways(folder, partial(_seconds, _IMPORT, folder.name))


def first_map(_width: int, _height: int) -> Ways:
    """The first map() of a process, which finds and loads the plugins."""
    folder = tempfile.TemporaryDirectory()
    return _ways(
        folder,
        partial(_seconds, _FIRST_MAP, folder.name),
        partial(_seconds, _ENTRY_POINTS, folder.name),
    )


def discovered(_width: int, _height: int) -> Ways:
    """Only the scan for plugins."""
    folder = tempfile.TemporaryDirectory()
    there = Path(folder.name) / "site"
    for number in range(_DISTRIBUTIONS):
        info = there / f"filler_{number}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: filler-{number}\nVersion: 1\n"
        )
        (info / "entry_points.txt").write_text(f"[console_scripts]\nfiller{number} = filler:main\n")
    return _ways(
        folder, partial(_seconds, _DISCOVER, folder.name, str(there), SAMEBYTES_PLUGINS="")
    )
