# SPDX-License-Identifier: Apache-2.0
"""The openvino.Core that contexts are asked from when the user passes none."""

from __future__ import annotations

from functools import cache
from typing import Any

import openvino

__all__ = ["default_core"]


@cache
def default_core() -> Any:
    """One for the process. A device's default context is the same for every Core."""
    return openvino.Core()
