# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames in a remote context of the GPU plugin, a tensor class for each memory kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
import openvino

from samebytes import Context, Frame, Storage, Tensor, TensorInfo
from samebytes.errors import NotHostVisibleError, UnsupportedObjectError
from samebytes.plugins import read_slot

from .._remote._context import RemoteTensor, layout_of
from .._remote._conversions import on_windows
from .._remote._lifetimes import Lease, Leftovers, native_of
from . import _opencl
from ._checks import IMAGES, USM, check_whole, cl_context_of

__all__ = [
    "ClBufferTensor",
    "ClImage2DTensor",
    "D3DBufferTensor",
    "D3DSurface2DTensor",
    "GpuFrame",
    "GpuTensor",
    "USMTensor",
    "VASurfaceTensor",
    "array_over",
    "host_memory",
]

T = TypeVar("T", bound="GpuTensor")
Params = Mapping[str, int | str]


class GpuTensor(RemoteTensor):
    """A tensor in a remote context of the GPU plugin. `native` is an openvino.RemoteTensor.

    Mappings give tensors of this class: `is_` checks which subclasses fit one, and `as_` makes a
    tensor of such a class. A region of another tensor has no handles and no array, because OpenVINO
    reports those of the whole tensor; it can be copied, and used in inferences.

    Class attributes:
        kinds: the values of SHARED_MEM_TYPE that belong to a class.
        keys: the properties that a tensor of the class must have.
        opaque: True if the memory has no linear layout.
    """

    __slots__ = ()

    opaque: ClassVar[bool] = False
    kinds: ClassVar[Collection[str]] = ()
    keys: ClassVar[Collection[str]] = ("MEM_HANDLE",)

    def __init__(
        self,
        native: Any,
        context: Context,
        owner: Any,
        parent: Tensor | Frame | None,
        readonly: bool,
        info: TensorInfo | None = None,
        made: tuple[Storage, ...] = (),
    ) -> None:
        if isinstance(parent, GpuTensor):
            lent = parent._held_native
            if native_of(lent) is native:
                native = lent  # by the same lease, or it could end before this tensor does
        super().__init__(native, context, owner, parent, readonly, info, made)

    @property
    def native(self) -> openvino.RemoteTensor:
        """The openvino.RemoteTensor, which keeps its memory alive."""
        held = self._held_native
        native: openvino.RemoteTensor = held.native if type(held) is Lease else held
        return native

    @native.setter
    def native(self, native: Any) -> None:
        _slot.__set__(self, native)

    @property
    def _held_native(self) -> Any:
        return read_slot(_slot, self)

    @classmethod
    def matches(cls, params: Params) -> bool:
        """True if a tensor with these properties is of this class, by type_check of the C++ API.

        Args:
            params: as `tensor.params` returns them.
        """
        if cls is GpuTensor:
            return True
        return params.get("SHARED_MEM_TYPE") in cls.kinds and all(k in params for k in cls.keys)

    def is_(self, *kinds: type[GpuTensor]) -> bool:
        """True if this tensor can be used as one of these classes.

        Args:
            kinds: classes of tensors.
        """
        params = self.params
        return any(kind.matches(params) for kind in kinds)

    @overload
    def as_(self) -> GpuTensor: ...
    @overload
    def as_(self, kind: type[T]) -> T: ...
    def as_(self, kind: type[GpuTensor] | None = None) -> GpuTensor:
        """The same tensor as one of a class, by default of the most specific class that fits.

        Args:
            kind: a class of tensors.

        Raises:
            UnsupportedObjectError: it is of another kind.
        """
        params = self.params
        if kind is None:
            kind = self.tensor_kind(params)
        if not kind.matches(params):
            raise UnsupportedObjectError(
                f"SHARED_MEM_TYPE: a tensor over {params.get('SHARED_MEM_TYPE')} is not a "
                f"{kind.__name__}"
            )
        return kind.borrowed(
            self._held_native,
            self.context,
            keep=self.storage,
            readonly=self.readonly,
            info=self.known_info,
            parent=self.parent,
        )

    @classmethod
    def tensor_kind(cls, params: Params) -> type[GpuTensor]:
        """The most specific class that fits a tensor with these properties.

        Args:
            params: as `tensor.params` returns them.
        """
        d3d, va = (D3DBufferTensor, D3DSurface2DTensor), (VASurfaceTensor,)
        choices = (
            *(d3d if on_windows() else va), USMTensor, ClImage2DTensor, ClBufferTensor,
        )  # fmt: skip
        return next((kind for kind in choices if kind.matches(params)), GpuTensor)

    def _replaced(self, leftovers: Leftovers) -> None:
        """As in its base class: the plugin keeps what the last inference used.

        Args:
            leftovers: the leftovers of the request that ran it.
        """
        lent = self._held_native
        if type(lent) is Lease:
            lent.replaced(leftovers)

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over USM of the host, shared USM, or memory of the CPU.

        It keeps the tensor's memory alive. Nothing is waited for: see `wait`, or use map("cpu").

        Raises:
            NotHostVisibleError: the memory is a buffer, an image, a surface or USM of the device.
            RegionError: an openvino.RemoteTensor of the user's may be a region of another one.
        """
        memory = host_memory(self)
        if memory is None:
            raise NotHostVisibleError(
                f"{self.params['SHARED_MEM_TYPE']} memory cannot be read by the CPU in place: use "
                "tensor.map('cpu')"
            )
        return array_over(memory, self.info)

    def _describe(self) -> TensorInfo:
        opaque = self.params["SHARED_MEM_TYPE"] in IMAGES
        return TensorInfo(*layout_of(self._lent_native), opaque=opaque)

    def _handle(self, key: str) -> int | None:
        params = self.params
        kind = params["SHARED_MEM_TYPE"]
        if key == ("usm_ptr" if kind in USM else "cl_mem"):
            return self._memory("MEM_HANDLE")
        if key == "va_surface" and VASurfaceTensor.matches(params):
            return self._memory("DEV_OBJECT_HANDLE")
        if key == "plane_index" and kind == "VA_SURFACE":
            return int(params["VA_PLANE"])
        return super()._handle(key)

    def _param(self, key: str) -> int:
        return int(self.params[key])

    def _memory(self, key: str) -> int:
        """A property that names the memory, which is the tensor's own unless it is a region.

        Raises:
            RegionError: it may be one.
        """
        params = self.params
        check_whole(self._lent_native, params, self.info, cl_context_of(self.context))
        return int(params[key])


# The slot in which a tensor keeps its native object, or the lease of one.
_slot: Any = Tensor.native  # type: ignore[misc]  # the slot itself


class ClBufferTensor(GpuTensor):
    """A tensor over a cl_mem buffer: the user's, the plugin's own, or one over other memory."""

    __slots__ = ()

    kinds: ClassVar[Collection[str]] = ("OCL_BUFFER", "CPU_VA", "BUFFER_FROM_HANDLE", "DX_BUFFER")

    def get(self) -> int:
        """The cl_mem. It stays the tensor's: retain it to keep it."""
        return self._memory("MEM_HANDLE")


