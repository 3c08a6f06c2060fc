# SPDX-License-Identifier: Apache-2.0
"""What samples/toy_inputs.py makes, for the tests of the samples."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

__all__ = ["FRAMES", "HEIGHT", "WIDTH", "make_model", "make_video", "place"]

_made = runpy.run_path(str(Path(__file__).parents[2] / "samples" / "toy_inputs.py"))
WIDTH: int = _made["WIDTH"]
HEIGHT: int = _made["HEIGHT"]
FRAMES: int = _made["FRAMES"]
place: Callable[[int], tuple[int, int, int, int]] = _made["place"]
make_video: Callable[[Path], None] = _made["make_video"]
make_model: Callable[[Path], None] = _made["make_model"]
