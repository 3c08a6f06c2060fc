# SPDX-License-Identifier: Apache-2.0
"""The edges from and to the memory of OpenVINO's NPU plugin.

The edges to it give ordinary openvino.Tensors inside memory that was imported whole: see _imports.
They do not synchronise with the NPU: an inference has ended when its wait() returns.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import openvino

import samebytes
from samebytes import Access, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import (
    ClosedError,
    LayoutError,
    NativeError,
    NotHostVisibleError,
    SamebytesError,
)
from samebytes.formats import is_linear_modifier
from samebytes.plugins import Refused, data_address

from .._errors import RegionError
from .._host._layout import element_type, why_no_element
from .._host._pinned import PinnedTensor
from .._host._tensor import array_of
from ._arguments import TensorType, tensor_nbytes
from ._context import ZeroContext, image_shape
from ._imports import Imported, Pages, holding, merged, tensor_in, whole_pages
from ._tensor import REGION, ZeroBufferTensor, check_copyable, host_memory, may_be_region

__all__ = [
    "CpuFrameToNpu",
    "CpuFrameToNpuCopy",
    "CpuToNpu",
    "CpuToNpuCopy",
    "FdFrameToNpu",
    "FdToNpu",
    "NpuFrameToLevelZero",
    "NpuToCpu",
    "NpuToCpuCopy",
    "NpuToLevelZero",
]

_EMPTY = "it is empty, which the NPU plugin refuses"
_Connected = tuple[Any, TensorInfo | None, Storage | None]


class FdToNpu(MemoryMapper):
    """dma or level_zero -> openvino:NPU: the whole buffer imported, and a tensor in it."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> _Connected:
        """A tensor over the same bytes."""
        target = cast(ZeroContext, self.target)
        info = _dense(item.info, item.shape)
        imported, offset = _by_descriptor(target, item, access)
        storage = holding((imported,))
        native = _tensor_in(imported, storage, offset, info, access)
        # Level Zero does not wait for the work of the exporter's devices on the memory.
        item.wait()
        return native, info, storage


class FdFrameToNpu(MemoryMapper):
    """dma or level_zero -> openvino:NPU for frames: planes become [1, rows, columns, channels]."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors; each buffer is imported once, however many planes lie in it."""
        target = cast(ZeroContext, self.target)
        _require_image(item)
        imports: dict[int, Imported] = {}
        placed = []
        for plane in item.planes:
            info = _dense(plane.info, image_shape(plane.shape))
            fd = _descriptor(plane)
            if fd not in imports:
                imports[fd], _ = _by_descriptor(target, plane, access)
            placed.append((imports[fd], _offset_in(imports[fd], plane), info))
        storage = holding(imports.values())
        natives = tuple(_tensor_in(i, storage, o, info, access) for i, o, info in placed)
        item.wait()
        return natives, None, storage


class CpuToNpu(MemoryMapper):
    """cpu -> openvino:NPU: the whole pages of the array's memory are imported."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> _Connected:
        """A tensor over the same bytes."""
        info = _dense(item.info, item.shape)
        imported, offset = _by_pages(cast(ZeroContext, self.target), item, access)
        storage = holding((imported,))
        return _tensor_in(imported, storage, offset, info, access), info, storage


class CpuFrameToNpu(MemoryMapper):
    """cpu -> openvino:NPU for frames: planes become [1, rows, columns, channels]."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors, one over each plane."""
        target = cast(ZeroContext, self.target)
        _require_image(item)
        infos = [_dense(plane.info, image_shape(plane.shape)) for plane in item.planes]
        ranges = [_pages(plane, access) for plane in item.planes]
        imports = [_import_pages(target, pages, item, access) for pages in merged(ranges)]
        # An earlier import may contain several of the ranges, and is then listed several times.
        storage = holding(dict.fromkeys(imports))
        natives = []
        for plane, info in zip(item.planes, infos, strict=True):
            address = _address(plane)
            imported = next(i for i in imports if i.contains(address, tensor_nbytes(info)))
            offset = address - imported.address
            natives.append(_tensor_in(imported, storage, offset, info, access))
        return tuple(natives), None, storage