class ClImage2DTensor(GpuTensor):
    """A tensor over a two-dimensional image: a plane of NV12 or I420."""

    __slots__ = ()

    opaque = True
    kinds: ClassVar[Collection[str]] = IMAGES

    def get(self) -> int:
        """The cl_mem. It stays the tensor's: retain it to keep it."""
        return self._memory("MEM_HANDLE")


class USMTensor(GpuTensor):
    """A tensor over unified shared memory."""

    __slots__ = ()

    kinds = USM

    def get(self) -> int:
        """The pointer, valid in this cl_context as long as the tensor exists."""
        return self._memory("MEM_HANDLE")


class VASurfaceTensor(ClImage2DTensor):
    """A tensor over a plane of a VA-API surface. The surface stays the user's."""

    __slots__ = ()

    kinds = ("VA_SURFACE",)
    keys = ("MEM_HANDLE", "DEV_OBJECT_HANDLE", "VA_PLANE")

    @property
    def surface(self) -> int:
        """The VASurfaceID."""
        return self._memory("DEV_OBJECT_HANDLE")

    @property
    def plane(self) -> int:
        """0 for Y, 1 for UV."""
        return self._param("VA_PLANE")


class D3DBufferTensor(ClBufferTensor):
    """A tensor over an ID3D11Buffer, on Windows."""

    __slots__ = ()

    kinds = ("DX_BUFFER",)
    keys = ("MEM_HANDLE", "DEV_OBJECT_HANDLE")

    @property
    def buffer(self) -> int:
        """The ID3D11Buffer."""
        return self._memory("DEV_OBJECT_HANDLE")


