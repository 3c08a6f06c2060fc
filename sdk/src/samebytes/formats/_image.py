# SPDX-License-Identifier: Apache-2.0
"""ImageFormat: the planes of a pixel format, its names, and the arithmetic of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from samebytes._frozen import frozen
from samebytes._numbers import counted, integer, positive
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats._planes import PlaneFormat, PlaneLayout, lay_out

if TYPE_CHECKING:
    from samebytes.formats._table import Row

__all__ = ["ColorModel", "ImageFormat", "known_formats"]

ColorModel = Literal["yuv", "rgb", "gray"]


@frozen(repr=False)
class ImageFormat:
    """A pixel format. Immutable, hashable, equal by value; `str()` of it is its name.

    `ImageFormat.of` finds the known ones. A framework's format that is not among them can be
    described with the constructor, and works everywhere but in `of`.

    Attributes:
        name: the canonical name, for instance "NV12".
        planes: in the order of memory (YV12: y, v, u).
        plane_names: the contents of each plane, one letter for each component, in the order of
            memory: ("y", "uv") for NV12, ("bgrx",) for BGRX, ("yuyv",) for YUY2.
            "x" is padding. In a packed word (RGB565) the component of the low bits comes first.
        color_model: "yuv", "rgb" or "gray".
        bit_depth: significant bits of a component; the most where components differ.
        bit_shift: unused low bits below them: 6 for P010, whose ten bits stand high in
            sixteen, 0 for I420_10, whose ten bits stand low.
        aliases: other spellings, from FFmpeg, GStreamer, VA-API and V4L2.
        ffmpeg_name: the name in FFmpeg's pixdesc.c, or None where FFmpeg lacks the format.
        fourcc: the code in the kernel's drm_fourcc.h, or None where it has no code.

    Colour range and matrix are not part of a format: "yuvj420p" is a spelling of I420.

    Raises LayoutError for a description that contradicts itself.
    """

    name: str
    planes: tuple[PlaneFormat, ...]
    _: KW_ONLY
    plane_names: tuple[str, ...]
    color_model: ColorModel
    bit_depth: int
    bit_shift: int = 0
    aliases: tuple[str, ...] = ()
    ffmpeg_name: str | None = None
    fourcc: int | None = None

    def __post_init__(self) -> None:
        if not self.planes:
            raise LayoutError(f"image format {self.name!r} has no planes")
        if len(self.planes) != len(self.plane_names):
            raise LayoutError(
                f"image format {self.name!r} has {counted(len(self.planes), 'plane')} but "
                f"{counted(len(self.plane_names), 'plane name')}"
            )
        bits = max(plane.itemsize for plane in self.planes) * 8
        if self.bit_depth < 1 or self.bit_shift < 0 or self.bit_depth + self.bit_shift > bits:
            raise LayoutError(
                f"image format {self.name!r}: bit_depth {self.bit_depth} and "
                f"bit_shift {self.bit_shift} do not fit its {bits}-bit elements"
            )

    def __hash__(self) -> int:
        # Names nearly always differ, and a string remembers its hash: formats are hashed for
        # every frame.
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<ImageFormat {self.name}>"

    @property
    def channel_order(self) -> str:
        """All components in the order of memory: "BGRX", "GBR", "YUV" (NV12), "YVU" (NV21)."""
        return "".join(self.plane_names).upper()

    @staticmethod
    def of(format: str | ImageFormat) -> ImageFormat:
        """The known format of this name, in any spelling and case; a format is returned as is.

        Raises UnknownNameError, with the nearest names.

        Args:
            format: a name, or a format.
        """
        if isinstance(format, ImageFormat):
            return format
        return _known(format if isinstance(format, str) else str(format))

    @staticmethod
    def from_fourcc(code: int) -> ImageFormat:
        """The known format that has this code in drm_fourcc.h.

        DRM names the bytes of a pixel from the highest to the lowest: its XRGB8888 ("XR24")
        is BGRX here, its AYUV is VUYA. The fourccs of VA-API and V4L2 are different codes;
        most are names that `of` knows, in the order of memory (but VA-API's AYUV is VUYA).

        Args:
            code: the number, one of DRM_FORMAT_*.

        Raises:
            UnknownNameError: no known format has it.
            LayoutError: it is not an integer.
        """
        by_fourcc = _by_fourcc()
        try:
            return by_fourcc[integer(code, "a DRM fourcc")]
        except KeyError:
            known = map(_fourcc_text, by_fourcc)
            raise UnknownNameError("DRM fourcc", _fourcc_text(code), known) from None

    def plane_layouts(
        self,
        width: int,
        height: int,
        pitches: Sequence[int] | None = None,
        offsets: Sequence[int] | None = None,
        *,
        allow_negative: bool = False,
    ) -> tuple[PlaneLayout, ...]:
        """The layout of each plane of a width x height image. Cached: cheap for every frame.

        Args:
            width: pixels in a row.
            height: rows.
            pitches: bytes from row to row, one for each plane; dense rows when None.
            offsets: byte of each plane's element [0, 0] in its buffer, one for each plane.
                When None, each plane is taken to have its own buffer and to begin with it.
            allow_negative: accept negative pitches. Such a plane is stored bottom up: element
                [0, 0] is in the row that lies highest in memory, strides[0] is negative, and
                when no offset is given, offset is -pitch * (rows - 1).

        Raises LayoutError for a size that is not positive, the wrong number of pitches or
        offsets, a pitch shorter than a row, a negative one that is not allowed, a pitch or
        offset that is not a multiple of the element size, and a plane that would begin before
        its buffer. Planes may overlap: interleaved fields and side-by-side chroma do.

        Raises:
            LayoutError: a size that is not positive, a pitch shorter than a row, or another number
                of pitches or offsets than of planes.
        """
        try:
            return _plane_layouts(
                self,
                width,
                height,
                None if pitches is None else tuple(pitches),
                None if offsets is None else tuple(offsets),
                allow_negative,
            )
        except TypeError:  # a value without a hash cannot be looked up, and cannot be a number
            raise LayoutError(
                f"{self}: the width {width!r} and the height {height!r} must be integers, "
                f"pitches {pitches!r} and offsets {offsets!r} one integer for each plane, or None"
            ) from None

    def packed_layouts(self, width: int, height: int) -> tuple[PlaneLayout, ...]:
        """All planes dense and one after another in one buffer, as raw video files have them.

        Args:
            width: pixels in a row.
            height: rows.

        Raises:
            LayoutError: a size that is not positive.
        """
        try:
            return _packed_layouts(self, width, height)
        except TypeError:  # as above
            raise LayoutError(
                f"{self}: width and height must be integers, not {width!r} and {height!r}"
            ) from None

    def frame_nbytes(self, width: int, height: int) -> int:
        """Bytes of a whole width x height image in the layout of `packed_layouts`.

        Args:
            width: pixels in a row.
            height: rows.
        """
        last = self.packed_layouts(width, height)[-1]
        return last.offset + last.nbytes


# typed: a width of 640.0 must not find what 640 left behind.
@lru_cache(maxsize=512, typed=True)
def _plane_layouts(
    format: ImageFormat,
    width: int,
    height: int,
    pitches: tuple[int, ...] | None,
    offsets: tuple[int, ...] | None,
    allow_negative: bool,
) -> tuple[PlaneLayout, ...]:
    size = positive(width, "width"), positive(height, "height")
    count = len(format.planes)
    for what, given in (("pitches", pitches), ("offsets", offsets)):
        if given is None:
            continue
        if len(given) != count:
            raise LayoutError(
                f"{format} has {counted(count, 'plane')} {format.plane_names}, but "
                f"{len(given)} {what} were given: {given}"
            )
        if None in given:
            raise LayoutError(f"{format}: one of the {what} is None: {given}")
    places = zip(
        format.planes,
        format.plane_names,
        pitches or (None,) * count,
        offsets or (None,) * count,
        strict=True,
    )
    try:
        return tuple(
            lay_out(plane, name, size, pitch, offset, allow_negative=allow_negative)
            for plane, name, pitch, offset in places
        )
    except LayoutError as error:
        raise LayoutError(f"{format} {width}x{height}: {error}") from None


@lru_cache(maxsize=512, typed=True)
def _packed_layouts(format: ImageFormat, width: int, height: int) -> tuple[PlaneLayout, ...]:
    offsets = []
    end = 0
    for layout in format.plane_layouts(width, height):
        # A mixture of element sizes (none is known) must not misalign the wider elements.
        end = -(-end // layout.itemsize) * layout.itemsize
        offsets.append(end)
        end += layout.nbytes
    return format.plane_layouts(width, height, None, offsets)


@lru_cache(maxsize=1024)
def _known(name: str) -> ImageFormat:
    try:
        return _format(_by_name()[name.lower()])
    except KeyError:
        if other := _of_another_kind(name):
            hint = f"({other}): arrays of it are not taken, so convert them first, such as to RGB"
            raise UnknownNameError("image format", name, (), hint, nearest=()) from None
        spellings = [s for known in known_formats() for s in (known.name, *known.aliases)]
        raise UnknownNameError("image format", name, spellings) from None


def _of_another_kind(name: str) -> str:
    """Return the meaning of a name that stands for no layout of components, or "".

    Suggesting formats that are spelled like it would not help.
    """
    for other, begins in _OTHERS.items():
        if name.lower().startswith(begins):
            return other
    return ""


_OTHERS = {
    "a palette": ("pal", "rgb8p", "rgb8_pal", "rgb8_index", "index"),
    "a Bayer pattern": ("bayer", "rggb", "grbg", "gbrg", "bggr"),
    "colours of CIE 1931": ("xyz",),
    "eight pixels in a byte": ("mono", "gray1le", "gray1be", "gray2", "gray4", "1bit"),
    "compressed pictures": ("mjpeg", "mjpg", "jpeg", "h264", "hevc", "h265"),
}


def known_formats() -> tuple[ImageFormat, ...]:
    """Every format that `ImageFormat.of` can find."""
    return tuple(_format(row) for row in _rows())


def _rows() -> tuple[Row, ...]:
    # Deferred: a program that only moves tensors never looks a format up.
    from samebytes.formats._table import ROWS

    return ROWS


@cache
def _by_name() -> dict[str, Row]:
    """The rows by all spellings, in small letters."""
    return {spelling.lower(): row for row in _rows() for spelling in (row.name, *_aliases(row))}


@cache
def _by_fourcc() -> dict[int, ImageFormat]:
    return {known.fourcc: known for known in known_formats() if known.fourcc is not None}


# Those that were asked for, by their names: most programs know few of them.
_built: dict[str, ImageFormat] = {}


def _format(row: Row) -> ImageFormat:
    """Return the format that a row of the table describes."""
    # If two threads build a format, both get that of the first one.
    return _built.get(row.name) or _built.setdefault(row.name, _build(row))


def _aliases(row: Row) -> tuple[str, ...]:
    aliases = row.also.split()
    if row.ffmpeg:
        # FFmpeg itself accepts a name without its byte order.
        aliases += [row.ffmpeg, row.ffmpeg.removesuffix("le")]
    own = row.name.lower()
    return tuple(dict.fromkeys(alias for alias in aliases if alias.lower() != own))


def _build(row: Row) -> ImageFormat:
    names = tuple(row.planes.split())
    letters = set("".join(names))
    model: ColorModel = "yuv" if "u" in letters else "rgb" if "r" in letters else "gray"
    return ImageFormat(
        row.name,
        tuple(_plane(name, row) for name in names),
        plane_names=names,
        color_model=model,
        bit_depth=row.bits,
        bit_shift=row.shift,
        aliases=_aliases(row),
        ffmpeg_name=row.ffmpeg,
        fourcc=None if row.drm is None else int.from_bytes(row.drm.ljust(4).encode(), "little"),
    )


def _plane(name: str, row: Row) -> PlaneFormat:
    from samebytes.formats._table import SAMPLINGS

    x_shift, y_shift = SAMPLINGS[row.sampling] if set(name) <= set("uv") else (0, 0)
    match row.packing:
        case "word":
            return PlaneFormat(1, x_shift, y_shift, row.dtype)
        case "pair":
            return PlaneFormat(len(name) // 2, x_shift, y_shift, row.dtype, x_multiple=2)
        case "":
            return PlaneFormat(len(name), x_shift, y_shift, row.dtype)


def _fourcc_text(code: int) -> str:
    return code.to_bytes(4, "little").decode("latin-1") if 0 <= code < 1 << 32 else str(code)
