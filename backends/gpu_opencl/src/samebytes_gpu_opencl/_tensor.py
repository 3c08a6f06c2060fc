# SPDX-License-Identifier: Apache-2.0
"""Tensors in OpenCL memory (buffers, images, USM and SVM), and frames of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl

from samebytes import Frame, ImageInfo, Storage, Tensor, TensorInfo
from samebytes.errors import NotHostVisibleError
from samebytes.plugins import HandleKey, array_in

from ._images import layout_of_image
from ._natives import layout_of
from ._parts import image_over, part_of, room_after
from ._usm import USMAllocation

if TYPE_CHECKING:
    from typing import Self

    from ._context import OpenCLContext

__all__ = ["OpenCLFrame", "OpenCLTensor", "part_at"]

HandleKey(
    "svm_ptr", "void*", "tensor", "OpenCL SVM pointer, valid in the tensor's context"
).register()


class OpenCLTensor(Tensor):
    """A tensor in OpenCL memory, for kernels to work on.

    `native` is a pyopencl.Buffer, a pyopencl.Image, a pyopencl.SVM, or a `USMAllocation`. It
    begins with the tensor's first element; strides are in `info`. OpenCL does not enforce
    `readonly`: a kernel that writes to a read-only tensor is in error.
    """

    __slots__ = ()

    context: OpenCLContext
    readonly_advice = 'it was mapped with access "r", or lies over read-only memory'

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's pyopencl.Buffer, Image or Array, or over a USMAllocation.

        A buffer has no shape or dtype: it becomes one axis of bytes. Use
        `samebytes_gpu_opencl.tensor` to give it a layout. An Array has its own, and the tensor's
        `native` is the buffer, sub-buffer or SVM that it lies in.

        Raises:
            LayoutError: it was released, or is an image or array of a kind that no tensor can be.
        """
        from ._wrapping import tensor

        return tensor(native)  # type: ignore[return-value]  # of this very class

    @property
    def kind(self) -> str:
        """The memory's kind: "buffer", "image", "svm", "usm_host", "usm_device" or "usm_shared"."""
        native = self.native
        if isinstance(native, pyopencl.Buffer):
            return "buffer"
        if isinstance(native, pyopencl.Image):
            return "image"
        return native.kind if isinstance(native, USMAllocation) else "svm"

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over host or shared USM, once the context's queue is done with it.

        Raises:
            NotHostVisibleError: it is of another kind: map it to "cpu".
        """
        native = self.native
        if not (isinstance(native, USMAllocation) and native.host_visible):
            raise NotHostVisibleError(
                f"the CPU cannot read OpenCL memory of kind {self.kind} where it lies: "
                'use tensor.map("cpu")'
            )
        self.context.queue.finish()
        info = self.info
        over = Storage(
            address=native.pointer,
            nbytes=native.nbytes,
            keep=self.storage,
            readonly=self.readonly,
        )
        return array_in(over, info)

    def sub(
        self,
        offset: int = 0,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        *,
        strides: Sequence[int] | None = None,
    ) -> OpenCLTensor:
        """A part of this memory as its own tensor: a sub-buffer, or a USM pointer further on.

        Args:
            offset: bytes from this tensor's first element. In a buffer it must be a multiple of
                the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN.
            shape: elements along each axis; by default one axis of all remaining elements.
            dtype: the element type; by default this tensor's.
            strides: in bytes; by default dense.

        Raises:
            LayoutError: it begins at an offset that is not aligned, or ends outside.
            UnsupportedObjectError: this is an image, or SVM.
        """
        element = self.dtype if dtype is None else dtype
        if shape is None:
            room = room_after(self.native, self.kind, offset)
            shape = (room * 8 // TensorInfo(element, ()).dtype.bits,)
        return part_at(self, offset, TensorInfo(element, shape, strides))

    def as_image(self) -> OpenCLTensor:
        """A 2-D image over the rows of this buffer: the same bytes, which may be padded rows.

        For planes of pictures: (rows, columns) as R, (rows, columns, 2 or 4) as RG or RGBA, read
        by kernels as normalised (uint8, uint16) or as they are (float16, float32).

        Raises:
            LayoutError: a shape, dtype, row pitch or address that no image over a buffer can have.
            UnsupportedObjectError: this is not a buffer.
        """
        image, storage = image_over(self.context, self.native, self.kind, self.info, self.storage)
        opaque = TensorInfo(self.dtype, self.shape, opaque=True)
        return type(self)(image, self.context, storage, self, self.readonly, opaque, (storage,))

    def _describe(self) -> TensorInfo:
        native = self.native
        if isinstance(native, pyopencl.Image):
            return layout_of_image(native)
        layout = layout_of(native)
        if layout is not None:
            return layout
        nbytes = native.nbytes if isinstance(native, USMAllocation) else native.size
        return TensorInfo("uint8", (nbytes,))

    def _handle(self, key: str) -> int | None:
        native = self.native
        if key == "offset":
            return 0  # natives begin with the tensor
        if key == "cl_mem" and isinstance(native, pyopencl.Buffer | pyopencl.Image):
            return native.int_ptr
        if isinstance(native, USMAllocation):
            if key == "usm_ptr" or (key == "data" and native.host_visible):
                return native.pointer
        elif key == "svm_ptr" and self.kind == "svm":
            return int(native.svm_ptr)
        return None


def part_at(whole: OpenCLTensor, offset: int, info: TensorInfo) -> OpenCLTensor:
    """Return a tensor of that layout over the bytes of `whole` from `offset` on."""
    context = whole.context
    part, storage = part_of(context, whole.native, whole.kind, offset, info, whole.storage)
    return type(whole)(part, context, storage, whole, whole.readonly, info, (storage,))


class OpenCLFrame(Frame[OpenCLTensor]):
    """A picture in OpenCL memory. `native` is a tuple: one buffer, image or USM for each plane."""

    __slots__ = ()

    def _make_planes(self) -> tuple[OpenCLTensor, ...]:
        info = self.meta.info
        if not isinstance(info, ImageInfo):
            return super()._make_planes()
        planes = zip(self.native, info.plane_layouts(), strict=True)
        return self._planes_over(
            self.native, [_layout(native, layout) for native, layout in planes]
        )


def _layout(native: Any, plane: Any) -> TensorInfo:
    """Return the layout noted on the native (its rows may be padded), else one of dense rows."""
    noted = layout_of(native)
    if noted is not None and noted.shape == plane.shape:
        return noted
    return TensorInfo(plane.dtype, plane.shape, opaque=isinstance(native, pyopencl.Image))
