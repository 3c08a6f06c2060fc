# SPDX-License-Identifier: Apache-2.0
"""The errors of this package, besides those of samebytes."""

from __future__ import annotations

from collections.abc import Mapping

from samebytes.errors import SamebytesError

__all__ = [
    "EndOfStreamError",
    "MessageError",
    "OfferError",
    "RingRefusedError",
    "RingTimeoutError",
]


class MessageError(SamebytesError, ValueError):
    """Something received, or about to be sent, cannot be part of a message.

    Nothing of a received message is kept: its descriptors are closed. Close the connection too,
    for a stream does not show where the next message begins.

    Attributes:
        field: what is wrong, for instance "frame.planes[1].offset" or "descriptors[0]".
    """

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field}: {what}")


class EndOfStreamError(SamebytesError, EOFError):
    """The other side closed the connection, between two messages."""


class OfferError(SamebytesError, EOFError):
    """A pickled tensor or frame cannot be fetched: one receiver can do so, for a limited time."""


class RingTimeoutError(SamebytesError, TimeoutError):
    """No slot came back in time, no frame or reader came, or nobody wrote.

    Attributes:
        holders: how many slots each process has, by process ID, if it was slots that were missing.
    """

    def __init__(self, message: str, holders: Mapping[int, int] | None = None) -> None:
        self.holders = dict(holders or {})
        super().__init__(message)


class RingRefusedError(SamebytesError, ConnectionError):
    """The writer of a ring does not take this reader, or another process writes there."""
