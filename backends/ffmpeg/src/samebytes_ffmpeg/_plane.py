# SPDX-License-Identifier: Apache-2.0
"""FFmpegPlane: one plane of an av frame as a tensor."""

from __future__ import annotations

from ctypes import c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from samebytes import Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import Refused, read_slot

from ._avutil import AVFrame
from ._pyav import AnyPlane, frame_address, frame_of_plane, plane_index
from ._reference import is_writable
from ._to_cpu import arrays_on, places_on

if TYPE_CHECKING:
    from typing import Self

    import numpy as np

__all__ = ["ADVICE", "FFmpegPlane"]

ADVICE = (
    "the decoder, or another frame, still refers to these bytes. Ask again when it has released "
    "them, or call make_writable(copy=True) on the frame, which copies. What map() "
    'returned with access "r" stays read-only: map the frame itself again'
)

# The slot of the base class, which the property of the same name stands before.
_slot: Any = Tensor.readonly  # type: ignore[misc]  # the slot itself


class FFmpegPlane(Tensor):
    """One plane of an av frame. `native` is the av plane, which keeps its frame alive.

    The plane is wherever the av frame has it now: after make_writable() at another address.
    What was mapped or exported from it before keeps the bytes that it had then.

    Attributes:
        readonly: whether somebody else would notice a write; evaluated each time, since a
            decoder releases a frame later.
    """

    __slots__ = ()

    readonly_advice = ADVICE

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an av plane.

        Raises:
            LayoutError: its format has no planes of elements; the message says why.
            UnsupportedObjectError: it is not a plane of a frame.
        """
        if not isinstance(native, AnyPlane):
            raise UnsupportedObjectError(f"{native!r} is not a plane of an av frame")
        plane = cls.borrowed(native, _context())
        plane._describe()
        return plane

    @property
    def readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_slot, self)) or not is_writable(frame_of_plane(self.native))

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)

    @property
    def info(self) -> TensorInfo:
        """dtype, shape and byte strides, where the plane is now."""
        return self._describe()

    def host_array(self) -> np.ndarray[Any, Any]:
        """The plane's bytes; they stay valid wherever the av frame moves."""
        try:
            return arrays_on(frame_of_plane(self.native), not self.readonly)[self._index]
        except Refused as reason:
            raise LayoutError(str(reason)) from reason

    @property
    def _index(self) -> int:
        return plane_index(self.native)

    def _describe(self) -> TensorInfo:
        try:
            return places_on(frame_of_plane(self.native))[self._index].info
        except Refused as reason:
            raise LayoutError(str(reason)) from reason

    def _handle(self, key: str) -> int:
        if key == "plane_index":
            return self._index
        if key == "data":
            native = self.native  # the pointer is valid as long as it is held here
            owner = frame_of_plane(native)
            frame = AVFrame.from_address(frame_address(owner))
            return c_void_p.from_address(frame.extended_data + 8 * plane_index(native)).value or 0
        return self.context.no_handle(key)


@cache
def _context() -> Any:
    from ._context import FFMPEG

    return FFMPEG