class _WholeTensors(MemoryMapper):
    """The base of edges that need the tensor's address.

    They refuse a tensor that may be a region at once, so that no copy behind them is advised.
    """

    __slots__ = ()

    def accepts(self, item: ZeroBufferTensor) -> str | None:
        """None unless it may be a region of another tensor."""
        return REGION if may_be_region(item.native) else None


class NpuToCpu(_WholeTensors):
    """openvino:NPU -> cpu: an array over the memory, which lies on the host."""

    __slots__ = ()

    def connect(self, item: ZeroBufferTensor, access: Access) -> _Connected:
        """The array."""
        info = item.info if item.dtype.numpy is None else None
        native = item.native
        if isinstance(native, PinnedTensor):
            return array_of(native, access == "r")[0], info, None
        try:
            memory = host_memory(item)
        except NotHostVisibleError as error:
            raise Refused(str(error)) from error
        return _array_over(memory, item.info, access), info, memory


class NpuToCpuCopy(MemoryMapper):
    """openvino:NPU -> cpu: a copy by the plugin, if the CPU cannot read the memory in place."""

    __slots__ = ()

    def accepts(self, item: ZeroBufferTensor) -> str | None:
        """None unless it may be a region whose copy would end the process."""
        try:
            check_copyable(item)
        except RegionError as error:
            return str(error)
        return None

    def connect(self, item: ZeroBufferTensor, access: Access) -> _Connected:
        """A new array."""
        info = item.info
        made = samebytes.context("cpu").allocate(info.shape, info.dtype, zeroed=False)
        native = PinnedTensor(made.native, openvino.Shape(info.shape), element_type(info.dtype))
        item.native.copy_to(native)
        made.native.flags.writeable = False
        return made.native, info if info.dtype.numpy is None else None, made.storage


class CpuToNpuCopy(MemoryMapper):
    """cpu -> openvino:NPU: a copy by the plugin into its own new memory."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """None if OpenVINO has such elements, and there are any."""
        return why_no_element(item.dtype) if item.info.size else _EMPTY

    def connect(self, item: Tensor, access: Access) -> _Connected:
        """A new remote tensor."""
        info = item.info
        try:
            made = self.target.allocate(info.shape, info.dtype)
        except (LayoutError, NativeError) as error:
            raise Refused(str(error)) from error
        array = np.ascontiguousarray(item.native)
        native = PinnedTensor(array, openvino.Shape(info.shape), element_type(info.dtype))
        made.native.copy_from(native)
        return made.native, made.info, made.storage


class CpuFrameToNpuCopy(MemoryMapper):
    """cpu -> openvino:NPU for frames: a copy into one new piece of the plugin's memory."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors in that memory."""
        image = _require_image(item)
        made = self.target.allocate_frame(image.format, image.width, image.height)
        for plane, native in zip(item.planes, made.native, strict=True):
            array, _ = array_of(native)
            np.copyto(array.reshape(plane.shape), plane.native)
        natives, storage = made.native, made.storage
        return natives, None, storage


class NpuToLevelZero(_WholeTensors):
    """openvino:NPU -> level_zero: the USM pointer, in the plugin's own ze_context."""

    __slots__ = ()

    def connect(self, item: ZeroBufferTensor, access: Access) -> _Connected:
        """A pointer of the level_zero plugin."""
        made = _pointer(self.target, item, item.info, access)
        return made.native, item.info, made.storage


