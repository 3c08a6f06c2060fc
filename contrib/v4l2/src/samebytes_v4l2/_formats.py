# SPDX-License-Identifier: Apache-2.0
"""Pixel formats: V4L2's codes, what a camera offers, and where the planes of a format lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from samebytes import ImageFormat, ImageInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats import PlaneFormat, PlaneLayout

from . import _abi
from ._colors import colors_of, fields_of
from ._device import Device, text

__all__ = ["FOURCCS", "NAMES", "CameraFormat", "Layout", "codes_of", "fourcc_text", "offered",
           "pitches_of", "rates_of"]  # fmt: skip

# V4L2 writes the bytes of most RGB formats in the order of memory in the comment beside the code,
# and not in the code's name: V4L2_PIX_FMT_ABGR32 is "AR24", which is blue, green, red, alpha.
_ROWS = """
NV12 NV12  NV21 NV21  NV16 NV16  NV61 NV61  NV24 NV24  NV42 NV42  P010 P010
YU12 I420  YV12 YV12  422P I422  411P I411  YUV9 I410  YVU9 YVU9
YUYV YUY2  YVYU YVYU  UYVY UYVY  VYUY VYUY  YUV3 V308  AYUV AYUV  VUYA VUYA  VUYX VUYX
GREY GRAY8  Y10 GRAY10  Y12 GRAY12  Y14 GRAY14  Y16 GRAY16
RGB3 RGB  BGR3 BGR
AR24 BGRA  XR24 BGRX  RA24 ABGR  RX24 XBGR  AB24 RGBA  XB24 RGBX  BA24 ARGB  BX24 XRGB
BGR4 BGRX  RGB4 XRGB
RGBP RGB565  XR15 RGB555  RGBO RGB555  XB15 BGR555  XR12 RGB444  XB12 BGR444
"""
_WORDS = _ROWS.split()

NAMES = {_abi.v4l2_fourcc(code): name for code, name in zip(*[iter(_WORDS)] * 2, strict=True)}
"""The code of V4L2 -> the name of the same layout here."""

FOURCCS: dict[str, tuple[int, ...]] = {
    name: tuple(code for code, known in NAMES.items() if known == name) for name in NAMES.values()
}
"""The name -> V4L2's codes for it, the usual one first."""


