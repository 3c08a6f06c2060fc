# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries: by DLPack, and by the CUDA array interface.

A lender orders the work pending on its memory before home (see `_streams`): with DLPack the
producer does so itself, since home is passed as the consumer's stream; with the array interface
it names the stream that home must wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from samebytes import Storage, TensorInfo
from samebytes.errors import LayoutError, SamebytesError, UnsupportedObjectError
from samebytes.plugins import DeviceArray

from ._array import CudaArray
from ._dlpack import CUDA, CUDA_HOST, CUDA_MANAGED
from ._driver import LEGACY_STREAM, Home
from ._pointers import Pointer, look_up_all
from ._streams import is_handle, precede
from ._use import CudaStorage, give_back

__all__ = ["Lent", "borrow"]

_DEVICES = frozenset((CUDA, CUDA_HOST, CUDA_MANAGED))
_INTERFACE = "__cuda_array_interface__"
# The function that gives the context of a CUcontext (0: of the device) and an ordinal.
_HomeOf: TypeAlias = Callable[[int, int], Home]


class Lent(CudaStorage):
    """Memory lent by an object, which this holds. Nothing needs to be released before hand_out().

    Attributes:
        native: the object.
        first, info, kind: the address of the first element, the layout from there, and the kind of
            memory.
        forbids_writing: True if the lender forbids writing.
        by_dlpack: True if it was lent by DLPack.
    """

    __slots__ = ("by_dlpack", "first", "forbids_writing", "info", "kind", "native")

    native: Any
    first: int
    info: TensorInfo
    kind: str
    forbids_writing: bool
    by_dlpack: bool

    def array(self, readonly: bool) -> CudaArray:
        """The array, which holds this."""
        return CudaArray(self.context, self.first, self.info, self.kind, self, readonly)

    def hand_out(self, stream: int | None = None) -> None:
        """Note this, and let the lender have its memory back after all work of the context."""
        if not self.handed_out:
            release = partial(give_back, self.context, None)
            self.keep = Storage(release, keep=self.keep, at_exit=True)
            super().hand_out(stream)

    def ask_again(self) -> None:
        """Order the lender's work enqueued since then before home, as far as the lender can."""
        if self.by_dlpack:
            _by_dlpack(self.native)
        else:
            _wait_for_stream(self.context, getattr(self.native, _INTERFACE, {}).get("stream"))


def borrow(native: Any, home_of: _HomeOf) -> Lent:
    """The memory that an object lends, checked with the driver.

    Args:
        native: the object.
        home_of: gives the context of memory, from the driver's information about it.

    Raises:
        UnsupportedObjectError: it lends no CUDA memory.
        LayoutError: the memory is not at the place that the object names, or has a layout that no
            array can have.
        DeviceMismatchError: the stream that it names belongs to another context.
    """
    if hasattr(native, "__dlpack_device__"):
        return _from_dlpack(native, home_of)
    if hasattr(native, _INTERFACE):
        return _from_interface(native, home_of)
    raise UnsupportedObjectError(
        f"a {type(native).__name__} shares no CUDA memory: it has neither DLPack nor {_INTERFACE}"
    )


def _from_dlpack(native: Any, home_of: _HomeOf) -> Lent:
    (array, info, address, readonly, device), complete = _by_dlpack(native)
    extent = info.extent
    if extent[0] != extent[1]:
        pointer = _known(native, info, address)
        if device[0] == CUDA and pointer.ordinal != device[1]:
            raise LayoutError(
                f"{_name(native)} says that its memory is on CUDA device {device[1]}, and CUDA "
                f"that it is on device {pointer.ordinal}"
            )
    else:
        pointer = Pointer(0, device[1], "device")
    home = home_of(pointer.context, pointer.ordinal)
    if not complete:
        home.synchronize()
    lent = _lent(native, home, address, info, extent, pointer.kind, readonly, (array, native))
    lent.by_dlpack = True
    return lent


def _by_dlpack(native: Any) -> tuple[DeviceArray, bool]:
    """The array lent by DLPack, and whether the producer ordered its pending work before home."""
    try:
        found = DeviceArray.by_dlpack(native, _DEVICES, LEGACY_STREAM)
    except UnsupportedObjectError as error:
        # A producer without streams, as PyAV's planes are: then everything is waited for.
        if not isinstance(error.__cause__, NotImplementedError | TypeError):
            raise
        return DeviceArray.by_dlpack(native, _DEVICES), False
    return found, found.device[0] != CUDA_HOST  # pinned memory is lent without a stream


def _from_interface(native: Any, home_of: _HomeOf) -> Lent:
    described = getattr(native, _INTERFACE)
    info, address, readonly = _described(native, described)
    if not info.size:
        pointer = Pointer(0, 0, "device")
    else:
        pointer = _known(native, info, address)
    home = home_of(pointer.context, pointer.ordinal)
    _wait_for_stream(home, described.get("stream"))
    lent = _lent(native, home, address, info, info.extent, pointer.kind, readonly, native)
    lent.by_dlpack = False
    return lent


def _described(native: Any, described: Any) -> tuple[TensorInfo, int, bool]:
    """The layout, the address, and True if the memory is read-only."""
    try:
        element = np.dtype(described["typestr"])
        shape = tuple(described["shape"])
        address, readonly = described["data"]
        strides = described.get("strides")
        masked = described.get("mask") is not None
        info = TensorInfo(element, shape, strides)
        address = int(address or 0)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, SamebytesError):
            raise
        raise LayoutError(f"{_name(native)}: its {_INTERFACE} is malformed: {error}") from error
    if masked:
        raise LayoutError("an array with a mask is two arrays: pass them one by one")
    return info, address, bool(readonly)


def _wait_for_stream(home: Home, stream: Any) -> None:
    if stream is None:  # the memory is complete, says the producer
        return
    if not is_handle(stream):
        raise LayoutError(f"{stream!r} is not a stream that an {_INTERFACE} can have")
    precede(home, stream)


def _known(native: Any, info: TensorInfo, address: int) -> Pointer:
    """The attributes that CUDA reports for the memory of all elements; there is at least one."""
    low, high = info.extent
    pointer, whole = look_up_all(address + low, high - low)
    if pointer is None:
        raise LayoutError(
            f"{_name(native)} names memory at {address + low:#x} that CUDA does not know: it was "
            "freed, or CUDA did not allocate it"
        )
    if not whole:
        raise LayoutError(
            f"{_name(native)}: {info} at {address:#x} extends beyond the end of the CUDA "
            "allocation that it begins in"
        )
    return pointer


def _lent(
    native: Any,
    home: Home,
    address: int,
    info: TensorInfo,
    extent: tuple[int, int],
    kind: str,
    readonly: bool,
    keep: Any,
) -> Lent:
    low, high = extent
    there = address + low if kind != "device" else 0
    lent = Lent(None, address=there, nbytes=high - low, keep=keep, wait=home.finish)
    lent.context, lent.handed_out, lent.ordered = home, False, None
    lent.native, lent.first, lent.info, lent.kind = native, address, info, kind
    lent.forbids_writing = readonly
    return lent


def _name(native: Any) -> str:
    return f"{type(native).__module__}.{type(native).__qualname__}"
