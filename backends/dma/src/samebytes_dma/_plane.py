# SPDX-License-Identifier: Apache-2.0
"""DMAPlane: the position of one array in a buffer; the native object of "dma" tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING

from samebytes.errors import LayoutError
from samebytes.plugins import check_modifier

from ._modifiers import LINEAR, is_tiled, keeps_every_bit, modifier_name

if TYPE_CHECKING:
    from samebytes import TensorInfo

    from ._buffer import DMABuffer

__all__ = ["DMAPlane"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DMAPlane:
    """One array in a buffer: a tensor, or one plane of an image. It keeps the memory alive.

    Attributes:
        buffer: what it lies in.
        info: dtype, shape and byte strides; `TensorInfo(..., opaque=True)` if it is tiled.
        offset: bytes from the start of the buffer to element [0, 0, ...].
        pitch: bytes from row to row, where rows are the first of two or more axes. Left out, it
            is strides[0]; of tiled memory it is what the exporter said, or None.
        modifier: layout modifier of drm_fourcc.h.

    Raises:
        LayoutError: it would reach outside the buffer (of tiled memory: as far as can be
            known), rows or elements would overlap, the pitch contradicts the strides, or tiled
            memory was given strides.
    """

    buffer: DMABuffer
    info: TensorInfo
    offset: int = 0
    pitch: int | None = None
    modifier: int = LINEAR

    def __post_init__(self) -> None:
        derive = object.__setattr__
        derive(self, "modifier", check_modifier(self.modifier))
        derive(self, "offset", _whole(self.offset, "an offset"))
        if is_tiled(self.modifier):
            self._check_tiled()
        else:
            derive(self, "pitch", self._checked_pitch())
            self._check_linear()

    def moved_to(self, buffer: DMABuffer) -> DMAPlane:
        """The same place in a buffer of the same size: nothing is checked again.

        Args:
            buffer: where the plane lies then.
        """
        made, derive = object.__new__(DMAPlane), object.__setattr__
        derive(made, "buffer", buffer)
        derive(made, "info", self.info)
        derive(made, "offset", self.offset)
        derive(made, "pitch", self.pitch)
        derive(made, "modifier", self.modifier)
        return made

    def _check_tiled(self) -> None:
        if self.info.strides is not None or self.info.dtype.packed:
            raise LayoutError(
                f"memory of modifier {modifier_name(self.modifier)} is tiled: it has no strides; "
                "describe it by TensorInfo(..., opaque=True)"
            )
        size, info = self.buffer.size, self.info
        if not 0 <= self.offset < size:
            raise LayoutError(f"offset {self.offset} is outside a buffer of {size} bytes")
        # How tiles lie is the driver's to know, but all elements are somewhere in them.
        if keeps_every_bit(self.modifier) and self.offset + info.nbytes > size:
            raise LayoutError(
                f"{info} at offset {self.offset} takes {info.nbytes} bytes at least, but the "
                f"buffer has {size}"
            )
        if self.pitch is not None:
            pitch = _whole(self.pitch, "a pitch")
            check_row(pitch, info)
            if pitch < 0:
                raise LayoutError(
                    f"pitch {pitch}: rows of tiles cannot be stored bottom up, so it "
                    "must be positive"
                )

    def _checked_pitch(self) -> int | None:
        strides = self.info.strides
        known = strides[0] if strides is not None and len(strides) > 1 else None
        if self.pitch is None:
            return known
        if known is None:
            raise LayoutError(f"an array of shape {self.info.shape} has no rows and no pitch")
        check_row(_whole(self.pitch, "a pitch"), self.info)
        if self.pitch != known:
            raise LayoutError(f"pitch {self.pitch} contradicts strides {strides}")
        return known

    def _check_linear(self) -> None:
        info = self.info
        if info.strides is None and not info.dtype.packed:
            raise LayoutError(
                "linear memory needs strides: pass them, or the modifier if the memory is tiled"
            )
        if info.overlaps:
            raise LayoutError(
                f"elements of shape {info.shape} overlap with strides {info.strides}: rows are "
                "longer than the pitch"
            )
        low, high = info.extent
        if self.offset + low < 0 or self.offset + high > self.buffer.size:
            raise LayoutError(
                f"{info} at offset {self.offset} takes bytes {self.offset + low} to "
                f"{self.offset + high} of a buffer of {self.buffer.size}"
            )


def check_row(pitch: int, info: TensorInfo) -> None:
    """Raise LayoutError if a row of `info` has more bytes than the pitch."""
    row = (math.prod(info.shape[1:]) * info.dtype.bits + 7) // 8
    if abs(pitch) < row:
        raise LayoutError(f"the pitch is {pitch} bytes, but a row of {info} has {row}")


def _whole(value: int, what: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise LayoutError(f"{what} must be an integer number of bytes, not {value!r}") from None
