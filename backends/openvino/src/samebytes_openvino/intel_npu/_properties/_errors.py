# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of the NPU plugin's properties."""

from __future__ import annotations

from typing import Any

from samebytes.errors import SamebytesError

__all__ = ["NpuPropertyError", "NpuPropertyWarning"]


class NpuPropertyError(SamebytesError, ValueError):
    """A property of the NPU plugin cannot be given that value.

    Attributes:
        property: its key ("NPU_TILES").
        value: what it was given.
    """

    def __init__(self, property_: str, value: Any, reason: str) -> None:
        self.property = property_
        self.value = value
        super().__init__(f"{property_}: {reason}")


class NpuPropertyWarning(UserWarning):
    """A property of the NPU plugin that will have no effect, or hardly the one that was meant."""
