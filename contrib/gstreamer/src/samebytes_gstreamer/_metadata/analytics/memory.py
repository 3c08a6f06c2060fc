# SPDX-License-Identifier: Apache-2.0
"""Arrays in buffers that results refer to: theirs as tensors where they lie, and ours lent."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Tensor, TensorInfo, tensor
from samebytes.errors import SamebytesError
from samebytes.plugins import data_address

from ..._abi.gi import Gst, pointer_of
from ..._abi.libraries import gst
from ..._memory.loans import append, new_loan, wrap_bytes
from ..._memory.plane import GStreamerPlane

__all__ = ["lent", "tensor_in"]


class _Held:
    """One reference to a GstBuffer*, so that its pool does not fill it again."""

    def __init__(self, buffer: int) -> None:
        self._buffer = gst.gst_mini_object_ref(buffer)

    def __del__(self) -> None:
        gst.gst_mini_object_unref(self._buffer)


def tensor_in(buffer: int, info: TensorInfo, offset: int = 0) -> Tensor | None:
    """An array in a GstBuffer*, mapped for reading where it lies; it keeps the buffer.

    Returns:
        None if the buffer has several memories, or the array would reach beyond its memory.
    """
    if gst.gst_buffer_n_memory(buffer) != 1:
        return None
    # gi makes objects of what its own calls return.
    holder = Gst.Buffer.new()
    memory = gst.gst_mini_object_ref(gst.gst_buffer_peek_memory(buffer, 0))
    gst.gst_buffer_append_memory(pointer_of(holder), memory)
    try:
        plane = GStreamerPlane(holder.get_memory(0), info, offset, keep=_Held(buffer))
        return tensor(plane).map("cpu", "r")
    except SamebytesError:
        return None


def lent(array: np.ndarray[Any, Any]) -> Any:
    """A new Gst.Buffer over the bytes of a C-contiguous array, which it keeps."""
    made = Gst.Buffer.new()
    with new_loan(array) as loan:
        memory = wrap_bytes(loan, data_address(array), array.nbytes, readonly=True)
        append(pointer_of(made), memory)
    return made
