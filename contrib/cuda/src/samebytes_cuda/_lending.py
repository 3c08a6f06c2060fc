# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries: by DLPack, and by the CUDA array interface.

Whoever lends memory orders what is pending on it before home (see `_streams`): by DLPack the
producer does so itself, as home is passed as the consumer's stream; by the array interface
it names the stream that home must wait for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from samebytes import TensorInfo
from samebytes.errors import LayoutError, SamebytesError, UnsupportedObjectError
from samebytes.plugins import DeviceArray, data_address, dlpack_array

from ._array import CudaArray
from ._context import CudaContext, home_of
from ._dlpack import CUDA, CUDA_HOST, CUDA_MANAGED
from ._driver import LEGACY_STREAM
from ._pointers import Pointer, look_up
from ._streams import precede
from ._use import CudaStorage, Use

__all__ = ["Lent", "borrow", "part_of"]

_DEVICES = frozenset((CUDA, CUDA_HOST, CUDA_MANAGED))
_INTERFACE = "__cuda_array_interface__"


class Lent:
    """What somebody lent.

    Attributes:
        native: the object.
        context: where its memory is.
        address, info, kind: its layout there.
        readonly: the lender wants nobody to write.
        by_dlpack: it was lent by DLPack.
    """

    __slots__ = ("address", "by_dlpack", "context", "info", "kind", "native", "readonly")

    def __init__(
        self,
        native: Any,
        context: CudaContext,
        address: int,
        info: TensorInfo,
        kind: str,
        readonly: bool,
        by_dlpack: bool,
    ) -> None:
        self.native = native
        self.context = context
        self.address = address
        self.info = info
        self.kind = kind
        self.readonly = readonly
        self.by_dlpack = by_dlpack

    def array(self, pin: CudaStorage, readonly: bool) -> CudaArray:
        """The array, with its owner `pin`: this object must not hold its own."""
        return CudaArray(self.context, self.address, self.info, self.kind, pin, readonly)

    def ask_again(self) -> None:
        """Order what the lender enqueued since then before home, as far as it says so."""
        if self.by_dlpack:
            _by_dlpack(self.native)
        else:
            _wait_for_stream(self.context, getattr(self.native, _INTERFACE, {}).get("stream"))


def borrow(native: Any) -> tuple[Lent, CudaStorage]:
    """What an object lends, checked with the driver, and its owner, which holds the object.

    Raises:
        UnsupportedObjectError: it lends no CUDA memory.
        LayoutError: the memory is not where the object says, or its layout is one that no array
            has.
        DeviceMismatchError: the stream that it names belongs to another context.
    """
    if hasattr(native, "__dlpack_device__"):
        return _from_dlpack(native)
    if hasattr(native, _INTERFACE):
        return _from_interface(native)
    raise UnsupportedObjectError(
        f"a {type(native).__name__} shares no CUDA memory: it has neither DLPack nor {_INTERFACE}"
    )


def _from_dlpack(native: Any) -> tuple[Lent, CudaStorage]:
    (array, dtype, readonly, device), complete = _by_dlpack(native)
    address = data_address(array)
    info, extent = _layout(dtype, array.shape, array.strides)
    if extent[0] != extent[1]:
        pointer = _known(address, native)
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
    lent = Lent(native, home, address, info, pointer.kind, readonly, True)
    return lent, _held(lent, extent, (array, native))


@lru_cache(maxsize=256)
def _layout(
    dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[TensorInfo, tuple[int, int]]:
    """The layout and its extent. Frames of a video have one, which is checked once."""
    info = TensorInfo(dtype, shape, strides)
    return info, info.extent


def _by_dlpack(native: Any) -> tuple[DeviceArray, bool]:
    """What it lends, and whether it ordered what is pending before home."""
    try:
        found = dlpack_array(native, _DEVICES, LEGACY_STREAM)
    except UnsupportedObjectError as error:
        # A producer without streams, as PyAV's planes are: then everything is waited for.
        if not isinstance(error.__cause__, NotImplementedError | TypeError):
            raise
        return dlpack_array(native, _DEVICES), False
    return found, found.device[0] != CUDA_HOST  # pinned memory is lent without a stream


def _from_interface(native: Any) -> tuple[Lent, CudaStorage]:
    described = getattr(native, _INTERFACE)
    info, address, readonly = _described(native, described)
    if not info.size:
        pointer = Pointer(0, 0, "device")
    else:
        low, high = info.extent
        pointer = _known(address + low, native)
        if look_up(address + high - 1) != pointer:
            raise LayoutError(
                f"{_name(native)}: {info} at {address:#x} ends outside of CUDA memory"
            )
    home = home_of(pointer.context, pointer.ordinal)
    _wait_for_stream(home, described.get("stream"))
    lent = Lent(native, home, address, info, pointer.kind, readonly, False)
    return lent, _held(lent, info.extent, native)


def _described(native: Any, described: Any) -> tuple[TensorInfo, int, bool]:
    """Layout, address and whether it is read-only."""
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


def _wait_for_stream(home: CudaContext, stream: Any) -> None:
    if stream is None:  # the memory is complete, says the producer
        return
    if isinstance(stream, bool) or not isinstance(stream, int) or stream <= 0:
        raise LayoutError(f"{stream!r} is not a stream that an {_INTERFACE} can have")
    precede(home, stream)


def _known(address: int, native: Any) -> Pointer:
    pointer = look_up(address)
    if pointer is None:
        raise LayoutError(
            f"{_name(native)} names memory at {address:#x} of which CUDA knows nothing: it was "
            "freed, or was never CUDA's"
        )
    return pointer


def _held(lent: Lent, extent: tuple[int, int], keep: Any) -> CudaStorage:
    """The owner of what was lent."""
    low, high = extent
    address = lent.address + low if lent.kind != "device" else 0
    pin = CudaStorage(None, address=address, nbytes=high - low, keep=keep, at_exit=True)
    use = pin.use = Use(lent.context)
    pin.lent, pin.release, pin.wait = lent, use.give_back, use.wait
    return pin


def _name(native: Any) -> str:
    return f"{type(native).__module__}.{type(native).__qualname__}"


def part_of(whole: CudaArray, info: TensorInfo, offset: int) -> CudaArray:
    """A part of an array's memory.

    Raises:
        LayoutError: it would reach outside.
    """
    low, high = whole.info.extent
    first, last = info.extent
    if offset + first < low or offset + last > high:
        raise LayoutError(
            f"{info} at offset {offset} needs bytes {offset + first} to {offset + last} of "
            f"{low} to {high}"
        )
    return CudaArray(
        whole.context, whole.address + offset, info, whole.kind, whole.pin, whole.readonly
    )
