# SPDX-License-Identifier: Apache-2.0
"""The errors that a ring raises besides those of messages."""

from __future__ import annotations

from collections.abc import Mapping

from samebytes.errors import SamebytesError

__all__ = ["RingRefusedError", "RingTimeoutError"]


class RingTimeoutError(SamebytesError, TimeoutError):
    """No slot came back in time, no frame or reader came, or nobody wrote.

    Attributes:
        holders: of the slots, if it was about those: how many each process has, by its number.
    """

    def __init__(self, message: str, holders: Mapping[int, int] | None = None) -> None:
        self.holders = dict(holders or {})
        super().__init__(message)


class RingRefusedError(SamebytesError, ConnectionError):
    """The writer of a ring does not take this reader, or another process writes there."""
