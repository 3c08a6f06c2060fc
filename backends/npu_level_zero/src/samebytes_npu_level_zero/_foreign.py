# SPDX-License-Identifier: Apache-2.0
"""Check USM that the application allocated."""

from __future__ import annotations

from samebytes import TensorInfo
from samebytes.errors import LayoutError

from ._allocation import Allocation
from ._native_context import NativeContext
from ._usm import inspect, kind_of

__all__ = ["LAST_ADDRESS", "foreign_allocation"]

LAST_ADDRESS = (1 << 64) - 1
"""No pointer lies beyond, and what is added to one must not wrap around."""


def foreign_allocation(
    native: NativeContext, pointer: int, info: TensorInfo, offset: int
) -> Allocation:
    """The memory from `pointer` to the array's end, as the driver knows its first and last byte.

    Its size is not asked for: zeMemGetAddressRange of Intel's NPU driver gives the address that
    the device uses, not the CPU's.

    Raises:
        LayoutError: it is not USM of this context, was freed, or ends before the array does.
    """
    low, high = info.extent
    if offset + low < 0:
        raise LayoutError(f"{info} at offset {offset} begins before the pointer")
    nbytes = offset + max(high, 1)
    first = inspect(native, pointer) if 0 < pointer <= LAST_ADDRESS - nbytes else None
    if first is None:
        raise LayoutError(
            f"{pointer:#x} is not a USM pointer of this context: it was allocated elsewhere, or "
            "was freed. Use map() or import_fd() for other memory"
        )
    if inspect(native, pointer + nbytes - 1) != first:
        raise LayoutError(f"{info} at {pointer:#x} + {offset} ends beyond its allocation")
    return Allocation(native, pointer, nbytes, kind_of(first.kind), owned=False)
