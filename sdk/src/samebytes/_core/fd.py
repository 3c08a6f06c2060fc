# SPDX-License-Identifier: Apache-2.0
"""Fd: the only class that owns, duplicates, hands over and closes file descriptors."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from ctypes import c_int
from typing import Any

from .._numbers import integer
from ..errors import ClosedError, LayoutError
from .owned_pointer import bindable, untrack
from .storage import Uncopyable

__all__ = ["Fd"]


class _Number(c_int):
    """Closes itself when it is dropped, by C code that no signal handler interrupts."""

    __slots__ = ()


if os.name == "posix":
    _close = ctypes.CDLL(None)["close"]
    _close.argtypes = (_Number,)
    _Number.__del__ = bindable(_close)  # type: ignore[attr-defined]


class Fd(Uncopyable):
    """Owns one file descriptor and closes it exactly once.

    `Fd(number)` takes ownership of an open descriptor. Use `Fd.borrow(number)` where the caller
    keeps theirs: it duplicates.

    Any thread may use, close and hand it over at any time: the number goes to one of them.
    """

    # The number, or nothing. A list, since one call in C takes what is in it from all others.
    __slots__ = ("_owned",)

    _owned: list[_Number]

    _instead = "use dup()"

    def __init__(self, number: int) -> None:
        if not 0 <= integer(number, "a file descriptor") < 1 << 31:
            raise LayoutError(f"{number} is not a file descriptor")
        owned = _Number(number)
        untrack(owned)
        self._owned = [owned]

    @classmethod
    def returned_by(cls, function: Callable[..., int], *arguments: Any) -> Fd:
        """An owner of the descriptor that a call returns.

        Args:
            function: it raises if it fails.
            arguments: its arguments.
        """
        return cls(function(*arguments))

    @classmethod
    def borrow(cls, number: int) -> Fd:
        """An owner of a duplicate of `number`; the caller's descriptor stays the caller's.

        Args:
            number: an open descriptor.

        Raises:
            LayoutError: `number` is not an open descriptor.
            OSError: the process has no descriptor left.
        """
        try:
            return cls(os.dup(integer(number, "a file descriptor")))
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno != errno.EBADF:
                raise
            raise LayoutError(f"{number} is not an open file descriptor") from error

    def fileno(self) -> int:
        """The number, for a call that only looks. It stays this object's.

        Raises:
            ClosedError: it was closed or handed over.
        """
        for owned in self._owned:
            return owned.value
        raise ClosedError("this file descriptor was closed or handed over")

    def dup(self) -> Fd:
        """A second descriptor on the same open file, with its own owner.

        Raises:
            ClosedError: this one was closed or handed over.
            OSError: the process has no descriptor left.
        """
        for owned in self._owned:  # as long as it is held here, nobody closes it
            return Fd(os.dup(owned.value))
        raise ClosedError("this file descriptor was closed or handed over")

    def detach(self) -> int:
        """Hand the number over to a call that will close it; this object no longer does.

        Returns:
            The number of the descriptor, which is the caller's to close from now on.

        Raises:
            ClosedError: this one was closed or handed over.
        """
        try:
            owned = self._owned.pop()
        except IndexError:
            raise ClosedError("this file descriptor was closed or handed over") from None
        number, owned.value = owned.value, -1
        return number

    def close(self) -> None:
        """Close it now. Closing twice does nothing."""
        self._owned.clear()

    @property
    def closed(self) -> bool:
        """True if the descriptor was closed, or passed on by `detach()`."""
        return not self._owned

    def __enter__(self) -> Fd:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return next((f"<Fd {owned.value}>" for owned in self._owned), "<Fd closed>")
