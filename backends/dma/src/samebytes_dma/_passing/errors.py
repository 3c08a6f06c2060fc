# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a message."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

from samebytes.errors import SamebytesError

__all__ = ["EndOfStreamError", "MessageError", "named", "shown"]


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


@contextmanager
def named(field: str) -> Iterator[None]:
    """Errors of samebytes that are raised inside become those of a field."""
    try:
        yield
    except MessageError:
        raise
    except SamebytesError as error:
        raise MessageError(field, str(error)) from error


def shown(value: object) -> str:
    """A stranger's value in an error message, cut short."""
    return reprlib.repr(value)
