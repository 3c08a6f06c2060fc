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
    """Something that was received, or was to be sent, cannot be part of a message.

    Nothing of a message that was received is kept: its descriptors are closed. Close the
    connection too, for what follows on a stream cannot be told apart.

    Attributes:
        field: what is wrong, for instance "frame.planes[1].offset" or "descriptors[0]".
    """

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field}: {what}")


class EndOfStreamError(SamebytesError, EOFError):
    """The other side closed the connection, between two messages."""


class OfferError(SamebytesError, EOFError):
    """A pickled tensor or frame cannot be had: one pickle is for one receiver, soon."""


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
