# SPDX-License-Identifier: Apache-2.0
"""Owners of native pointers and file descriptors, and the table of handle keys.

A call that acquires a pointer returns an object that owns it: its `restype` is a type made by
`OwnedPointer.freed_by`, which ctypes fills in C. When such an object is dropped, it runs the C
function itself. Where a C function takes over what an object owns, the object is emptied first: an
exception of a signal handler between the two leaks, where the other order would give back twice.

The garbage collector finalizes the objects of a reference cycle in any order, so it could give
something back before those who still use it were finalized. `untrack` prevents that.

By handle keys plugins meet without knowing each other: `handle(key)` of tensors, frames and
contexts gives one as an int, which stays with its owner.
"""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import POINTER, c_int, c_void_p, py_object
from typing import TYPE_CHECKING, Any, Literal

from ..._frozen import frozen
from ..._numbers import integer
from ...errors import ClosedError, LayoutError, UnknownNameError
from .storage import Uncopyable

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "HANDLE_KEYS",
    "Fd",
    "HandleKey",
    "OwnedPointer",
    "bindable",
    "check_handle_key",
    "untrack",
]


# Makes any callable bind like a function written in Python. Objects/classobject.c
bindable = ctypes.pythonapi["PyInstanceMethod_New"]
bindable.restype = py_object
bindable.argtypes = (py_object,)


untrack = ctypes.pythonapi["PyObject_GC_UnTrack"]
"""Take an object out of the garbage collector's sight: it ends with its last reference alone.

For objects that refer to no others. In a cycle they are then given back after all finalizers ran.
Whoever acquires one calls this at once: the types of `OwnedPointer.freed_by` do not.
"""
untrack.restype = None
untrack.argtypes = (py_object,)


class OwnedPointer(c_void_p):
    """A pointer of C that its owner must give back: the base of the types that `freed_by` makes.

    A subclass may have slots for what else the object holds.
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
            name: of the type.
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
        # Held here, close() of another thread does not end it; who was given it by detach() may.
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


@frozen()
class HandleKey:
    """One kind of native handle.

    Attributes:
        name: the key.
        c_type: its type in C, as in the header that declares it.
        of: whether tensors, contexts, or frames have it.
        doc: what it is and who owns it.
    """

    name: str
    c_type: str
    of: Literal["tensor", "context", "frame"]
    doc: str

    def register(self) -> None:
        """Add it to the table, for a framework that the core does not know.

        Raises:
            ValueError: the name is taken by a different key.
        """
        if HANDLE_KEYS.setdefault(self.name, self) != self:
            raise ValueError(f"handle key {self.name!r} is already {HANDLE_KEYS[self.name]}")


_KEYS = (
    HandleKey("data", "void*", "tensor", "first element, readable by the CPU; owned by storage"),
    HandleKey("offset", "size_t", "tensor", "bytes from the start of the native object"),
    HandleKey("plane_index", "int", "tensor", "which plane of a native frame this tensor is"),
    HandleKey("dma_fd", "int", "tensor", "DMA-BUF descriptor, owned by the tensor's Fd: dup it"),
    HandleKey("pitch", "uint32_t", "tensor", "bytes from row to row, also of tiled memory"),
    HandleKey("drm_modifier", "uint64_t", "tensor", "layout modifier, see drm_fourcc.h"),
    HandleKey("va_surface", "VASurfaceID", "tensor", "surface of the context's va_display"),
    HandleKey("cl_mem", "cl_mem", "tensor", "one reference is the tensor's: retain to keep"),
    HandleKey("usm_ptr", "void*", "tensor", "USM pointer, valid in the tensor's context only"),
    HandleKey("ze_usm_type", "ze_memory_type_t", "tensor", "host, device or shared USM"),
    HandleKey("gst_memory", "GstMemory*", "tensor", "one reference is the tensor's"),
    HandleKey("d3d11_texture", "ID3D11Texture2D*", "tensor", "one reference is the tensor's"),
    HandleKey("cuda_ptr", "CUdeviceptr", "tensor", "first element; valid in the tensor's context"),
    HandleKey("av_frame", "AVFrame*", "frame", "owned by the av.VideoFrame or av.AudioFrame"),
    HandleKey("gst_buffer", "GstBuffer*", "frame", "one reference is the frame's"),
    HandleKey("va_display", "VADisplay", "context", "owned by the context that opened it"),
    HandleKey("drm_fd", "int", "context", "DRM node, owned by the context's Fd: dup it"),
    HandleKey("cl_context", "cl_context", "context", "one reference is the context's"),
    HandleKey("cl_queue", "cl_command_queue", "context", "one reference is the context's"),
    HandleKey("cl_device", "cl_device_id", "context", "root devices have no owner"),
    HandleKey("ze_driver", "ze_driver_handle_t", "context", "owned by the loader"),
    HandleKey("ze_device", "ze_device_handle_t", "context", "owned by the driver"),
    HandleKey("ze_context", "ze_context_handle_t", "context", "owned by its creator"),
    HandleKey("sycl_queue", "sycl::queue*", "context", "owned by the Python object"),
    HandleKey("d3d11_device", "ID3D11Device*", "context", "one reference is the context's"),
    HandleKey("cuda_context", "CUcontext", "context", "owned by its creator or the driver"),
    HandleKey("cuda_device", "CUdevice", "context", "the device's ordinal; it has no owner"),
    HandleKey("cuda_stream", "CUstream", "context", "what orders the work on the context's memory"),
)

HANDLE_KEYS: dict[str, HandleKey] = {key.name: key for key in _KEYS}


def check_handle_key(name: str) -> None:
    """Raise UnknownNameError, with the nearest keys, unless the table has this one."""
    if name not in HANDLE_KEYS:
        raise UnknownNameError("handle key", name, HANDLE_KEYS)
