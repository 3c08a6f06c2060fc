# SPDX-License-Identifier: Apache-2.0
"""The known formats, built from the table, and the two ways to look them up."""

from __future__ import annotations

from samebytes.formats._image import ColorModel, ImageFormat
from samebytes.formats._planes import PlaneFormat
from samebytes.formats._table import ROWS, SAMPLINGS, Row

__all__ = ["BY_FOURCC", "BY_NAME", "KNOWN"]


def _format(row: Row) -> ImageFormat:
    """The format that a row of the table describes."""
    names = tuple(row.planes.split())
    letters = set("".join(names))
    model: ColorModel = "yuv" if "u" in letters else "rgb" if "r" in letters else "gray"
    aliases = row.also.split()
    if row.ffmpeg:
        # FFmpeg itself accepts a name without its byte order.
        aliases += [row.ffmpeg, row.ffmpeg.removesuffix("le")]
    own = row.name.lower()
    return ImageFormat(
        row.name,
        tuple(_plane(name, row) for name in names),
        plane_names=names,
        color_model=model,
        bit_depth=row.bits,
        bit_shift=row.shift,
        aliases=tuple(dict.fromkeys(alias for alias in aliases if alias.lower() != own)),
        ffmpeg_name=row.ffmpeg,
        fourcc=None if row.drm is None else int.from_bytes(row.drm.ljust(4).encode(), "little"),
    )


def _plane(name: str, row: Row) -> PlaneFormat:
    x_shift, y_shift = SAMPLINGS[row.sampling] if set(name) <= set("uv") else (0, 0)
    match row.packing:
        case "word":
            return PlaneFormat(1, x_shift, y_shift, row.dtype)
        case "pair":
            return PlaneFormat(len(name) // 2, x_shift, y_shift, row.dtype, x_multiple=2)
        case "":
            return PlaneFormat(len(name), x_shift, y_shift, row.dtype)


KNOWN = tuple(_format(row) for row in ROWS)
BY_NAME = {spelling.lower(): known for known in KNOWN for spelling in (known.name, *known.aliases)}
BY_FOURCC = {known.fourcc: known for known in KNOWN if known.fourcc is not None}
