# SPDX-License-Identifier: Apache-2.0
"""HardwareFrame: an AVFrame of a device, together with the libavutil that made it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from av import VideoFrame

from samebytes import FrameMeta
from samebytes.errors import LayoutError
from samebytes.plugins import OwnedPointer, native_pointer

from .._avutil import PYAV
from .._from_cpu import describe_native
from .._libavutil import Libavutil
from .._owned import acquired
from .._pyav import FRAME_POINTER, frame_address, pointer_at
from .._reference import OwnReference, cloning, own_reference
from .described import Described, describe, snapshot
from .libraries import library_at, system_library

__all__ = ["HardwareFrame", "carry_meta", "described", "described_and_held", "place_of"]

# libavutil/avutil.h: AV_NOPTS_VALUE.
_NO_PTS = -(1 << 63)


class HardwareFrame:
    """A frame of the system's FFmpeg, or of any libavutil of this process, that lies on a device.

    PyAV's frames belong to the libavutil that PyAV was built with. For a frame of another one
    there is this: it owns a reference to the frame's buffers, which it gives back when dropped.
    `samebytes.frame()` takes it like an av.VideoFrame.
    """

    __slots__ = ("__weakref__", "_owned", "library")

    library: Libavutil
    """The libavutil that the frame belongs to."""

    def __init__(self, owned: OwnedPointer, library: Libavutil) -> None:
        self._owned = owned
        self.library = library

    @classmethod
    def from_pointer(cls, pointer: Any, library: str | None = None) -> HardwareFrame:
        """A new reference to the frame at an address; that frame stays its owner's.

        Args:
            pointer: an AVFrame*: an int, a `ctypes.c_void_p` or a PyCapsule.
            library: path or soname of the libavutil that made it, for instance
                "libavutil.so.57"; that of the system by default.

        Raises:
            LayoutError: there is no frame of a device at the address.
            MissingDependencyError: the library cannot be used.
            UnsupportedObjectError: `pointer` is not a pointer.
        """
        used = system_library() if library is None else library_at(library)
        address = native_pointer(pointer, "an AVFrame*")
        frame: Any = snapshot(used.AVFrame, address, "an AVFrame")
        # libavutil/frame.c: of images, extended_data is the address of data.
        if frame.extended_data != address:
            raise LayoutError(f"there is no AVFrame of {used.path} at {address:#x}")
        describe(used, address)
        return cls(acquired(used.owned.frame_clone(address), "av_frame_clone"), used)

    @property
    def pointer(self) -> int:
        """The AVFrame*, which stays this object's."""
        return self._owned.address

    @property
    def format(self) -> str:
        """FFmpeg's pixel format: "vaapi", "drm_prime" or "cuda"."""
        return self.library.pixel_format_name(self._frame.format)

    @property
    def sw_format(self) -> str:
        """FFmpeg's name of the format that the frame would have in memory."""
        name = describe(self.library, self.pointer).image.format.ffmpeg_name
        assert name is not None, "FFmpeg itself named it"
        return name

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return int(self._frame.width)

    @property
    def height(self) -> int:
        """Rows."""
        return int(self._frame.height)

    @property
    def pts(self) -> int | None:
        """Presentation time in units of `time_base`."""
        value = int(self._frame.pts)
        return None if value == _NO_PTS else value

    @pts.setter
    def pts(self, value: int | None) -> None:
        self._frame.pts = _NO_PTS if value is None else value

    @property
    def time_base(self) -> Fraction | None:
        """Seconds for each unit of `pts`; None if FFmpeg has not set it."""
        numerator, denominator = self._frame.time_base
        return Fraction(numerator, denominator) if numerator and denominator else None

    @time_base.setter
    def time_base(self, value: Fraction | None) -> None:
        wanted = value or Fraction(0)
        self._frame.time_base[:] = [wanted.numerator, wanted.denominator]

    @property
    def _frame(self) -> Any:
        return self.library.AVFrame.from_address(self.pointer)

    def __repr__(self) -> str:
        return f"<HardwareFrame {self.format} {self.width}x{self.height}, pts={self.pts}>"


def place_of(native: VideoFrame | HardwareFrame) -> tuple[Libavutil, int]:
    """Return the libavutil that a frame belongs to, and its AVFrame*."""
    if isinstance(native, HardwareFrame):
        return native.library, native.pointer
    return PYAV, frame_address(native)


def described(native: VideoFrame | HardwareFrame) -> Described:
    """Return the description of a device's frame as it is now.

    Raises:
        LayoutError: it was given back meanwhile, or is not a frame of a device.
    """
    return describe(*place_of(native))


def described_and_held(native: VideoFrame | HardwareFrame) -> tuple[Described, OwnReference]:
    """The description of a frame, and a reference to the buffers that it has now.

    Dropping the reference gives them back.

    Args:
        native: the frame.

    Raises:
        LayoutError: as for `describe`.
    """
    if isinstance(native, VideoFrame):  # as place_of() does, without a call for each frame
        library, address = PYAV, pointer_at(id(native) + FRAME_POINTER).value or 0
    else:
        library, address = place_of(native)
    found = describe(library, address)
    return found, own_reference(native, address, found.data, _clone_of(library))


@cache
def _clone_of(library: Libavutil) -> Callable[[int], OwnReference]:
    return cloning(library)


def carry_meta(native: VideoFrame | HardwareFrame, meta: FrameMeta) -> None:
    """Give a frame its time, and what else a frame of PyAV's can take over from another."""
    if isinstance(native, VideoFrame):
        describe_native(native, meta)
        return
    native.pts = meta.pts
    native.time_base = meta.time_base
