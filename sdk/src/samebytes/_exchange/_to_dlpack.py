# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules over host memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

from samebytes._core.memory.info import TensorInfo
from samebytes._core.native.arrays import pinned_array
from samebytes._core.native.pointers import get_pointer
from samebytes._dtypes import DType
from samebytes.errors import ExportError

from ._capsule_contents import as_one, content, device_at
from ._dlpack_abi import DEVICE_CPU, LEGACY_NAME, VERSIONED_NAME

__all__ = ["dlpack", "dlpack_capsule", "lasting_export", "plainness"]


def dlpack(
    array: np.ndarray[Any, Any],
    dtype: DType,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
    readonly: bool = False,
    on_copy: Callable[[int], object] | None = None,
) -> object:
    """The capsule that a host tensor's `__dlpack__` returns; it keeps `array` alive.

    Args:
        array: the bytes, with the dtype's carrier as its dtype.
        dtype: the type of the elements.
        stream: None or -1; host memory has no streams.
        max_version: the newest DLPack version that the consumer takes; None means a legacy
            capsule.
        dl_device: None or (1, 0), the CPU.
        copy: True makes a copy, which belongs to the consumer and is writable.
        readonly: the consumer must not write, even if `array` could be written.
        on_copy: called with the number of bytes after a copy was made.

    Raises:
        ExportError: the consumer asked for what host memory cannot give, or the layout is one
            that consumers crash on or that a capsule cannot describe. Nothing has been exported
            then.
    """
    if stream is not None and stream != -1:
        raise ExportError(f"host memory has no stream {stream!r}: pass stream=None")
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != (DEVICE_CPU, 0):
        raise ExportError(
            f"this memory is on the CPU, DLPack device (1, 0), and not on {tuple(dl_device)}: "
            "import it there and copy it with the consumer's own calls"
        )
    capsule = dlpack_capsule(
        array, dtype, max_version=max_version, readonly=readonly, copy=bool(copy)
    )
    if copy and on_copy is not None:
        on_copy(array.nbytes)
    return capsule


def check_dlpack_request(
    device: tuple[int, int], dl_device: tuple[int, int] | None, copy: bool | None
) -> None:
    """Refuse what the `__dlpack__` of memory on a device cannot do for its consumer.

    Args:
        device: the DLPack device, (type, id), that the memory is on.
        dl_device: where the consumer wants it; None for where it is.
        copy: whether the consumer wants a copy. None and False are in place.

    Raises:
        ExportError: the consumer wants the memory on another device, or a copy.
    """
    if dl_device is not None:
        asked = (int(dl_device[0]), int(dl_device[1]))
        if asked != device:
            raise ExportError(f"this memory is on DLPack device {device}, not on {asked}")
    if copy:
        raise ExportError(
            "memory of a device is exported in place only: let the consumer copy it, with copy=None"
        )


def dlpack_capsule(
    array: np.ndarray[Any, Any],
    dtype: DType,
    *,
    max_version: tuple[int, int] | None = None,
    readonly: bool = False,
    copy: bool = False,
    device: tuple[int, int] = (DEVICE_CPU, 0),
) -> object:
    """A capsule over `array`, in place: versioned if `max_version` is at least (1, 0).

    numpy makes it, so its deleter is C code that runs exactly once, on any thread. Where numpy
    lacks the dtype it exports the carrier, and the capsule's DLDataType is set to the real one
    before anyone sees it: the deleter never reads that field.

    Args:
        array: the bytes; the capsule holds it.
        dtype: what the elements are.
        max_version: as in `__dlpack__`.
        readonly: mark the capsule as read-only; it is so anyway if `array` is.
        copy: export a copy, which is the consumer's own; `readonly` says nothing then.
        device: (DLDeviceType, id) of dlpack.h. For memory that the CPU cannot read, `array` is one
            that was never read: its address alone counts.

    Raises:
        ExportError: the layout, dtype or read-only state cannot be expressed.
    """
    if dtype.packed:
        raise ExportError(
            f"{dtype} elements share bytes, which array libraries cannot address: "
            "export the bytes as uint8"
        )
    versioned = max_version is not None and max_version[0] >= 1
    if not copy:
        array = _lent(array, versioned, readonly)
    if versioned:
        capsule = array.__dlpack__(max_version=(1, 0), copy=copy)
    else:
        capsule = array.__dlpack__(copy=copy)
    if dtype.numpy is None:
        assert dtype.dlpack_code is not None  # only packed types lack one
        content(capsule).tensor.dtype.code = dtype.dlpack_code
    if device != (DEVICE_CPU, 0):
        at = get_pointer(capsule, VERSIONED_NAME if versioned else LEGACY_NAME)
        device_at(at, versioned).value = as_one(device)
    return capsule


