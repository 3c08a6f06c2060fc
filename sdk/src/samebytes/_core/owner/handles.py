# SPDX-License-Identifier: Apache-2.0
"""Owners of native pointers and file descriptors.

A call that acquires a pointer returns an object that owns it: its `restype` is a type made by
`OwnedPointer.freed_by`, which ctypes fills in C. When such an object is dropped, it runs the C
function itself. If a C function takes over what an object owns, the object is emptied first: an
exception of a signal handler between the two leaks, while the other order would free twice.

The garbage collector finalizes the objects of a reference cycle in any order, so it could give
something back before those who still use it were finalized. `untrack` prevents that.
"""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import POINTER, c_int, c_void_p, py_object
from typing import TYPE_CHECKING, Any

from ..._numbers import integer
from ...errors import ClosedError, LayoutError
from .storage import Uncopyable

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "Fd",
    "OwnedPointer",
    "bindable",
    "untrack",
]


# Makes any callable bind like a function written in Python. Objects/classobject.c
bindable = ctypes.pythonapi["PyInstanceMethod_New"]
bindable.restype = py_object
bindable.argtypes = (py_object,)


untrack = ctypes.pythonapi["PyObject_GC_UnTrack"]
"""Hide an object from the garbage collector: it ends only with its last reference.

For objects that refer to no others. In a cycle they are then given back after all finalizers ran.
Call this right after acquiring one: the types of `OwnedPointer.freed_by` do not.
"""
untrack.restype = None
untrack.argtypes = (py_object,)


class OwnedPointer(c_void_p):
    """A pointer of C that its owner must give back: the base of the types that `freed_by` makes.

    A subclass may have slots for other things that the object holds.
    """

    __slots__ = ()

    @property
    def address(self) -> int:
        """The pointer as an int; it stays this object's. 0 if it owns nothing."""
        return self.value or 0

    @classmethod
    def freed_by(cls, free: Any, name: str) -> type[Self]:
        """A subclass for the `restype` of calls that return such a pointer.

        Args:
            free: a ctypes function that nobody else uses (`library[symbol]` makes one). It is
                called with the address of the pointer, and must accept the address of a NULL:
                av_buffer_unref, av_frame_free, gst_clear_mini_object.
            name: the name of the type.
        """
        made = type(name, (cls,), {"__slots__": (), "__module__": __name__})
        free.restype = None
        # An argument of this type is passed as the address of the pointer in it.
        free.argtypes = (POINTER(made),)
        made.__del__ = bindable(free)  # type: ignore[attr-defined]
        return made


_CLOSED = "this file descriptor was closed or handed over"


class _Number(c_int):
    """Closes itself when it is dropped, by C code that no signal handler interrupts."""

    __slots__ = ()


if os.name == "posix":
    _close = ctypes.CDLL(None)["close"]
    _close.argtypes = (_Number,)
    _Number.__del__ = bindable(_close)  # type: ignore[attr-defined]


class Fd(Uncopyable):
    """Owns one file descriptor and closes it exactly once.

    `Fd(number)` takes ownership of an open descriptor; one that it refuses stays the caller's. Use
    `Fd.borrow(number)` where the caller keeps theirs: it duplicates.

    Any thread may use, close and hand it over at any time: the number goes to one of them.
    """

    # The number, or nothing. A list, since one call in C removes the item from it for good.
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
        return self._open().value

    def dup(self) -> Fd:
        """A second descriptor on the same open file, with its own owner.

        Raises:
            ClosedError: this one was closed or handed over.
            OSError: the process has no descriptor left.
        """
        # Held here, it survives close() in another thread, but not a caller that detach() gave it.
        owned = self._open()
        return Fd(os.dup(owned.value))

    def detach(self) -> int:
        """The number, which is the caller's to close from now on: for a call that will close it.

        Raises:
            ClosedError: this one was closed or handed over.
        """
        try:
            owned = self._owned.pop()
        except IndexError:
            raise ClosedError(_CLOSED) from None
        number, owned.value = owned.value, -1
        return number

    def _open(self) -> _Number:
        for owned in self._owned:
            return owned
        raise ClosedError(_CLOSED)

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
