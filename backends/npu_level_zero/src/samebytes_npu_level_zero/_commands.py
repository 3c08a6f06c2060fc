# SPDX-License-Identifier: Apache-2.0
"""copy() and fill(): the device moves bytes, because the caller said so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_void_p, create_string_buffer
from typing import cast

from samebytes import Tensor
from samebytes.errors import (
    AccessError,
    DeviceMismatchError,
    LayoutError,
    UnsupportedObjectError,
)
from samebytes.plugins import count_copy, counted

from ._abi.constants import CommandQueueGroupPropertyFlag, CommandQueueMode
from ._abi.structures import ze_command_queue_desc_t, ze_command_queue_group_properties_t
from ._context import LevelZeroContext
from ._native_context import NativeContext
from ._tensor import LevelZeroTensor

__all__ = ["copy", "fill"]

_EITHER = CommandQueueGroupPropertyFlag.COPY | CommandQueueGroupPropertyFlag.COMPUTE


def copy(target: Tensor, source: Tensor) -> None:
    """Copy the bytes of one tensor into another of the same context; complete on return.

    Counted in `samebytes.stats()`. To bring bytes to or from device memory, map host USM to the
    CPU and copy between the two.

    Args:
        target: the tensor that is overwritten.
        source: a tensor with the same number of bytes.

    Raises:
        UnsupportedObjectError: one of them is not a Level Zero tensor.
        ClosedError: a tensor was closed.
        AccessError: the target is read-only.
        DeviceMismatchError: they are of different contexts.
        LayoutError: they differ in size, have gaps, or overlap.
        LevelZeroError: the driver refuses.
    """
    to, origin = _usm(target), _usm(source)
    if to.readonly:
        raise AccessError('copy() into a read-only tensor: map it with access "w" or "rw"')
    if to.context != origin.context:
        raise DeviceMismatchError(
            f"copy() from {origin.context!r} to {to.context!r}: a context can access its own "
            "memory only; export one of them and import it into the other's"
        )
    nbytes = _dense(to)
    if nbytes != _dense(origin):
        raise LayoutError(
            f"copy() of {counted(origin.info.nbytes, 'byte')} into a tensor of {nbytes}: both must "
            "be of one size"
        )
    start, first = to.native.address, origin.native.address
    if start < first + nbytes and first < start + nbytes and nbytes:
        raise LayoutError("copy(): source and destination overlap")
    if nbytes:
        source.wait()
        with _commands(to) as (native, commands, _):
            native.library.call(
                "zeCommandListAppendMemoryCopy", commands, start, first, nbytes, None, 0, None
            )
    count_copy("level_zero -> level_zero (copy)", nbytes)


def fill(target: Tensor, pattern: bytes | int) -> None:
    """Fill a tensor with a repeated pattern; complete on return.

    Counted in `samebytes.stats()`.

    Args:
        target: a Level Zero tensor without gaps.
        pattern: 1, 2 or 4 bytes, or one byte as a number. GPUs take longer ones, the NPU does not.

    Raises:
        UnsupportedObjectError: not a Level Zero tensor.
        ClosedError: the tensor was closed.
        AccessError: it is read-only.
        LayoutError: it has gaps, or the pattern's size is one that the device does not take or that
            does not divide the tensor's.
        LevelZeroError: the driver refuses.
    """
    to = _usm(target)
    if to.readonly:
        raise AccessError('fill() of a read-only tensor: map it with access "w" or "rw"')
    nbytes = _dense(to)
    unit = _pattern(pattern)
    size = len(unit)
    if not size or size & (size - 1) or nbytes % size:
        raise LayoutError(
            f"fill() of {counted(nbytes, 'byte')} with a pattern of {size}: its size must be a "
            "power of two that divides the tensor's"
        )
    if nbytes:
        with _commands(to) as (native, commands, largest):
            if size > largest:
                raise LayoutError(f"fill() with {size} bytes: the device takes {largest} at most")
            native.library.call(
                "zeCommandListAppendMemoryFill",
                commands, to.native.address, create_string_buffer(unit, size), size, nbytes,
                None, 0, None,
            )  # fmt: skip
    count_copy("level_zero (fill)", nbytes)


def _pattern(pattern: bytes | int) -> bytes:
    try:
        # Not bytes(pattern): that makes so many zeros of a number.
        return bytes((pattern,)) if isinstance(pattern, int) else memoryview(pattern).tobytes()
    except (TypeError, ValueError) as error:
        raise LayoutError(
            f"fill() with {pattern!r}: pass bytes, or a number from 0 to 255 for one byte"
        ) from error


def _usm(tensor: Tensor) -> LevelZeroTensor:
    if not isinstance(tensor, LevelZeroTensor):
        kind = type(tensor).__name__
        raise UnsupportedObjectError(
            f'a {kind} is not a Level Zero tensor: pass tensor.map("level_zero")'
        )
    return tensor


def _dense(tensor: LevelZeroTensor) -> int:
    info = tensor.info
    if not info.is_contiguous:
        raise LayoutError(f"{info} has gaps: copy() and fill() take dense tensors")
    return info.nbytes


@contextmanager
def _commands(tensor: LevelZeroTensor) -> Iterator[tuple[NativeContext, int, int]]:
    """(context, immediate command list, largest fill pattern): each command ends before its call.

    A list of one's own for each operation: lists must not be used by two threads at once.
    """
    tensor.wait()
    native = cast(LevelZeroContext, tensor.context).native_context()
    ordinal, largest = _queue_group(native)
    descriptor = ze_command_queue_desc_t(ordinal=ordinal, mode=CommandQueueMode.SYNCHRONOUS)
    made, call = c_void_p(), native.library.call
    call(
        "zeCommandListCreateImmediate",
        native.handle, native.entry.handle, byref(descriptor), byref(made),
    )  # fmt: skip
    try:
        yield native, made.value or 0, largest
    finally:
        call("zeCommandListDestroy", made)


def _queue_group(native: NativeContext) -> tuple[int, int]:
    groups = native.library.properties(
        "zeDeviceGetCommandQueueGroupProperties",
        native.entry.handle,
        ze_command_queue_group_properties_t,
    )
    for ordinal, group in enumerate(groups):
        if group.flags & _EITHER and group.numQueues:
            return ordinal, group.maxMemoryFillPatternSize
    raise UnsupportedObjectError(f"{native.entry.device} has no copy queue")
