# SPDX-License-Identifier: Apache-2.0
"""pyopencl.array.Array: its memory and its layout in that."""

from __future__ import annotations

import sys
from typing import Any

import pyopencl

from samebytes import TensorInfo
from samebytes.errors import LayoutError

from ._library import in_our_words

__all__ = ["is_array", "memory_of_array"]


def is_array(native: Any) -> bool:
    """True for a pyopencl.array.Array. Its module is slow to import, and not imported for this."""
    module = sys.modules.get("pyopencl.array")
    return module is not None and isinstance(native, module.Array)


@in_our_words
def memory_of_array(array: Any) -> tuple[Any, TensorInfo, int]:
    """The memory of a pyopencl.array.Array, its layout, and the byte at which it begins.

    It waits for the pending work that the array knows.

    Raises:
        LayoutError: it has no elements, or ones that no tensor can have.
    """
    base = array.base_data
    if base is None:
        raise LayoutError(
            f"a pyopencl Array of shape {tuple(array.shape)} has no memory: leave empty ones out"
        )
    if array.dtype.fields is not None:
        raise LayoutError(
            f"the elements of this pyopencl Array are structures, {array.dtype}: wrap its bytes, "
            "array.base_data"
        )
    if array.events:
        pyopencl.wait_for_events(array.events)
    if not isinstance(base, pyopencl.Buffer | pyopencl.SVMPointer):
        buffer: Any = pyopencl.Buffer.from_int_ptr(base.int_ptr, retain=True)
        buffer.pin = base  # the pool's: it takes the buffer back when this is gone
        base = buffer
    return base, TensorInfo(array.dtype, array.shape, array.strides), int(array.offset)