class NpuFrameToLevelZero(MemoryMapper):
    """openvino:NPU -> level_zero for frames: planes become (rows, columns[, channels]) again."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, None]:
        """A tuple of pointers, each with the layout of its plane."""
        layouts = _require_image(item).plane_layouts()
        infos = [TensorInfo(layout.dtype, layout.shape) for layout in layouts]
        pairs = zip(item.planes, infos, strict=True)
        made = [_pointer(self.target, cast(Any, p), _dense(p.info, i.shape), access)
                for p, i in pairs]  # fmt: skip
        return tuple([tensor.native for tensor in made]), None, None


def _pointer(target: Any, item: ZeroBufferTensor, info: TensorInfo, access: Access) -> Tensor:
    """A tensor of the level_zero plugin, made by `target`: its class must not be imported here."""
    if access != "r" and item.params["TENSOR_TYPE"] == TensorType.INPUT.name:
        raise Refused("TENSOR_TYPE: devices may only read memory that was made as INPUT")
    own, theirs = item.context.handle("ze_context"), target.handle("ze_context")
    if own != theirs:
        raise Refused(
            f"the pointer is valid in ze_context {own:#x}, and the target is of {theirs:#x}"
        )
    try:
        keep = item.storage if isinstance(item.native, PinnedTensor) else host_memory(item)
        made: Tensor = target.wrap_pointer(item.get(), info.shape, info.dtype, keep=keep)
    except SamebytesError as error:
        raise Refused(str(error)) from error
    if access == "r":
        made.native = target.readonly_native(made.native)
    return made


def _require_image(item: Frame) -> ImageInfo:
    info = item.meta.info
    if not isinstance(info, ImageInfo):
        raise Refused("it is not an image: map its tensors one by one")
    return info


def _dense(info: TensorInfo, shape: tuple[int, ...]) -> TensorInfo:
    """The layout of a tensor of that shape; raises Refused if the NPU cannot take it."""
    if not info.is_contiguous:
        raise Refused(
            f"strides {info.strides} of shape {info.shape}: the NPU plugin takes dense tensors "
            "only, so the pitch must be the length of a row. image_model() takes a decoder's "
            "padded frames as they are, and take_whole_rows() makes any model take padded rows: "
            "bind them with InferRequest.set_frame(frame, names)"
        )
    if info.size == 0:
        raise Refused(_EMPTY)
    if (reason := why_no_element(info.dtype)) is not None:
        raise Refused(reason)
    return TensorInfo(info.dtype, shape)


def _descriptor(item: Tensor) -> int:
    try:
        modifier, fd = item.handle("drm_modifier"), item.handle("dma_fd")
    except ClosedError:
        raise
    except SamebytesError as error:  # memory that its driver cannot export
        raise Refused(str(error)) from error
    if not is_linear_modifier(modifier):
        raise Refused(f"memory of modifier {modifier:#x} is tiled, and the NPU reads it as linear")
    return fd


def _by_descriptor(target: ZeroContext, item: Tensor, access: Access) -> tuple[Imported, int]:
    fd = _descriptor(item)
    try:
        if access != "r":
            target.check_not_input(fd)
        imported = target.imported_buffer(item.storage, fd, item.readonly)
    except (LayoutError, NativeError) as error:
        raise Refused(str(error)) from error
    return imported, _offset_in(imported, item)


def _offset_in(imported: Imported, item: Tensor) -> int:
    offset = item.handle("offset")
    end = offset + tensor_nbytes(item.info)
    if end > imported.nbytes:
        raise Refused(f"it ends at byte {end} of memory that has {imported.nbytes}")
    return offset


def _by_pages(target: ZeroContext, item: Tensor, access: Access) -> tuple[Imported, int]:
    imported = _import_pages(target, _pages(item, access), item, access)
    return imported, _address(item) - imported.address


def _address(item: Tensor) -> int:
    return data_address(item.native)


def _pages(item: Tensor, access: Access) -> Pages:
    pages = whole_pages(item.native, reading=access == "r")
    if isinstance(pages, str):
        raise Refused(pages)
    return pages


def _import_pages(
    target: ZeroContext, pages: Pages, item: Tensor | Frame, access: Access
) -> Imported:
    try:
        return target.imported_pages(*pages, item.storage, writes=access != "r")
    except (LayoutError, NativeError) as error:
        raise Refused(str(error)) from error


def _tensor_in(
    imported: Imported, storage: Storage, offset: int, info: TensorInfo, access: Access
) -> PinnedTensor:
    return tensor_in(imported, storage, offset, info, access == "r")


def _array_over(memory: Storage, info: TensorInfo, access: Access) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.asarray(memory)
    if not info.dtype.packed:
        array = array.view(info.dtype.carrier).reshape(info.shape)
    if access == "r":
        array.setflags(write=False)
    return array
