# SPDX-License-Identifier: Apache-2.0
"""Colorimetry and chroma siting of caps, in the words that all backends share, and back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from samebytes import ImageInfo
from samebytes.errors import LayoutError
from samebytes.formats import (
    CHROMA_LOCATIONS,
    COLOR_MATRICES,
    COLOR_PRIMARIES,
    COLOR_TRANSFERS,
    Colorimetry,
)

from .._abi.gi import Gst, GstVideo
from .formats import video_format_name

__all__ = ["chroma_site_text", "colorimetry_text", "read_colors"]

# gst/video/video-color.h: GStreamer's number -> the code point of ITU-T H.273.
_PRIMARIES = {1: 1, 2: 4, 3: 5, 4: 6, 5: 7, 6: 8, 7: 9, 9: 10, 10: 11, 11: 12, 12: 22}
_TRANSFERS = {
    1: 8, 4: 4, 5: 1, 6: 7, 7: 13, 8: 5, 9: 9, 10: 10, 11: 15, 13: 14, 14: 16, 15: 18, 16: 6,
}  # fmt: skip
_MATRICES = {1: 0, 2: 4, 3: 1, 4: 6, 5: 7, 6: 9}
_FULL, _LIMITED = 1, 2
_RGB = 1

# gst/video/video-chroma.h: flags -> Chroma420SampleLocType of H.273.
_SITES = {1: 1, 2: 0, 4: 3, 6: 2}
_SITE_TEXTS = {"center": "jpeg", "left": "mpeg2", "top": "v-cosited", "topleft": "cosited"}
_SITES_THAT_CAPS_LACK = frozenset(
    Colorimetry(chroma_location=name) for name in CHROMA_LOCATIONS if name not in _SITE_TEXTS
)


def read_colors(info: Any, image: ImageInfo, site: str | None) -> Colorimetry:
    """The colorimetry of a GstVideoInfo, with GStreamer's defaults where the caps name none.

    Self-evident values are left out: the matrix of RGB, and the full range of RGB and gray.

    Args:
        site: "chroma-site" of the caps, which GStreamer 1.22 itself ignores beside no colorimetry.

    """
    colors, model = info.colorimetry, image.format.color_model
    full = {_FULL: True, _LIMITED: False}.get(int(colors.range))
    flags = info.chroma_site if site is None else GstVideo.video_chroma_site_from_string(site)
    return Colorimetry.from_code_points(
        full_range=None if full and model != "yuv" else full,
        primaries=_PRIMARIES.get(int(colors.primaries)),
        transfer=_TRANSFERS.get(int(colors.transfer)),
        matrix=_MATRICES.get(int(colors.matrix)) if model == "yuv" else None,
        chroma_location=_SITES.get(int(flags)),
    )


@lru_cache(maxsize=64)
def colorimetry_text(image: ImageInfo, colors: Colorimetry, stated: str | None) -> str | None:
    """ "colorimetry" of caps: "bt709", or numbers; None to leave it to GStreamer.

    Unspecified values are those stated, or those that GStreamer assumes for a picture of this size.
    Primaries and transfers that GStreamer lacks become "unknown".

    Args:
        stated: metadata["gstreamer"]["colorimetry"].

    Raises:
        LayoutError: GStreamer lacks the matrix, so that its elements would show other colours; or
            it cannot parse `stated`.
    """
    # GStreamer 1.22 ignores a chroma-site without a colorimetry.
    if colors == Colorimetry() or (stated is None and colors in _SITES_THAT_CAPS_LACK):
        return stated
    base = _usual(image)
    if stated is not None and not base.from_string(stated):
        raise LayoutError(
            f"metadata['gstreamer']['colorimetry'] is {stated!r}, which GStreamer cannot parse"
        )
    range_ = int(base.range)
    if colors.color_range is not None:
        range_ = _FULL if colors.color_range == "full" else _LIMITED
    transfer, primaries = int(base.transfer), int(base.primaries)
    if colors.color_transfer is not None:
        transfer = _number(_TRANSFERS, COLOR_TRANSFERS[colors.color_transfer])
    if colors.color_primaries is not None:
        primaries = _number(_PRIMARIES, COLOR_PRIMARIES[colors.color_primaries])
    found = GstVideo.VideoColorimetry()
    found.from_string(f"{range_}:{_matrix(image, colors, base)}:{transfer}:{primaries}")
    text: str = found.to_string()
    return text


def chroma_site_text(colors: Colorimetry) -> str | None:
    """ "chroma-site" of caps; None if it is not known, or GStreamer cannot express it."""
    return _SITE_TEXTS.get(colors.chroma_location or "")


def _usual(image: ImageInfo) -> Any:
    caps = Gst.Caps.from_string(
        f"video/x-raw,format={video_format_name(image.format)},width={image.width},"
        f"height={image.height}"
    )
    # To PyGObject `info.colorimetry` is an address within `info`, which ends with this function.
    info = GstVideo.VideoInfo.new_from_caps(caps)
    found = GstVideo.VideoColorimetry()
    if text := info.colorimetry.to_string():
        found.from_string(text)
    return found


def _matrix(image: ImageInfo, colors: Colorimetry, base: Any) -> int:
    model = image.format.color_model
    if model == "rgb":
        return _RGB
    if model == "gray" or colors.color_matrix is None:
        return int(base.matrix)
    code = COLOR_MATRICES[colors.color_matrix]
    # H.273 has two code points, 5 and 6, for the one matrix of BT.601.
    number = _number(_MATRICES, 6 if code == COLOR_MATRICES["bt470bg"] else code)
    if number in (0, _RGB):
        raise LayoutError(
            f"GStreamer has no colour matrix {colors.color_matrix!r} for {image.format}: convert "
            "the frame first, or set another one in frame.metadata['color_matrix']"
        )
    return number


def _number(table: dict[int, int], code: int) -> int:
    """GStreamer's number for a code point; 0, unknown, if it has none."""
    return next((number for number, known in table.items() if known == code), 0)
