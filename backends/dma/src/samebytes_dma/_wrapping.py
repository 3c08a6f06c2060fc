# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames over descriptors and planes of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from operator import index
from typing import Any

from samebytes import Fd, Frame, FrameMeta, ImageFormat, ImageInfo, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats import PlaneLayout, check_modifier
from samebytes.plugins import joint_owner

from ._buffer import DMABuffer, DMAPlane, check_row
from ._context import DMA, DMATensor
from ._modifiers import LINEAR, is_tiled

__all__ = ["frame_from_fds", "frame_of_planes", "frame_with_meta", "from_fd"]


def from_fd(
    fd: int | Fd,
    shape: Sequence[int],
    dtype: Any = "uint8",
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
    pitch: int | None = None,
    modifier: int = LINEAR,
    take_ownership: bool = False,
) -> DMATensor:
    """A tensor over a DMA-BUF, a memfd or a file.

    Args:
        shape: elements along each axis.
        dtype: the element type: a `samebytes.dtype`, a numpy dtype or a name such as "float32".
        fd: an open descriptor. It is duplicated, and stays the caller's.
        offset: bytes from the start of the buffer to element [0, 0, ...].
        strides: bytes from element to element along each axis; dense if left out.
        pitch: instead of strides: bytes from row to row, rows being dense in themselves.
        modifier: layout modifier of drm_fourcc.h. Tiled memory can be given to devices, not
            mapped to the CPU; its pitch is the exporter's value.
        take_ownership: True if the tensor is to close `fd` itself. If an error is raised, it does
            not.

    Raises:
        LayoutError: the descriptor is not open, or cannot be mapped (a pipe, a socket, a directory,
            a device); the array would reach outside it; rows are longer than the pitch; strides of
            tiled memory.
        AccessError: the descriptor was opened for writing only.
        UnknownNameError: no such dtype.
    """
    info = _described(dtype, shape, strides, pitch, modifier)
    with ExitStack() as undo:
        buffer = DMABuffer(_owner(fd, take_ownership, undo))
        tensor = DMATensor.wrap(DMAPlane(buffer, info, offset, pitch, modifier))
        _taken([fd], take_ownership, undo)
    return tensor


def frame_from_fds(
    fds: int | Fd | Sequence[int | Fd],
    format: str | ImageFormat,  # the field's word for it
    width: int,
    height: int,
    *,
    pitches: Sequence[int] | None = None,
    offsets: Sequence[int] | None = None,
    modifier: int | Sequence[int] = LINEAR,
    take_ownership: bool = False,
) -> Frame:
    """An image over one descriptor, or over one for each plane.

    Args:
        format: the pixel format, in any spelling: "NV12", "bgr24".
        width: pixels in a row.
        height: rows.
        fds: open descriptors. They are duplicated, and stay the caller's. A descriptor that comes
            again is the same buffer.
        pitches: bytes from row to row, one for each plane; dense if left out.
        offsets: bytes from the start of the plane's buffer, one for each plane. Left out, planes
            in one buffer follow each other without gaps, and planes in their own buffers begin
            with them.
        modifier: layout modifier of drm_fourcc.h, of all planes, or one for each. A frame may
            have planes in rows beside tiled ones; the CPU maps the former, plane by plane.
        take_ownership: True if the frame is to close the descriptors itself. If an error is raised,
            it does not.

    Raises:
        LayoutError: as for `from_fd`; or the number of descriptors, pitches, offsets or modifiers
            is not that of the planes; or planes in one buffer are padded or tiled, and no offsets
            are given.
        AccessError: a descriptor was opened for writing only.
        UnknownNameError: no such format.
    """
    image = ImageInfo(ImageFormat.of(format), width, height)
    count = len(image.format.planes)
    each = [fds] * count if isinstance(fds, int | Fd) else list(fds)
    if len(each) == 1:
        each *= count
    if len(each) != count:
        raise LayoutError(f"planes of {image}: {count}, descriptors: {len(each)}")
    numbers = [_number(fd) for fd in each]
    modifiers = _each_modifier(modifier, image)
    shared = len(set(numbers)) < count
    if shared and offsets is None and (any(map(is_tiled, modifiers)) or pitches is not None):
        raise LayoutError("planes in one buffer that are padded or tiled need offsets=")
    if shared and offsets is None:
        layouts = image.packed_layouts()
    else:
        layouts = image.plane_layouts(pitches, offsets, allow_negative=True)
    with ExitStack() as undo:
        buffers: dict[int, DMABuffer] = {}
        for fd, number in zip(each, numbers, strict=True):
            if number not in buffers:
                buffers[number] = DMABuffer(_owner(fd, take_ownership, undo))
        planes = tuple(
            _plane(buffers[number], layout, pitches is not None, each_modifier)
            for number, layout, each_modifier in zip(numbers, layouts, modifiers, strict=True)
        )
        frame = frame_of_planes(planes, image)
        _taken(each, take_ownership, undo)
    return frame


