# SPDX-License-Identifier: Apache-2.0
"""The openvino.Core that is used where the user passes none."""

from __future__ import annotations

from functools import cache
from typing import Any

import openvino

from samebytes.errors import UnsupportedObjectError

__all__ = ["core_of", "default_core"]


@cache
def default_core() -> Any:
    """One for the process. A device's default context is the same for every Core."""
    return openvino.Core()


def core_of(given: Any) -> Any:
    """The openvino.Core that was passed, or the one for the process in place of None.

    Raises:
        UnsupportedObjectError: it is something else.
    """
    if given is None:
        return default_core()
    if not hasattr(given, "compile_model"):
        raise UnsupportedObjectError(f"core must be an openvino.Core, not {given!r}")
    return given
