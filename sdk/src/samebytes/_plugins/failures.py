# SPDX-License-Identifier: Apache-2.0
"""Describe exceptions that code of a plugin raised."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import traceback

__all__ = ["described", "missing_package", "shown"]


def described(error: BaseException) -> str:
    """The error's type and text, and the plugin's line that raised it, where there is one."""
    import traceback  # for errors alone

    # The first frame is that of whoever caught it.
    frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if not _of_import(f)]
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _of_import(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(("<frozen importlib", importlib.__file__))


def missing_package(error: BaseException, packages: Iterable[str]) -> str | None:
    """The one of the packages that is not installed, if that is what the error says."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    name = error.name
    return next((p for p in packages if p == name or p.startswith(f"{name}.")), None)


def shown(value: object) -> str:
    """The value's repr, short, even where it has none."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= 300 else f"{text[:300]} ..."