@dataclass(frozen=True, slots=True)
class CameraFormat:
    """A pixel format that a camera has.

    Attributes:
        fourcc: V4L2's code, such as "YUYV" or "MJPG".
        description: the driver's name for it.
        format: the name of the layout here, such as "YUY2"; None for formats that are not pictures
            in rows, such as JPEG or a Bayer pattern.
        compressed: True if the camera encodes its pictures.
        emulated: True if libv4l makes it from another one; the kernel's drivers do not.
        sizes: (width, height) of each size, in pixels; for a range the smallest and the largest.
        step: (width, height) by which sizes of a range differ; None if `sizes` are all.
    """

    fourcc: str
    description: str
    format: str | None
    compressed: bool
    emulated: bool
    sizes: tuple[tuple[int, int], ...]
    step: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of a picture in each buffer.

    Attributes:
        image: its format and size.
        planes: the layouts of its planes.
        nbytes: the least size of a buffer, in bytes.
        metadata: entries of every frame: colours and fields.
    """

    image: ImageInfo
    planes: tuple[PlaneLayout, ...]
    nbytes: int
    metadata: dict[str, Any]

    @classmethod
    def of(cls, pix: _abi.v4l2_pix_format) -> Layout:
        """The layout of a format that the driver has filled in.

        Raises:
            UnsupportedObjectError: it has none here.
            LayoutError: single fields, or the driver's description contradicts itself.
        """
        name = NAMES.get(pix.pixelformat)
        if name is None:
            raise UnsupportedObjectError(
                f"the camera gives {fourcc_text(pix.pixelformat)}, which is not a picture in rows: "
                "choose another format, or decode it by FFmpeg or GStreamer"
            )
        image = ImageInfo.of(name, pix.width, pix.height)
        pitches = pitches_of(image.format, pix.bytesperline) if pix.bytesperline else None
        offsets, end = [], 0
        for layout in image.plane_layouts(pitches):
            offsets.append(end)
            # All rows of a plane are whole, the last one too.
            end += layout.pitch * layout.shape[0]
        planes = image.plane_layouts(pitches, offsets)
        last = planes[-1]
        if pix.sizeimage < last.offset + last.span:
            raise LayoutError(
                f"the driver says that {image} in rows of {pix.bytesperline} bytes takes "
                f"{pix.sizeimage} bytes, but it takes {last.offset + last.span}"
            )
        metadata: dict[str, Any] = colors_of(pix, image.format).entries()
        return cls(image, planes, pix.sizeimage, metadata | fields_of(pix.field, pix.height))


def pitches_of(format_: ImageFormat, bytesperline: int) -> list[int]:
    """Bytes from row to row of each plane.

    The driver gives those of the first plane. Rows of the other planes have a part of that, in
    proportion to their components for each one of the first plane (struct v4l2_pix_format).

    Args:
        format_: the layout.
        bytesperline: the bytes from row to row of the first plane.
    """
    first = _bytes_for_pixel(format_.planes[0])
    return [int(bytesperline * _bytes_for_pixel(plane) / first) for plane in format_.planes]


def _bytes_for_pixel(plane: PlaneFormat) -> Fraction:
    return Fraction(plane.channels * plane.itemsize, 1 << plane.x_shift)


def fourcc_text(code: int) -> str:
    """A code as four characters, as programs write it; those of big-endian formats end in "-BE"."""
    word = (code & 0x7FFFFFFF).to_bytes(4, "little").decode("latin-1").rstrip()
    return f"{word}-BE" if code >> 31 else word


def offered(device: Device) -> list[CameraFormat]:
    """All formats of a camera, in the driver's order."""
    return [
        CameraFormat(
            fourcc_text(about.pixelformat),
            text(about.description),
            NAMES.get(about.pixelformat),
            bool(about.flags & _abi.V4L2_FMT_FLAG_COMPRESSED),
            bool(about.flags & _abi.V4L2_FMT_FLAG_EMULATED),
            *_sizes(device, about.pixelformat),
        )
        for about in _descriptions(device)
    ]


def codes_of(device: Device) -> list[int]:
    """The codes of all formats of a camera."""
    return [about.pixelformat for about in _descriptions(device)]


def _descriptions(device: Device) -> Iterator[_abi.v4l2_fmtdesc]:
    for index in count():
        about = _abi.v4l2_fmtdesc(index=index, type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE)
        if not device.has("VIDIOC_ENUM_FMT", about):
            return
        yield about


def _sizes(device: Device, code: int) -> tuple[tuple[tuple[int, int], ...], tuple[int, int] | None]:
    found = []
    for index in count():
        about = _abi.v4l2_frmsizeenum(index=index, pixel_format=code)
        if not device.has("VIDIOC_ENUM_FRAMESIZES", about):
            break
        if about.type != _abi.V4L2_FRMSIZE_TYPE_DISCRETE:
            range_ = about.stepwise
            ends = (range_.min_width, range_.min_height), (range_.max_width, range_.max_height)
            return ends, (range_.step_width or 1, range_.step_height or 1)
        found.append((about.discrete.width, about.discrete.height))
    return tuple(found), None


def rates_of(device: Device, code: int, width: int, height: int) -> tuple[Fraction, ...]:
    """Frames a second that a format has in a size, the highest first; of a range both ends."""
    return tuple(sorted(set(_rates(device, code, width, height)), reverse=True))


def _rates(device: Device, code: int, width: int, height: int) -> Iterator[Fraction]:
    for index in count():
        about = _abi.v4l2_frmivalenum(index=index, pixel_format=code, width=width, height=height)
        if not device.has("VIDIOC_ENUM_FRAMEINTERVALS", about):
            return
        if about.type != _abi.V4L2_FRMIVAL_TYPE_DISCRETE:
            yield from _rate_of(about.stepwise.min, about.stepwise.max)
            return
        yield from _rate_of(about.discrete)


def _rate_of(*times: _abi.v4l2_fract) -> Sequence[Fraction]:
    """The rates of frames that take so long; nothing for a time of 0, which drivers do report."""
    return [Fraction(t.denominator, t.numerator) for t in times if t.numerator and t.denominator]
