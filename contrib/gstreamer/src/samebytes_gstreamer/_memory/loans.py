# SPDX-License-Identifier: Apache-2.0
"""Python memory in GStreamer's mini objects, lent by `samebytes.plugins.Loan`."""

from __future__ import annotations

import ctypes
from ctypes import c_uint8, c_void_p, py_object

from samebytes.plugins import (
    Lender,
    Loan,
    OwnedPointer,
    Refused,
)
from samebytes.plugins import sweep_loans as sweep

from .._abi.gstreamer import GST_MEMORY_FLAG_READONLY
from .._abi.libraries import allocators, another, gst
from .._abi.plugin_libraries import GST_FD_MEMORY_FLAG_DONT_CLOSE

__all__ = [
    "CLEAR",
    "append",
    "attach_loan",
    "dmabuf_memory",
    "fd_memory",
    "held_by",
    "held_count",
    "new_loan",
    "sweep",
    "wrap_bytes",
]

CLEAR = ctypes.cast(gst.gst_clear_mini_object, c_void_p).value or 0
"""The release function of lent objects; its argument is a slot of a loan."""

_Memory = OwnedPointer.freed_by(another(gst, "gst_clear_mini_object"), "GstMemoryPointer")
_new_wrapped = another(gst, "gst_memory_new_wrapped", _Memory)
_dmabuf_alloc = another(allocators, "gst_dmabuf_allocator_alloc_with_flags", _Memory)
_fd_alloc = another(allocators, "gst_fd_allocator_alloc", _Memory)

# A token is a memory, the cheapest mini object; nobody reads its one byte.
_BYTE = c_uint8()
_BYTE_ADDRESS = ctypes.addressof(_BYTE)
ctypes.pythonapi.Py_IncRef(py_object(_BYTE))


def _new_token(notify: tuple[int, int] | None) -> OwnedPointer:
    token: OwnedPointer = _new_wrapped(GST_MEMORY_FLAG_READONLY, _BYTE_ADDRESS, 1, 0, 1, None, None)
    if notify is not None:
        gst.gst_mini_object_weak_ref(token, *notify)  # called with its data and the object
    return token


held_by = Loan.held_in
"""The object that a slot stands for."""

_LENDER = Lender(CLEAR, _new_token, gst.gst_mini_object_replace)


def new_loan(held: object) -> Loan:
    """A loan to GStreamer: `held` is dropped when all that is lent with it was released."""
    return Loan(_LENDER, held)


def wrap_bytes(loan: Loan, address: int, nbytes: int, *, readonly: bool) -> OwnedPointer:
    """A GstMemory* on memory that the loan holds.

    Elements copy a read-only memory before they write.
    """
    flags = GST_MEMORY_FLAG_READONLY if readonly else 0
    slot = loan.slot()
    memory: OwnedPointer = _new_wrapped(flags, address, nbytes, 0, nbytes, slot, CLEAR)
    loan.fill(slot)
    return memory


def attach_loan(loan: Loan, memory: OwnedPointer, quark: int) -> None:
    """Have a GstMemory* keep the objects of the loan, under a name, for as long as it lives."""
    slot = loan.slot()
    gst.gst_mini_object_set_qdata(memory, quark, slot, CLEAR)
    loan.fill(slot)


def dmabuf_memory(allocator: int, fd: int, size: int) -> OwnedPointer:
    """A GstMemory* over a DMA-BUF, whose descriptor stays its owner's.

    Raises:
        Refused: GStreamer has no memory behind descriptors on this system.
    """
    return _made(_dmabuf_alloc(allocator, fd, size, GST_FD_MEMORY_FLAG_DONT_CLOSE))


def fd_memory(allocator: int, fd: int, size: int) -> OwnedPointer:
    """The same over any other descriptor."""
    return _made(_fd_alloc(allocator, fd, size, GST_FD_MEMORY_FLAG_DONT_CLOSE))


def _made(memory: OwnedPointer) -> OwnedPointer:
    if not memory:
        raise Refused("GStreamer has no memory behind descriptors on this system")
    return memory


def append(buffer: int, memory: OwnedPointer) -> None:
    """Add a GstMemory* to a GstBuffer*, which takes it over."""
    pointer, memory.value = memory.value, None
    gst.gst_buffer_append_memory(buffer, pointer)


def held_count() -> int:
    """The number of objects that are lent, after a sweep."""
    return _LENDER.count()