def lasting_export(
    array: np.ndarray[Any, Any], dtype: DType, readonly: bool
) -> Callable[..., object] | None:
    """A function that makes versioned capsules over `array`, in place, at any later time.

    It holds a view of its own, which has the layout and the read-only state that `array` has now.

    Args:
        array, dtype, readonly: as for `dlpack_capsule`.

    Returns:
        A function that takes `max_version`; None where numpy lacks the dtype.

    Raises:
        ExportError: the layout cannot be expressed.
    """
    if dtype.numpy is None:
        return None
    own = _lent(array, True, readonly).view()
    return own.__dlpack__


def _lent(array: np.ndarray[Any, Any], versioned: bool, readonly: bool) -> np.ndarray[Any, Any]:
    """`array` as the consumer may have it, on the same bytes."""
    writeable = array.flags.writeable
    readonly = readonly or not writeable
    if readonly and not versioned:
        if not _asked_by_reader():
            raise ExportError(
                "this memory is read-only, and the legacy capsule that the consumer asked for "
                "cannot say so: map the tensor with access 'rw', or let the consumer ask for a copy"
            )
        array = _consumable(array, writable=False)
        interface = dict(array.__array_interface__)
        interface["data"] = interface["data"][0], False  # numpy refuses what it cannot mark
        return pinned_array(interface, array)
    array = _consumable(array, writable=not readonly)
    if readonly and writeable:
        array = array.view()
        array.flags.writeable = False
    return array


_READERS = frozenset({"jax"})
"""Packages that ask for legacy capsules, and write to no memory that they import."""


def _asked_by_reader() -> bool:
    """True if one of `_READERS` asks for the capsule, as the code that called shows."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if not package.startswith("samebytes"):
            return package in _READERS
        frame = frame.f_back
    return False


def _consumable(array: np.ndarray[Any, Any], *, writable: bool) -> np.ndarray[Any, Any]:
    """`array`, or an equal one on the same bytes, with strides that no consumer trips over.

    torch ends the process on a negative stride, on axes without a second element too.
    """
    strides, itemsize = array.strides, array.itemsize
    is_whole, is_nested = plainness(array.shape, strides, itemsize)
    if not is_whole:
        if not array.size:
            return np.empty(array.shape, array.dtype)
        array = _without_idle_strides(array)
        strides = array.strides
        is_nested = plainness(array.shape, strides, itemsize)[1]
        if any(s < 0 for s in strides):
            raise ExportError(
                f"strides {strides} are negative, on which some consumers end the process: "
                "flip the array on the consumer's side, or let it ask for a copy"
            )
        if any(s % itemsize for s in strides):
            raise ExportError(
                f"strides {strides} are not multiples of the element's {itemsize} bytes, and "
                "DLPack counts strides in elements: let the consumer ask for a copy"
            )
    nested = is_nested or array.flags.c_contiguous
    if writable and not nested and TensorInfo.of(array).overlaps:
        raise ExportError(
            f"elements of shape {array.shape} with strides {strides} overlap, so writing one "
            "would change others: export it read-only, or let the consumer ask for a copy"
        )
    return array


def _without_idle_strides(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same elements; axes of one element, whose strides mean nothing, get harmless ones."""
    interface = dict(array.__array_interface__)
    interface["strides"] = tuple(
        array.itemsize if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True)
    )
    return pinned_array(interface, array)


@lru_cache(maxsize=1024)
def plainness(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[bool, bool]:
    """True if DLPack can express the strides, and none is negative; and if they are nested.

    That is where each axis steps over all of the next: a fast proof that elements do not overlap.
    Where both are true numpy exports arrays as they are, whether or not they are writable.
    """
    is_whole = all(s >= 0 and s % itemsize == 0 for s in strides)
    reach = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride < reach:
            return is_whole, False
        reach = n * stride
    return is_whole, True
