# SPDX-License-Identifier: Apache-2.0
"""GStreamerPlane: the position of one array in a GstMemory; the native object of planes."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

from samebytes import TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats import DRM_FORMAT_MOD_LINEAR

from .._abi.gi import Gst, pointer_of
from .memory import extent_of

__all__ = ["GStreamerPlane"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class GStreamerPlane:
    """One array in a Gst.Memory: a plane of an image or of sound, or a tensor.

    It keeps the memory, and the buffer that it is in: a buffer that nothing holds goes back to its
    pool, and its memory is filled again, even if the memory is held.

    Attributes:
        memory: the Gst.Memory, one reference to it.
        info: dtype, shape and byte strides; opaque, if it has no rows that the CPU could walk.
        offset: bytes from the first byte of the memory to element [0, 0, ...].
        keep: the Gst.Buffer or Gst.Sample that the memory is in, or None.
        modifier: layout modifier of drm_fourcc.h, of memory behind a descriptor.

    Raises:
        LayoutError: it would reach outside the memory.
        UnsupportedObjectError: `memory` is not a Gst.Memory.
    """

    memory: Any
    info: TensorInfo
    offset: int = 0
    keep: Any = None
    modifier: int = DRM_FORMAT_MOD_LINEAR

    def __post_init__(self) -> None:
        if not isinstance(self.memory, Gst.Memory) or not pointer_of(self.memory):
            raise UnsupportedObjectError(f"{self.memory!r} is not a Gst.Memory")
        try:
            offset = index(self.offset)
        except TypeError:
            raise LayoutError(f"an offset must be a number of bytes, not {self.offset!r}") from None
        if self.info.strides is None and not self.info.dtype.packed:
            return
        low, high = self.info.extent
        size = extent_of(pointer_of(self.memory)).size
        if offset + low < 0 or offset + high > size:
            raise LayoutError(
                f"{self.info} at offset {offset} takes bytes {offset + low} to {offset + high} "
                f"of a memory of {size}"
            )
