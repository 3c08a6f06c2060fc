# SPDX-License-Identifier: Apache-2.0
"""CUDA memory as a DLPack producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes.errors import ExportError
from samebytes.plugins import check_dlpack_request

from ._driver import LEGACY_STREAM
from ._streams import follow, is_handle

if TYPE_CHECKING:
    from samebytes.plugins import PointerArray

__all__ = ["CPU", "CUDA", "CUDA_HOST", "CUDA_MANAGED", "device_of", "export", "order_before"]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""kDLCPU, kDLCUDA, kDLCUDAHost and kDLCUDAManaged of DLDeviceType, dlpack/dlpack.h."""

# What memory may be called, the usual word first: array libraries know 1 and 2 alone. Pinned
# memory is CUDA's too, as the device uses it by the same pointer.
_WORDS = {
    "device": (CUDA,),
    "exportable": (CUDA,),
    "pinned": (CPU, CUDA_HOST, CUDA),
    "managed": (CUDA, CUDA_MANAGED, CPU),
}


def device_of(array: PointerArray) -> tuple[int, int]:
    """The (device type, id) of the memory for a consumer that does not ask for one.

    Raises:
        ExportError: the memory is not in its device's primary context. A consumer only knows the
            device, and would use the pointer in that context.
    """
    return _place(array, _WORDS[array.kind][0])


def _place(array: PointerArray, word: int) -> tuple[int, int]:
    context = array.context
    if word in (CUDA_HOST, CPU):
        return (word, 0)
    if not context.is_primary:
        raise ExportError(
            "the memory belongs to a CUDA context of its own, and a DLPack consumer would use it "
            "in the primary context of the device: pass the pointer, handle('cuda_ptr')"
        )
    return (word, context.ordinal)


def export(
    array: PointerArray,
    readonly: bool,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """A capsule that holds the memory.

    Args:
        array: the array to export.
        readonly: True if the consumer must not write.
        stream: the consumer's stream, as `__dlpack__` of the array API standard defines it for
            CUDA: None and 1 are the legacy default stream, 2 is the thread's, -1 asks for no
            ordering; others are handles. Memory that is exported as memory of the CPU has no
            stream, and is complete.

    Raises:
        ExportError: the consumer asked for another device, a copy or an invalid stream, or DLPack
            cannot express the layout.
    """
    if dl_device is None and array.kind == "device" and array.context.is_primary:
        device = CUDA, array.context.ordinal  # as nearly always, and without a call
    else:
        words = _WORDS[array.kind]
        asked = None if dl_device is None else int(dl_device[0])
        device = _place(array, asked if asked in words else words[0])
    if copy or dl_device is not None:
        check_dlpack_request(device, dl_device, copy)
    used: int | None = None
    if device[0] in (CPU, CUDA_HOST):
        if stream is not None and stream != -1:
            raise ExportError(f"memory of the host has no stream {stream!r}: pass stream=None")
        if stream is None:
            array.pin.complete()
    elif stream != -1:
        # The stream that waits already was checked when it began to.
        is_ordered = type(stream) is int and stream == array.pin.ordered
        used = stream if is_ordered else _checked_stream(stream)
        if not is_ordered:
            order_before(array, used)
    capsule = array.dlpack_capsule(device, max_version=max_version, readonly=readonly)
    if used is None:
        array.pin.hand_out()
    return capsule


def _checked_stream(stream: Any) -> int:
    if stream is None:
        return LEGACY_STREAM
    if not is_handle(stream):
        raise ExportError(
            f"{stream!r} is not a stream of DLPack's for CUDA: 1 is the legacy default stream, "
            "2 the thread's default stream, -1 asks for no ordering, and all others are handles"
        )
    return int(stream)


def order_before(array: PointerArray, stream: int) -> None:
    """Let a stream wait for the work pending on the memory, which it may use from now on."""
    pin = array.pin
    if stream != pin.ordered:
        pin.ask_again()
        follow(array.context, stream)
        pin.hand_out(stream)
