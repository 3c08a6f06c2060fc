# SPDX-License-Identifier: Apache-2.0
"""FFmpeg's pixel formats as samebytes' image formats, in both directions.

Formats that samebytes lists are taken from there. The others are worked out from FFmpeg's own
description of them (libavutil/pixdesc.h), or have a reason why they have no planes of elements.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Literal

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, PlaneFormat, known_formats

from ._avutil import get_pix_fmt, pix_fmt_desc_get
from ._avutil_abi import (
    AV_PIX_FMT_FLAG_BAYER,
    AV_PIX_FMT_FLAG_BE,
    AV_PIX_FMT_FLAG_BITSTREAM,
    AV_PIX_FMT_FLAG_HWACCEL,
    AV_PIX_FMT_FLAG_PAL,
    AV_PIX_FMT_FLAG_RGB,
    AV_PIX_FMT_FLAG_XYZ,
    AVComponentDescriptor,
    AVPixFmtDescriptor,
)

__all__ = ["Palette", "image_format", "image_format_named", "pixel_format_name"]


class Palette(PlaneFormat):
    """The second plane of pal8: 256 colours, whatever the size of the image.

    libavutil/pixfmt.h: each is a 32-bit word in the machine's byte order, 0xAARRGGBB; here its
    bytes are the second axis.
    """

    __slots__ = ()

    def shape(self, width: int, height: int) -> tuple[int, ...]:
        """(256, 4)."""
        return (256, 4)


_LETTERS = {"yuv": "yuva", "gray": "ya", "rgb": "rgba", "xyz": "xyz"}

# Four pixels share a group of six bytes, which FFmpeg's description cannot express.
_GROUPS = {"uyyvyy411": "uyyvyy"}


@cache
def image_format(pixel_format: int) -> ImageFormat:
    """The image format of an AVPixelFormat.

    Raises:
        LayoutError: it has no planes of whole elements in the machine's byte order; the message
            says why and what to do.
    """
    pointer = pix_fmt_desc_get(pixel_format)
    if not pointer:
        raise LayoutError(f"FFmpeg has no pixel format {pixel_format}")
    described: AVPixFmtDescriptor = pointer.contents
    name = described.name.decode()
    reason = _no_layout(described.flags)
    if reason is not None:
        raise LayoutError(f"pixel format {name} {reason}")
    return _known(name) or _from_description(name, described)


@cache
def image_format_named(name: str) -> ImageFormat:
    """The image format of a name of FFmpeg's, known to samebytes or not.

    Raises:
        LayoutError: as `image_format`.
        UnknownNameError: FFmpeg has no such format.
    """
    pixel_format = get_pix_fmt(name.encode())
    if pixel_format < 0:
        raise UnknownNameError("pixel format", name, (f.name for f in known_formats()))
    return image_format(pixel_format)


def pixel_format_name(image: ImageFormat) -> str:
    """FFmpeg's name of an image format.

    Raises:
        LayoutError: FFmpeg lacks it, or means another layout by the name.
    """
    name = image.ffmpeg_name
    if name is None:
        raise LayoutError(f"FFmpeg has no pixel format for {image}")
    if image_format_named(name) != image:
        raise LayoutError(f"{image} is not what FFmpeg's {name} is")
    return name


def _known(name: str) -> ImageFormat | None:
    with suppress(UnknownNameError):
        known = ImageFormat.of(name)
        if known.ffmpeg_name == name:
            return known
    return _by_name().get(name)


@cache
def _by_name() -> dict[str, ImageFormat]:
    formats: dict[str, ImageFormat] = {}
    for known in known_formats():
        # The "j" formats of FFmpeg differ in colour range alone, and are aliases.
        for name in (*known.aliases, known.ffmpeg_name):
            if name is not None:
                formats.setdefault(name, known)
    for known in known_formats():
        if known.ffmpeg_name is not None:
            formats[known.ffmpeg_name] = known
    return formats


_CONVERTED = (
    "decode with PyAV, call reformat() of each av.VideoFrame, which copies it to a format such as "
    "gray or rgb24, and take those: a Pipeline takes any iterable of frames as its source"
)


def _no_layout(flags: int) -> str | None:
    if flags & AV_PIX_FMT_FLAG_HWACCEL:
        return (
            "is a handle of a device, not memory that the CPU reads: map it through the plugin of "
            "that device, or download it"
        )
    if flags & AV_PIX_FMT_FLAG_BITSTREAM:
        return f"packs pixels that are not whole bytes, so no element takes it: {_CONVERTED}"
    if flags & AV_PIX_FMT_FLAG_BE:
        return (
            "has big-endian elements, the machine has little-endian ones, so no element takes it: "
            f"{_CONVERTED}"
        )
    return None


def _from_description(name: str, described: AVPixFmtDescriptor) -> ImageFormat:
    components = list(described.comp[: described.nb_components])
    flags = described.flags
    depth = max(c.depth for c in components)
    model: Literal["yuv", "rgb", "gray"] = (
        "rgb" if flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_XYZ)
        else "yuv" if len(components) > 2
        else "gray"
    )  # fmt: skip
    if flags & AV_PIX_FMT_FLAG_PAL:
        planes, names = [PlaneFormat(1), Palette(1)], ["i", "bgra"]
    elif flags & AV_PIX_FMT_FLAG_BAYER:
        step = components[0].step
        planes, names = [PlaneFormat(1, dtype=f"uint{8 * step}")], [name.split("_")[1][:4]]
        depth = 8 * step
    elif name in _GROUPS:
        group = _GROUPS[name]
        planes, names = [PlaneFormat(len(group), described.log2_chroma_w)], [group]
    else:
        letters = _LETTERS["xyz" if flags & AV_PIX_FMT_FLAG_XYZ else model]
        planes, names = _planes(described, components, letters)
    return ImageFormat(
        name.upper(),
        tuple(planes),
        plane_names=tuple(names),
        color_model=model,
        bit_depth=depth,
        bit_shift=_shift(components),
        aliases=(name,),
        ffmpeg_name=name,
    )


def _planes(
    described: AVPixFmtDescriptor, components: list[AVComponentDescriptor], letters: str
) -> tuple[list[PlaneFormat], list[str]]:
    planes, names = [], []
    for plane in range(1 + max(c.plane for c in components)):
        within = sorted(
            (c.offset, c.shift, letter, c)
            for c, letter in zip(components, letters, strict=False)
            if c.plane == plane
        )
        first = within[0][3]
        # Components that begin at the same byte are bits of one word.
        one_word = len(within) > 1 and within[0][0] == within[1][0]
        itemsize = first.step if one_word else 1 + (first.depth + first.shift > 8)
        chroma = all(letter in "uv" for _, _, letter, _ in within)
        planes.append(
            PlaneFormat(
                first.step // itemsize,
                described.log2_chroma_w if chroma else 0,
                described.log2_chroma_h if chroma else 0,
                f"uint{8 * itemsize}",
            )
        )
        names.append("".join(letter for _, _, letter, _ in within))
    return planes, names


def _shift(components: list[AVComponentDescriptor]) -> int:
    """The unused low bits, where all components agree; in a shared word they are places."""
    shifts = {c.shift for c in components}
    return int(shifts.pop()) if len(shifts) == 1 else 0