class D3DSurface2DTensor(ClImage2DTensor):
    """A tensor over a plane of an ID3D11Texture2D, on Windows."""

    __slots__ = ()

    kinds = ("VA_SURFACE",)
    keys = ("MEM_HANDLE", "DEV_OBJECT_HANDLE", "VA_PLANE")

    @property
    def texture(self) -> int:
        """The ID3D11Texture2D."""
        return self._memory("DEV_OBJECT_HANDLE")

    @property
    def plane(self) -> int:
        """0 for Y, 1 for UV."""
        return self._param("VA_PLANE")


def host_memory(tensor: GpuTensor) -> Storage | None:
    """The bytes of a tensor where the CPU reads them, or None if it cannot.

    The storage keeps the tensor's memory alive.

    Raises:
        RegionError: it may be a region of another tensor.
    """
    params = tensor.params
    kind = params["SHARED_MEM_TYPE"]
    if kind == "CPU_VA":
        address = tensor._memory("CPU_VA")
    elif kind == "USM_HOST_BUFFER" or (kind == "USM_USER_BUFFER" and _is_usm_of_host(tensor)):
        address = tensor._memory("MEM_HANDLE")
    else:
        return None
    return Storage(
        address=address,
        nbytes=tensor.info.nbytes,
        keep=tensor.storage,
        # The user's memory is pinned to the native object, and does not keep that alive.
        holds=tensor._held_native,
        readonly=tensor.readonly,
    )


def array_over(memory: Storage, info: TensorInfo) -> np.ndarray[Any, Any]:
    """An array with a tensor's layout over bytes that the CPU reads."""
    if info.size == 0:
        return np.empty(info.shape, info.dtype.carrier)
    flat = np.asarray(memory)
    return flat if info.dtype.packed else flat.view(info.dtype.carrier).reshape(info.shape)


def _is_usm_of_host(tensor: GpuTensor) -> bool:
    cl_context, pointer = cl_context_of(tensor.context), int(tensor.params["MEM_HANDLE"])
    return cl_context != 0 and _opencl.allocation(cl_context, pointer).kind in ("host", "shared")


class GpuFrame(Frame[GpuTensor]):
    """A frame whose planes are remote tensors. `native` is a tuple of openvino.RemoteTensor."""

    __slots__ = ()

    @property
    def native(self) -> tuple[Any, ...]:
        """An openvino.RemoteTensor for each plane, which keeps its memory alive."""
        held = read_slot(_frame_slot, self)
        return tuple([one.native if type(one) is Lease else one for one in held])

    @native.setter
    def native(self, natives: Any) -> None:
        _frame_slot.__set__(self, natives)

    def _make_planes(self) -> tuple[GpuTensor, ...]:
        return self._planes_over(read_slot(_frame_slot, self))


# The slot in which a frame keeps the native objects of its planes, or their leases.
_frame_slot: Any = Frame.native
