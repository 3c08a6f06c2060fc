# SPDX-License-Identifier: Apache-2.0
"""Fd: the only class that owns, duplicates, hands over and closes file descriptors."""

from __future__ import annotations

import errno
import os

from ..errors import ClosedError, LayoutError
from .uncopyable import Uncopyable

__all__ = ["Fd"]


class Fd(Uncopyable):
    """Owns one file descriptor and closes it exactly once.

    `Fd(number)` takes ownership of an open descriptor. Use `Fd.borrow(number)` where the caller
    keeps theirs: it duplicates.
    """

    __slots__ = ("_number",)

    _instead = "use dup()"

    def __init__(self, number: int) -> None:
        if number < 0:
            self._number = -1
            raise LayoutError(f"{number} is not a file descriptor")
        self._number = number

    @classmethod
    def borrow(cls, number: int) -> Fd:
        """An owner of a duplicate of `number`; the caller's descriptor stays the caller's.

        Raises:
            LayoutError: `number` is not an open descriptor.
            OSError: the process has no descriptor left.
        """
        try:
            return cls(os.dup(number))
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            raise LayoutError(f"{number} is not an open file descriptor") from error

    def fileno(self) -> int:
        """The number, for a call that only looks. It stays this object's.

        Raises:
            ClosedError: it was closed or handed over.
        """
        if self._number < 0:
            raise ClosedError("this file descriptor was closed or handed over")
        return self._number

    def dup(self) -> Fd:
        """A second descriptor on the same open file, with an owner of its own."""
        return Fd(os.dup(self.fileno()))

    def detach(self) -> int:
        """Hand the number over to a call that will close it; this object no longer does."""
        number = self.fileno()
        self._number = -1
        return number

    def close(self) -> None:
        """Close it now. Closing twice does nothing."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    @property
    def closed(self) -> bool:
        """Whether the descriptor was closed or handed over."""
        return self._number < 0

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Fd:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Fd closed>" if self.closed else f"<Fd {self._number}>"
