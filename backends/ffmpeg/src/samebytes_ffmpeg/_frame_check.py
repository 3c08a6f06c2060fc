# SPDX-License-Identifier: Apache-2.0
"""Check _avframe_abi's field offsets against what libavutil does to an AVFrame."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from ._avutil_abi import AVBufferRef

if TYPE_CHECKING:
    from ._libavutil import Libavutil

__all__ = ["frames_are_as_known"]

_WIDTH, _HEIGHT = 36, 10
_NO_PTS = -(2**63)
_UNSPECIFIED = 2
# libavutil/frame.h: crop at any byte, however the rows are aligned.
_CROP_UNALIGNED = 1
# Different for each side, and less than the picture.
_CROP = {"crop_top": 1, "crop_bottom": 2, "crop_left": 3, "crop_right": 5}


def frames_are_as_known(library: Libavutil) -> bool:
    """Make one frame, look where libavutil writes, and have it cropped.

    Each check covers what lies before the field that it reads: a field more or fewer would move it.
    The pointers of a hardware frame are checked where they are used, with frames of a device.
    """
    address = library.frame_alloc()
    frame = library.AVFrame.from_address(address)
    # Nothing is followed that has not been found to be a pointer.
    right = (
        _fresh(frame, address)
        and _filled(library, frame, address)
        and _cropped(library, frame, address)
    )
    library.frame_free(byref(c_void_p(address)))
    return right


def _fresh(frame: Any, address: int) -> bool:
    """libavutil/frame.c: the fields that do not begin as 0."""
    found = (
        frame.format, frame.extended_data, frame.pts, frame.pkt_dts, frame.best_effort_timestamp,
        tuple(frame.sample_aspect_ratio), frame.color_primaries, frame.color_trc, frame.colorspace,
    )  # fmt: skip
    # AV_PIX_FMT_NONE, and the address of data.
    return found == (
        -1, address, _NO_PTS, _NO_PTS, _NO_PTS, (0, 1), _UNSPECIFIED, _UNSPECIFIED, _UNSPECIFIED,
    )  # fmt: skip


def _filled(library: Libavutil, frame: Any, address: int) -> bool:
    """A picture that the library allocates: data, linesize and buf."""
    frame.width, frame.height, frame.format = _WIDTH, _HEIGHT, library.pixel_format("gray")
    code = library.frame_get_buffer(address, 1)
    reference = library.frame_get_plane_buffer(address, 0)
    if code != 0 or reference is None or frame.buf[0] != reference:
        return False
    buffer = AVBufferRef.from_address(reference)
    return frame.data[0] - buffer.data in range(buffer.size) and frame.linesize[0] == _WIDTH


def _cropped(library: Libavutil, frame: Any, address: int) -> bool:
    """The crop fields lie last: the library moves data[0] by them."""
    begin = frame.data[0]
    for name, pixels in _CROP.items():
        setattr(frame, name, pixels)
    code = library.frame_apply_cropping(address, _CROP_UNALIGNED)
    for name in _CROP:
        # If these are other fields after all, av_frame_free() must not take them for pointers.
        setattr(frame, name, 0)
    return code == 0 and (frame.data[0] - begin, frame.width, frame.height) == (
        _WIDTH * _CROP["crop_top"] + _CROP["crop_left"],
        _WIDTH - _CROP["crop_left"] - _CROP["crop_right"],
        _HEIGHT - _CROP["crop_top"] - _CROP["crop_bottom"],
    )
