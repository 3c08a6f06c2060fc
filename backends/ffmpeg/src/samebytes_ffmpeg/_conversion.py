# SPDX-License-Identifier: Apache-2.0
"""Conversions of pictures by libswscale, from and into memory of the CPU."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from samebytes import Frame, TensorInfo
from samebytes.errors import LayoutError, NativeError
from samebytes.formats import ImageInfo
from samebytes.plugins import Conversion, PictureInfo, Refused, data_address

from ._avutil import FRAME_HEAD, get_pix_fmt
from ._from_cpu import row_distances
from ._layouts import PlaneLocation, image_locations
from ._pixel_formats import Palette, pixel_format_name
from ._pyav import frame_address
from ._swscale import FLAGS, MATRICES, Planes, PlanesOfFrame, Scaler, reads, writes
from ._to_cpu import arrays_on

__all__ = ["FrameConversion", "SwscaleConversion"]

_Array = np.ndarray[Any, Any]

_BEYOND = 64
"""Bytes that libswscale reads behind the last pixel of a plane, at most: a register of AVX-512.
Indices of a palette it reads one by one, and of the palette what there is (libswscale/input.c)."""

_PAGE = mmap.PAGESIZE

_head_at = (ctypes.c_ubyte * FRAME_HEAD.size).from_address

_STEP = 16
"""Rows by which a picture may be cut without another dither: its patterns have 8 rows, and chroma
half of them."""

_PIXELS = 16
"""Pixels that libswscale writes at a time. Where a row does not end with them, it writes beyond."""

_MOST_CUT = 16
"""The factor by which a picture may shrink whose rows are given in parts."""

# Places between two samples of chroma, in 1/256, from the left one and from the top one. If nothing
# is specified, libswscale takes the middle.
_BETWEEN = 128
_CHROMA = {
    None: (128, 128),
    "left": (0, 128),
    "center": (128, 128),
    "topleft": (0, 0),
    "top": (128, 0),
    "bottomleft": (0, 256),
    "bottom": (128, 256),
}


_NOT_READ = tuple(map(get_pix_fmt, (b"yaf32le", b"yaf32be")))
"""Formats that libswscale claims to read, but ends the process by an assertion."""


_TOO_LARGE, _MOST_PADDING = 1 << 31, 64
"""The bytes of a plane from which on it ends the process, and the most padding of a row."""


class SwscaleConversion(Conversion):
    """A conversion by libswscale, with PyAV's flags.

    If a picture keeps its size, chroma is repeated for the pixels that share it; if it is scaled,
    chroma is placed by the chroma location. Fields are pictures of their own.

    Args:
        source, target, method: as of every Conversion.
        field: which of two fields the pictures are: 0 for the upper one; None for whole pictures.
    """

    def __init__(
        self, source: PictureInfo, target: PictureInfo, method: str, field: int | None = None
    ) -> None:
        super().__init__(source, target, method)
        self._fields: list[SwscaleConversion] = []
        if self.by_fields:
            self._fields = [
                SwscaleConversion(source.field, target.field, method, number) for number in (0, 1)
            ]
        before, after = source.image, target.image
        options = {
            **_options("src", source, field),
            **_options("dst", target, field),
            "sws_flags": FLAGS[method],
        }
        for image in (before, after):
            for plane in image.packed_layouts():
                if (plane.row_nbytes + _MOST_PADDING) * plane.shape[0] >= _TOO_LARGE:
                    raise Refused(f"libswscale counts the bytes of a plane in 31 bits: {image}")
        if reads(options["src_format"]) <= 0 or options["src_format"] in _NOT_READ:
            raise Refused(f"libswscale does not read {before.format}")
        if writes(options["dst_format"]) <= 0:
            raise Refused(f"libswscale does not write {after.format}")
        try:
            self._scaler = Scaler(options, *_colors(source, target))
        except NativeError as error:
            raise Refused(f"libswscale cannot convert {source} to {target}: {error}") from error
        same_size = (before.width, before.height) == (after.width, after.height)
        if same_size and _is_limited_gray(source, target):
            raise Refused(
                "libswscale takes gray for full range where the size stays: convert to I420 of "
                "limited range first"
            )
        # What lies behind a row is written later, except for a row of the other field.
        if (same_size or self._fields) and after.width % _PIXELS:
            self.row_padding = _BEYOND
        self._beyond = 0 if _has_palette(before) else _BEYOND
        self._in_parts = _takes_parts(source, target)
        self._cut = _cut(before)
        self._source, self._target = Planes(), Planes()
        self._aimed_at: list[tuple[int, int]] = []
        # The layout of the frame that came last: in a stream, planes mostly lie alike.
        self._form: list[tuple[Any, ...]] = []
        self._places: tuple[PlaneLocation, ...] = ()
        self._ends: list[int] = []
        self._strides: list[int] = []
        self._spans: list[int] = []
        if same_size and (after.width % 2 or after.height % 2):
            self._check_the_last_ones()

    def _check_the_last_ones(self) -> None:
        """Check that all of a picture of an odd size is written.

        Some of libswscale's paths between formats that share chroma leave out its last row or
        column.

        Raises:
            Refused: a part of it is not.
        """
        source = _filled(self.source.image, 0)
        made = []
        for number in (0x55, 0xAA):
            made.append(_filled(self.target.image, number))
            self._convert(source, made[-1])
        if any(np.any(one != other) for one, other in zip(*made, strict=True)):
            raise Refused(
                "libswscale leaves out the last row or column of chroma of pictures of odd size"
            )

    def run(self, source: Frame[Any], target: Frame[Any]) -> None:
        """Convert one picture."""
        self._convert(source.native, target.native)

    def _convert_fields(self, arrays: tuple[_Array, ...], new: tuple[_Array, ...]) -> None:
        for number, conversion in enumerate(self._fields):
            conversion._convert(
                tuple(array[number::2] for array in arrays),
                tuple(array[number::2] for array in new),
            )

    def _convert(self, arrays: tuple[_Array, ...], new: tuple[_Array, ...]) -> None:
        if self._fields:
            self._convert_fields(arrays, new)
            return
        form = [(array.shape, array.strides, array.dtype) for array in arrays]
        if form != self._form:
            self._strides = row_distances(arrays, self.source.image)
            self._spans = [TensorInfo.of(array).extent[1] for array in arrays]
            self._form = form
        self._aim(new)
        pointers = list(map(data_address, arrays))
        self._source.set(pointers, self._strides)
        for pointer, span in zip(pointers, self._spans, strict=True):
            if (pointer + span - 1) % _PAGE + self._beyond >= _PAGE:
                written = self._in_two(arrays)
                break
        else:
            height = self.source.image.height
            written = self._scaler.scale(self._source, 0, height, self._target)
        self._check(written)

    def _aim(self, new: tuple[_Array, ...]) -> None:
        """Set where to write. Often that is the same place, since memory is used again."""
        aim = [(data_address(array), array.strides[0]) for array in new]
        if aim != self._aimed_at:
            self._aimed_at.clear()  # until all is set
            self._target.set(*zip(*aim, strict=True))
            self._aimed_at = aim

    def _check(self, written: int) -> None:
        """Raise NativeError unless all rows were written."""
        rows = self.target.image.height
        if written != rows:
            raise NativeError("sws_scale", 0, f"it wrote {written} of {rows} rows")

    def _in_two(self, arrays: tuple[_Array, ...]) -> int:
        """Convert with the last rows in memory of ours, as no memory is known to follow them.

        Only these few rows are copied; of a small picture, and of one that libswscale takes only as
        a whole, they are all. It would be worse if some frames of a stream could not be converted.
        """
        cut, written = self._cut if self._in_parts else 0, 0
        if cut:
            written = self._scaler.scale(self._source, 0, cut, self._target)
        last = []
        for array, plane in zip(arrays, self.source.image.format.planes, strict=True):
            part = array[cut >> plane.y_shift :]
            room = np.zeros(part.nbytes + _BEYOND, np.uint8)
            rows = room[: part.nbytes].view(part.dtype).reshape(part.shape)
            np.copyto(rows, part)
            last.append(rows)
        self._source.set(list(map(data_address, last)), [rows.strides[0] for rows in last])
        rest = self.source.image.height - cut
        return written + self._scaler.scale(self._source, cut, rest, self._target)


class FrameConversion(SwscaleConversion):
    """The same for av frames, whose AVFrame says where the planes are."""

    def run(self, source: Frame[Any], target: Frame[Any]) -> None:
        """Convert one picture."""
        native = source.native
        if self._fields:
            self._convert_fields(arrays_on(native, False), target.native)
            return
        address = frame_address(native)
        head = FRAME_HEAD.unpack(_head_at(address))
        pointers, pitches = head[:4], head[4:8]
        width, height, _, pixel_format = head[9:13]
        places = image_locations(pixel_format, width, height, *pitches).planes
        if places is not self._places:
            self._places, self._ends = places, [place.info.extent[1] for place in places]
        for pointer, span in zip(pointers, self._ends, strict=False):
            behind = (pointer + span - 1) % _PAGE + self._beyond
            if not pointer or behind >= _PAGE:
                self._convert(arrays_on(native, False), target.native)
                return
        self._aim(target.native)
        rows = self.source.image.height
        self._check(self._scaler.scale(PlanesOfFrame(address), 0, rows, self._target))


def _is_limited_gray(*pictures: PictureInfo) -> bool:
    """True if one of two pictures is gray of limited range, and the other one is of full range."""
    ranges = {picture.color_range for picture in pictures}
    return len(ranges) > 1 and any(
        picture.image.format.color_model == "gray" and picture.color_range == "limited"
        for picture in pictures
    )


def _filled(image: ImageInfo, number: int) -> tuple[_Array, ...]:
    """Planes of one number in each byte, with room behind each row but those of a palette."""
    rows = [layout.row_nbytes for layout in image.plane_layouts()]
    pitches = [
        row if isinstance(plane, Palette) else -(-row // _BEYOND) * _BEYOND + _BEYOND
        for row, plane in zip(rows, image.format.planes, strict=True)
    ]
    return tuple(
        np.ndarray(
            layout.shape, layout.dtype, np.full(layout.span + 2 * _BEYOND, number, np.uint8), 0,
            layout.strides,
        )
        for layout in image.plane_layouts(pitches)
    )  # fmt: skip


def _has_palette(image: ImageInfo) -> bool:
    return any(isinstance(plane, Palette) for plane in image.format.planes)


def _takes_parts(source: PictureInfo, target: PictureInfo) -> bool:
    """True if libswscale takes the rows of a picture in parts; of others it takes all at once."""
    before, after = source.image, target.image
    both_yuv = before.format.color_model == after.format.color_model == "yuv"
    if both_yuv and source.color_matrix != target.color_matrix:
        return False  # it goes by way of RGB
    if _has_palette(before):
        return False
    sizes = (before.width, after.width), (before.height, after.height)
    return all(size <= new * _MOST_CUT for size, new in sizes)


def _cut(image: ImageInfo) -> int:
    """The row at which a picture is cut whose memory may end behind its last row.

    The rows from there on hold what may be read behind the rows before.
    """
    narrowest = min(layout.row_nbytes for layout in image.plane_layouts())
    behind = -(-_BEYOND // narrowest) * 4
    return max(0, image.height - behind) // _STEP * _STEP


def _options(side: str, picture: PictureInfo, field: int | None) -> dict[str, int]:
    image = picture.image
    try:
        number = get_pix_fmt(pixel_format_name(image.format).encode())
    except LayoutError as error:
        raise Refused(str(error)) from error
    found = {f"{side}w": image.width, f"{side}h": image.height, f"{side}_format": number}
    found[f"{side}_range"] = int(picture.color_range == "full")
    across, down = _CHROMA[picture.chroma_location]
    if field is not None and down == _BETWEEN:
        # The rows of a field are two rows of the picture apart, so chroma is nearer to one of them.
        down = _BETWEEN // 2 if field == 0 else _BETWEEN * 3 // 2
    x_shift = max(plane.x_shift for plane in image.format.planes)
    y_shift = max(plane.y_shift for plane in image.format.planes)
    if x_shift:
        found[f"{side}_h_chr_pos"] = across * ((1 << x_shift) - 1)
    if y_shift:
        found[f"{side}_v_chr_pos"] = down * ((1 << y_shift) - 1)
    return found


def _colors(source: PictureInfo, target: PictureInfo) -> list[tuple[int, int]]:
    """The matrix and range of both, as libswscale counts them.

    RGB and gray have no matrix. They get that of the other picture, so nothing goes through RGB.

    Raises:
        Refused: libswscale does not know a matrix.
    """
    matrices = [
        picture.color_matrix
        for picture in (source, target)
        if picture.image.format.color_model == "yuv"
    ] or ["smpte170m"]
    for matrix in matrices:
        if matrix not in MATRICES:
            raise Refused(
                f"libswscale does not compute the matrix {matrix!r}, only {', '.join(MATRICES)}"
            )
    return [
        (MATRICES[matrix], int(picture.color_range == "full"))
        for picture, matrix in ((source, matrices[0]), (target, matrices[-1]))
    ]
