# SPDX-License-Identifier: Apache-2.0
"""The line of a user's file that raised an error."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["line_of"]

_OURS = f"{Path(__file__).parents[1]}{os.sep}"


def line_of(error: BaseException) -> str:
    """Return "FILE, line N" of the user's code that raised an error, or "" if there was none.

    FILE is the first file of the traceback that belongs neither to samebytes nor to the import
    machinery, and N the last of its lines in the traceback.
    """
    import traceback  # needed only for errors

    frames = traceback.extract_tb(error.__traceback__)
    files = [f.filename for f in frames]
    outside = [f for f in files if not f.startswith(_OURS) and "importlib" not in f]
    if not outside:
        return ""
    line = next(f.lineno for f in reversed(frames) if f.filename == outside[0])
    return f"{outside[0]}, line {line}"