def frame_of_planes(planes: Sequence[DMAPlane], image: ImageInfo) -> Frame:
    """An image over planes, which stay the user's; `frame.native` is their tuple.

    Args:
        planes: one for each plane of the format.
        image: the format and size.

    Raises:
        LayoutError: the planes do not have the number, shapes and dtypes of the format's planes.
    """
    return frame_with_meta(planes, FrameMeta(image))


def frame_with_meta(
    planes: Sequence[DMAPlane], meta: FrameMeta, *, readonly: bool = False
) -> Frame:
    """A frame over planes, with its metadata. Unless `meta` describes an image, any planes will do.

    Args:
        planes: the planes, which stay the caller's.
        meta: the metadata, which become the frame's.
        readonly: True to forbid writing, even if the descriptors allow it.

    Raises:
        LayoutError: as from `frame_of_planes`, if `meta` describes an image.
    """
    if isinstance(meta.info, ImageInfo):
        _check_planes(planes, meta.info)
    native = tuple(planes)
    readonly = readonly or any(p.buffer.readonly for p in native)
    owner = joint_owner([p.buffer.storage for p in native])
    return Frame.borrowed(native, DMA, meta, keep=owner, readonly=readonly)


def _check_planes(planes: Sequence[DMAPlane], image: ImageInfo) -> None:
    layouts = image.plane_layouts()
    if len(planes) != len(layouts):
        raise LayoutError(f"planes of {image}: {len(layouts)}, passed: {len(planes)}")
    for plane, layout in zip(planes, layouts, strict=True):
        if (str(plane.info.dtype), plane.info.shape) != (layout.dtype, layout.shape):
            raise LayoutError(
                f"plane {layout.name} of {image} is {layout.dtype}{list(layout.shape)}, "
                f"not {plane.info.dtype}{list(plane.info.shape)}"
            )


def _each_modifier(modifier: int | Sequence[int], image: ImageInfo) -> tuple[int, ...]:
    count = len(image.format.planes)
    if isinstance(modifier, Sequence) and not isinstance(modifier, str):
        if len(modifier) != count:
            raise LayoutError(f"planes of {image}: {count}, modifiers: {len(modifier)}")
        return tuple(map(check_modifier, modifier))
    return (check_modifier(modifier),) * count


def _plane(buffer: DMABuffer, layout: PlaneLayout, has_pitch: bool, modifier: int) -> DMAPlane:
    """A plane of an image; of a tiled one the pitch is known only if it was given."""
    if is_tiled(modifier):
        info = TensorInfo(layout.dtype, layout.shape, opaque=True)
        return DMAPlane(buffer, info, layout.offset, layout.pitch if has_pitch else None, modifier)
    info = TensorInfo(layout.dtype, layout.shape, layout.strides)
    return DMAPlane(buffer, info, layout.offset, layout.pitch, modifier)


def _described(
    element: Any,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    pitch: int | None,
    modifier: int,
) -> TensorInfo:
    if is_tiled(check_modifier(modifier)):
        if strides is not None:
            raise LayoutError("tiled memory has no strides; its pitch can be given")
        return TensorInfo(element, shape, opaque=True)
    if pitch is None:
        return TensorInfo(element, shape, strides)
    if strides is not None:
        raise LayoutError("give strides= or pitch=, not both")
    dense = TensorInfo(element, shape)
    if dense.ndim < 2 or dense.dtype.itemsize is None or dense.strides is None:
        raise LayoutError(f"{dense} has no rows and no pitch")
    check_row(pitch, dense)
    return TensorInfo(element, shape, (pitch, *dense.strides[1:]))


def _number(fd: int | Fd) -> int:
    if isinstance(fd, Fd):
        return fd.fileno()
    try:
        number = index(fd)
    except TypeError:
        raise UnsupportedObjectError(
            f"a descriptor must be an int or a samebytes.Fd, not {type(fd).__name__}: pass its "
            "fileno()"
        ) from None
    if not 0 <= number < 1 << 31:
        raise LayoutError(f"{number} is not a file descriptor")
    return number


def _owner(fd: int | Fd, take_ownership: bool, undo: ExitStack) -> Fd:
    """Return the Fd that is to own the descriptor, or a duplicate; `undo` gives ownership back."""
    number = _number(fd)
    if not take_ownership:
        return Fd.borrow(number)
    owner = Fd(number)
    undo.callback(lambda: None if owner.closed else owner.detach())
    return owner


def _taken(fds: Sequence[int | Fd], take_ownership: bool, undo: ExitStack) -> None:
    """Take the descriptors from the caller, since nothing can fail any more."""
    undo.pop_all()
    for fd in fds:
        if take_ownership and isinstance(fd, Fd) and not fd.closed:
            fd.detach()
