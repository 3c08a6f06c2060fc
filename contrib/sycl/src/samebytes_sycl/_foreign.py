# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries: by the USM array interface, and by DLPack.

The interface names the queue, so the context is known and mappings wait for that queue. DLPack only
names a device, which means the default context of its platform (SYCL's extension
sycl_ext_oneapi_default_context). dpnp 0.20 refuses to lend memory of another context, but DLPack
does not require that check. So each pointer is looked up in the context that it should be in: a
kernel that is given a pointer of another context reads garbage, or ends the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import dpctl
import dpctl.memory
import numpy as np

from samebytes import Context, Storage, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import DeviceArray

from ._dlpack import ONEAPI
from ._native_handles import kind_of_pointer
from ._queues import waits_for
from ._usm_array import USMArray

__all__ = ["imported"]

# The function that gives the context over a queue.
_Home: TypeAlias = Callable[[dpctl.SyclQueue], Context]

_INTERFACE = "__sycl_usm_array_interface__"

_DPCTL_MEMORY = (
    dpctl.memory.MemoryUSMDevice,
    dpctl.memory.MemoryUSMHost,
    dpctl.memory.MemoryUSMShared,
)


def imported(native: Any, context: _Home, owner: Storage | None = None) -> USMArray:
    """The array that an object lends, checked with the runtime.

    Args:
        native: an object with `__sycl_usm_array_interface__`, or with DLPack on kDLOneAPI.
        context: gives the context over the queue of the memory.
        owner: a storage that the array must hold beside the object.

    Raises:
        LayoutError: the memory or its context does not match the object's description.
        UnsupportedObjectError: it lends no USM.
    """
    if not hasattr(native, _INTERFACE) and hasattr(native, "__dlpack_device__"):
        return _by_dlpack(native, context, owner)
    return _by_interface(native, context, owner)


def _by_dlpack(native: Any, context: _Home, owner: Storage | None) -> USMArray:
    """The array of a producer that names no queue: it, or its user, waits for its own work."""
    array, info, address, readonly, (_, number) = DeviceArray.by_dlpack(native, (ONEAPI,))
    devices = dpctl.get_devices()
    if not 0 <= number < len(devices):
        raise LayoutError(
            f"its memory is on kDLOneAPI device {number}, and SYCL lists {len(devices)} here"
        )
    queue = dpctl._sycl_queue_manager.get_device_cached_queue(devices[number])
    return _checked(
        context(queue), queue, address, info, (array, native, owner), readonly,
        "the default context of its platform, which DLPack's kDLOneAPI means: make the array on a "
        "queue of that context, or lend it by __sycl_usm_array_interface__",
    )  # fmt: skip


def _by_interface(native: Any, context: _Home, owner: Storage | None) -> USMArray:
    described = _interface_of(native)
    try:
        element = np.dtype(described["typestr"])
        shape, strides = tuple(described["shape"]), _byte_strides(described, element)
        pointer, readonly = described["data"]
        address = int(pointer) + int(described.get("offset") or 0) * element.itemsize
    except (TypeError, ValueError) as error:
        raise LayoutError(f"its {_INTERFACE} is malformed: {error}") from error
    info = TensorInfo(element, shape, strides)
    if isinstance(native, _DPCTL_MEMORY):
        readonly = False  # dpctl marks all its memory read-only
    try:
        queue = _queue_of(native)
    except Exception as error:  # dpctl raises errors of several kinds
        raise LayoutError(f"dpctl does not accept this object: {error}") from error
    return _checked(
        context(queue), queue, address, info, (native, owner), bool(readonly),
        "the context that it names",
    )  # fmt: skip


def _checked(
    home: Context, queue: dpctl.SyclQueue, address: int, info: TensorInfo, keep: Any,
    readonly: bool, where: str,
) -> USMArray:  # fmt: skip
    """The array, if its first and last byte are USM of one kind in `home`, the queue's context."""
    low, high = info.extent
    ends = {
        kind_of_pointer(queue, address + low),
        kind_of_pointer(queue, address + max(high, 1) - 1),
    }
    kind = ends.pop()
    if low == high and kind is None:
        kind = "device"  # an array without elements, whose address may be any
    if kind is None or ends:
        raise LayoutError(f"{info} at {address:#x} ends beyond its USM, or is not USM of {where}")
    pin = Storage(
        address=0 if kind == "device" else address + low,
        nbytes=high - low,
        keep=keep,
        wait=waits_for(queue),
    )
    return USMArray(home, address, info, kind, pin, readonly)


def _interface_of(native: Any) -> dict[str, Any]:
    described = getattr(native, _INTERFACE, None)
    if not isinstance(described, dict):
        raise UnsupportedObjectError(
            f"a {type(native).__name__} has neither {_INTERFACE} nor DLPack: pass memory of "
            "dpctl.memory, or an array that lies in USM"
        )
    missing = {"data", "shape", "typestr", "syclobj"} - described.keys()
    if missing:
        raise LayoutError(f"its {_INTERFACE} lacks {sorted(missing)}")
    return described


def _queue_of(native: Any) -> dpctl.SyclQueue:
    if isinstance(native, _DPCTL_MEMORY):
        return native.sycl_queue
    return dpctl.memory.as_usm_memory(_FirstByte(native)).sycl_queue


class _FirstByte:
    """The object's first byte: dpctl computes the ends of reversed arrays wrongly."""

    __slots__ = ("__sycl_usm_array_interface__",)

    def __init__(self, native: Any) -> None:
        described = dict(native.__sycl_usm_array_interface__)
        described |= {"shape": (1,), "strides": None, "typestr": "|u1", "offset": 0}
        self.__sycl_usm_array_interface__ = described


def _byte_strides(described: dict[str, Any], element: np.dtype[Any]) -> tuple[int, ...] | None:
    strides = described.get("strides")
    return None if strides is None else tuple(int(s) * element.itemsize for s in strides)
