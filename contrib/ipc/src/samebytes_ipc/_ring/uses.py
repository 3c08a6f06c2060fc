# SPDX-License-Identifier: Apache-2.0
"""The frames of a ring that a reader's process uses."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, Protocol

import numpy as np

from .slots import User

__all__ = ["Use"]


class _Connection(Protocol):
    """A reader's connection, as the uses of its frames know it."""

    uses: dict[int, Use]
    unsent: deque[Use]

    def send_unsent(self) -> None: ...


class Use(weakref.ref[Any]):
    """The use of a frame, from when it is among those of a connection until its user is gone.

    Attributes:
        connection: through which the frame came.
        slot: where it lies.
        sequence: its number.
    """

    __slots__ = ("connection", "sequence", "slot")

    connection: _Connection
    slot: int
    sequence: int

    @classmethod
    def of(cls, user: User | np.ndarray[Any, Any]) -> Use:
        """A use that is over when `user` is gone. It has not begun.

        Args:
            user: what the frame holds; an array is the one that all of its arrays hold. The garbage
                collector must not track it: it clears weak references to what is in a reference
                cycle before it runs finalizers, and those may still use the slot.
        """
        return cls(user, _give_back)


def _give_back(use: Use) -> None:
    """Called by whichever thread drops the last holder, in a finalizer: it cannot wait."""
    try:
        connection = use.connection
        if connection.uses[use.sequence] is not use:
            return
    except (AttributeError, KeyError):  # it has not begun
        return
    connection.unsent.append(use)
    connection.send_unsent()
