# SPDX-License-Identifier: Apache-2.0
"""Descriptions of exceptions that a plugin's code raised."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import traceback

__all__ = ["described", "missing_package", "shown"]


def described(error: BaseException) -> str:
    """The error's type and message, and the plugin's line that raised it, if there is one."""
    import traceback  # for errors alone

    # The first frame is that of the function that caught it.
    frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if not _of_import(f)]
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _of_import(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(("<frozen importlib", importlib.__file__))


def missing_package(error: BaseException, packages: Iterable[str]) -> str | None:
    """The one of the packages that is not installed, if that is the error; else None."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    name = error.name
    return next((p for p in packages if p == name or p.startswith(f"{name}.")), None)


def shown(value: object) -> str:
    """The value's repr, shortened; a substitute if repr() fails."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= 300 else f"{text[:300]} ..."
