# SPDX-License-Identifier: Apache-2.0
"""Frames over the user's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import formats
from .._core.memory.frame import Frame
from .._core.memory.info import TensorInfo
from .._core.memory.meta import FrameMeta
from .._core.memory.tensor import CpuTensor, Tensor
from .._core.owner.storage import joint_owner
from .._numbers import counted
from ..errors import LayoutError, UnsupportedObjectError
from ..formats import ImageFormat, ImageInfo, PlaneLayout
from .context import CPU

if TYPE_CHECKING:
    from ..formats import AudioInfo

__all__ = ["frame_of_arrays", "given_parts"]


def frame_of_arrays(
    native: Any,
    format_: str | ImageFormat | None,
    width: int | None,
    height: int | None,
    audio: AudioInfo | None,
) -> Frame:
    """A CPU frame over one array with all planes, or over one array for each plane.

    Raises:
        LayoutError: shapes, dtypes or strides do not fit the format.
        UnsupportedObjectError: the planes are not arrays in CPU memory.
    """
    parts = [_as_cpu(p) for p in given_parts(native)]
    if audio is not None:
        if not isinstance(audio, formats.AudioInfo):
            raise UnsupportedObjectError(f"audio= must be a samebytes.AudioInfo, not {audio!r}")
        layouts = audio.plane_layouts()
        if len(parts) != len(layouts):
            raise LayoutError(
                f"{audio} has {counted(len(layouts), 'plane')}, "
                f"but got {counted(len(parts), 'array')}"
            )
        return _frame_of_parts(parts, FrameMeta(audio), layouts)
    assert format_ is not None  # the caller gives one of the two
    image = ImageFormat.of(format_)
    if len(image.planes) > 1 and len(parts) == 1:
        info, parts = _split(parts[0], image, width, height)
    else:
        if len(parts) != len(image.planes):
            raise LayoutError(
                f"{image} has {counted(len(image.planes), 'plane')} "
                f"({', '.join(image.plane_names)}), "
                f"but got {counted(len(parts), 'array')}"
            )
        info = _size_of(parts, image, width, height)
    return _frame_of_parts(parts, FrameMeta(info), info.plane_layouts())


def given_parts(native: Any) -> Sequence[Any]:
    """The objects that were passed for the planes: one array can hold them all."""
    if isinstance(native, (list, tuple)):
        return native
    many = isinstance(native, Sequence) and not _is_buffer(native)
    return native if many else [native]


def _is_buffer(sequence: Any) -> bool:
    """True for bytes, an array.array and the like, which are one array of numbers each."""
    try:
        memoryview(sequence)
    except TypeError:
        return False
    except (BufferError, ValueError):
        return True  # one that cannot be had now, as of a memoryview that was released
    return True


def _as_cpu(part: Any) -> CpuTensor:
    if isinstance(part, Frame):
        raise UnsupportedObjectError(
            "the planes of a frame must be arrays, not frames: pass the planes themselves, "
            "list(frame)"
        )
    tensor = part if isinstance(part, Tensor) else CpuTensor.wrap(part)
    if not isinstance(tensor, CpuTensor):
        raise UnsupportedObjectError(
            f"the planes of a frame must be arrays in CPU memory, not {tensor.memory_type}: "
            'map each to "cpu" first'
        )
    return tensor


def _frame_of_parts(
    parts: list[CpuTensor], meta: FrameMeta, layouts: tuple[PlaneLayout, ...]
) -> Frame:
    for index, (part, layout) in enumerate(zip(parts, layouts, strict=True)):
        info = part.info
        if info.shape != layout.shape or info.dtype.name != layout.dtype:
            raise LayoutError(
                f"plane {index} ({layout.name}) of {meta.info} is "
                f"{layout.dtype}{list(layout.shape)}, the array is {info.dtype}{list(info.shape)}"
            )
        if info.overlaps:
            raise LayoutError(
                f"plane {index} ({layout.name}): its elements overlap (strides {info.strides})"
            )
    readonly = any(p.readonly for p in parts)
    arrays = tuple(p.native for p in parts)
    owner = joint_owner([p._owner for p in parts])
    planes = [
        CpuTensor.borrowed(p.native, CPU, keep=p._owner, readonly=p.readonly, info=p.known_info)
        for p in parts
    ]
    return Frame.borrowed(arrays, CPU, meta, keep=owner, readonly=readonly, planes=planes)


def _size_of(
    parts: list[CpuTensor], image: ImageFormat, width: int | None, height: int | None
) -> ImageInfo:
    """The size in pixels, from the first plane, which has every pixel in every format."""
    shape = parts[0].shape
    if len(shape) < 2:
        raise LayoutError(
            f"a plane of {image} has rows and columns, but the array has shape {shape}"
        )
    first = image.planes[0]
    rows = shape[0] << first.y_shift if height is None else height
    columns = shape[1] << first.x_shift if width is None else width
    return ImageInfo(image, columns, rows)


def _split(
    whole: CpuTensor, image: ImageFormat, width: int | None, height: int | None
) -> tuple[ImageInfo, list[CpuTensor]]:
    """The planes of an image that lies in one array, as raw files and OpenCV have it."""
    array = whole.native
    if not array.flags.c_contiguous:
        raise LayoutError(
            f"one array for all planes of {image} must have no gaps; pass a list of planes instead"
        )
    element = image.planes[0].dtype  # all planes of a format have the same
    if str(whole.dtype) not in (element, "uint8"):
        raise LayoutError(
            f"{image} has {element} elements, but the array has {whole.dtype}: pass elements of "
            "that type, or the raw bytes as uint8"
        )
    if width is None:
        width = _columns_of(array, image)
    if height is None:
        height = _height_of(image, width, array.nbytes)
    info = ImageInfo(image, width, height)
    if array.nbytes != info.nbytes:
        raise LayoutError(f"{info} has {info.nbytes} bytes, the array has {array.nbytes}")
    flat = array.reshape(-1).view(np.uint8)
    planes = []
    for layout in info.packed_layouts():
        described = TensorInfo(layout.dtype, layout.shape, layout.strides)
        part = np.ndarray(
            layout.shape, described.dtype.carrier, flat, layout.offset, layout.strides
        )
        if not array.flags.writeable:
            part.flags.writeable = False
        planes.append(CpuTensor.borrowed(part, CPU, keep=whole._owner, readonly=whole.readonly))
    return info, planes


def _columns_of(array: np.ndarray[Any, Any], image: ImageFormat) -> int:
    """Pixels in a row, where the shape shows it: rows of all planes, or planes that are alike."""
    stacked = array.ndim == 3 and len(set(image.planes)) == 1 and len(array) == len(image.planes)
    if array.ndim != 2 and not stacked:
        raise LayoutError(
            f"an array of shape {array.shape} does not determine the size of the {image} image: "
            "pass width= and height="
        )
    return int(array.shape[-1]) * array.itemsize // image.planes[0].itemsize


def _height_of(image: ImageFormat, width: int, nbytes: int) -> int:
    """The height at which an image of that width has that many bytes; there is at most one."""
    low, high = 1, max(nbytes, 1)
    while low < high:
        middle = (low + high) // 2
        if image.frame_nbytes(width, middle) < nbytes:
            low = middle + 1
        else:
            high = middle
    return low
