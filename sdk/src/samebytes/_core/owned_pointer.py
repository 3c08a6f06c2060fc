# SPDX-License-Identifier: Apache-2.0
"""Native pointers that no exception can lose.

A signal handler may raise before any instruction of Python. `pointer = acquire()` followed by
`try:` therefore leaks: an exception between the two loses the pointer. And a `__del__` written in
Python can be interrupted before its first line. So:

* A call that acquires something returns an object that owns it already: its `restype` is a type
  made by `owned_pointer_type`. ctypes fills it in C, inside the call.
* What such an object runs when it is dropped is the C function itself.
* Where a C function takes over what an object owns, the object is emptied first: an exception
  between the two leaks, where the other order would give back twice.

The garbage collector finalizes the objects of a reference cycle in any order, so it could give a
pointer back before those who still use it were finalized. `untrack` prevents that.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_void_p, py_object
from typing import Any

__all__ = [
    "OwnedPointer",
    "bindable",
    "owned_pointer_type",
    "untrack",
]

# Makes any callable bind like a function written in Python. Objects/classobject.c
bindable = ctypes.pythonapi["PyInstanceMethod_New"]
bindable.restype = py_object
bindable.argtypes = (py_object,)


untrack = ctypes.pythonapi["PyObject_GC_UnTrack"]
"""Take an object out of the garbage collector's sight: it ends with its last reference alone.

For objects that refer to no others. In a cycle they are then given back after all finalizers ran.
"""
untrack.restype = None
untrack.argtypes = (py_object,)


class OwnedPointer(c_void_p):
    """The base of what `owned_pointer_type` makes."""

    __slots__ = ()

    @property
    def address(self) -> int:
        """The pointer as an int; it stays this object's. 0 if it owns nothing."""
        return self.value or 0


def owned_pointer_type(
    name: str, free: Any, base: type[OwnedPointer] = OwnedPointer
) -> type[OwnedPointer]:
    """A type for the `restype` of calls that return a pointer which the caller must give back.

    Args:
        name: of the type.
        free: a ctypes function that nobody else uses (`library[symbol]` makes one). It is called
            with the address of the pointer, and must accept the address of a NULL: av_buffer_unref,
            av_frame_free, gst_clear_mini_object.
        base: a subclass of OwnedPointer, with slots for what the object holds besides.
    """
    made = type(name, (base,), {"__slots__": (), "__module__": __name__})
    free.restype = None
    # An argument of this type is passed as the address of the pointer in it.
    free.argtypes = (POINTER(made),)
    made.__del__ = bindable(free)  # type: ignore[attr-defined]
    return made
