# SPDX-License-Identifier: Apache-2.0
"""Tensors in a remote context of the GPU plugin, by what they were made over."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from samebytes.errors import NotHostVisibleError, UnsupportedObjectError
from samebytes.plugins import Storage, TensorInfo

from .._remote._tensor import RemoteTensor, layout_of
from . import _opencl

__all__ = [
    "ClBufferTensor",
    "ClImage2DTensor",
    "D3DBufferTensor",
    "D3DSurface2DTensor",
    "GpuTensor",
    "USMTensor",
    "VASurfaceTensor",
    "array_over",
    "host_memory",
    "specific",
]

T = TypeVar("T", bound="GpuTensor")
Params = Mapping[str, int | str]

_OPAQUE = ("OCL_IMAGE2D", "VA_SURFACE")
_USM = ("USM_USER_BUFFER", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER")


class GpuTensor(RemoteTensor):
    """A tensor in a remote context of the GPU plugin. `native` is an openvino.RemoteTensor.

    What a mapping gives is of this class: `is_` tells of which of its subclasses it can be, and
    `as_` makes it one.

    Class attributes:
        kinds: the values of SHARED_MEM_TYPE that a class stands for.
        keys: the properties that such a tensor must have.
        opaque: the memory has no linear layout.
    """

    __slots__ = ()

    opaque: ClassVar[bool] = False
    kinds: ClassVar[Collection[str]] = ()
    keys: ClassVar[Collection[str]] = ("MEM_HANDLE",)

    @classmethod
    def matches(cls, params: Params) -> bool:
        """Whether a tensor with those properties is of this class, as C++'s type_check says."""
        if cls is GpuTensor:
            return True
        return params.get("SHARED_MEM_TYPE") in cls.kinds and all(k in params for k in cls.keys)

    def is_(self, *kinds: type[GpuTensor]) -> bool:
        """Whether this tensor can be used as one of these classes."""
        params = self.params
        return any(kind.matches(params) for kind in kinds)

    @overload
    def as_(self) -> GpuTensor: ...
    @overload
    def as_(self, kind: type[T]) -> T: ...
    def as_(self, kind: type[GpuTensor] | None = None) -> GpuTensor:
        """This very tensor as one of that class; without one, of the most specific one.

        Raises:
            UnsupportedObjectError: it is of another kind.
        """
        params = self.params
        if kind is None:
            kind = specific(params, sys.platform == "win32")
        if not kind.matches(params):
            raise UnsupportedObjectError(
                f"SHARED_MEM_TYPE: a tensor over {params.get('SHARED_MEM_TYPE')} is no "
                f"{kind.__name__}"
            )
        return kind(
            self.native, self.context, self.storage, self.parent, self.readonly, self.given_info
        )

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over USM of the host, shared USM, or memory of the CPU.

        It keeps the tensor's memory alive. Nothing is waited for: see `wait`, or use map("cpu").

        Raises:
            NotHostVisibleError: the memory is a buffer, an image, a surface or USM of the device.
        """
        memory = host_memory(self)
        if memory is None:
            raise NotHostVisibleError(
                f"{self.params['SHARED_MEM_TYPE']} memory cannot be read by the CPU where it "
                "lies: use tensor.map('cpu', copy=True)"
            )
        return array_over(memory, self.info)

    def _describe(self) -> TensorInfo:
        opaque = self.params["SHARED_MEM_TYPE"] in _OPAQUE
        return TensorInfo(*layout_of(self.native), opaque=opaque)

    def _handle(self, key: str) -> int:
        params = self.params
        kind = params["SHARED_MEM_TYPE"]
        if key == "cl_mem" and kind not in _USM:
            return int(params["MEM_HANDLE"])
        if key == "usm_ptr" and kind in _USM:
            return int(params["MEM_HANDLE"])
        if key == "va_surface" and VASurfaceTensor.matches(params):
            return int(params["DEV_OBJECT_HANDLE"])
        if key == "plane_index" and kind == "VA_SURFACE":
            return int(params["VA_PLANE"])
        return super()._handle(key)

    def _param(self, key: str) -> int:
        return int(self.params[key])


class ClBufferTensor(GpuTensor):
    """A tensor over a cl_mem buffer: the user's, the plugin's own, or one over other memory."""

    __slots__ = ()

    kinds: ClassVar[Collection[str]] = ("OCL_BUFFER", "CPU_VA", "BUFFER_FROM_HANDLE", "DX_BUFFER")

    def get(self) -> int:
        """The cl_mem. It stays the tensor's: retain it to keep it."""
        return self._param("MEM_HANDLE")


class ClImage2DTensor(GpuTensor):
    """A tensor over a two-dimensional image: a plane of NV12 or I420."""

    __slots__ = ()

    opaque = True
    kinds: ClassVar[Collection[str]] = _OPAQUE

    def get(self) -> int:
        """The cl_mem. It stays the tensor's: retain it to keep it."""
        return self._param("MEM_HANDLE")


class USMTensor(GpuTensor):
    """A tensor over unified shared memory."""

    __slots__ = ()

    kinds = _USM

    def get(self) -> int:
        """The pointer. It is valid in this cl_context, while the tensor lives."""
        return self._param("MEM_HANDLE")


class VASurfaceTensor(ClImage2DTensor):
    """A tensor over a plane of a VA-API surface. The surface stays the user's."""

    __slots__ = ()

    kinds = ("VA_SURFACE",)
    keys = ("MEM_HANDLE", "DEV_OBJECT_HANDLE", "VA_PLANE")

    @property
    def surface(self) -> int:
        """The VASurfaceID."""
        return self._param("DEV_OBJECT_HANDLE")

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
        return self._param("DEV_OBJECT_HANDLE")


class D3DSurface2DTensor(ClImage2DTensor):
    """A tensor over a plane of an ID3D11Texture2D, on Windows."""

    __slots__ = ()

    kinds = ("VA_SURFACE",)
    keys = ("MEM_HANDLE", "DEV_OBJECT_HANDLE", "VA_PLANE")

    @property
    def texture(self) -> int:
        """The ID3D11Texture2D."""
        return self._param("DEV_OBJECT_HANDLE")

    @property
    def plane(self) -> int:
        """0 for Y, 1 for UV."""
        return self._param("VA_PLANE")


def specific(params: Params, windows: bool) -> type[GpuTensor]:
    """The most specific class of a tensor with those properties."""
    d3d, va = (D3DBufferTensor, D3DSurface2DTensor), (VASurfaceTensor,)
    choices = (*(d3d if windows else va), USMTensor, ClImage2DTensor, ClBufferTensor)
    return next((kind for kind in choices if kind.matches(params)), GpuTensor)


def host_memory(tensor: GpuTensor) -> Storage | None:
    """The bytes of a tensor where the CPU reads them, or None where it cannot.

    The storage keeps the tensor's memory alive.
    """
    params = tensor.params
    kind = params["SHARED_MEM_TYPE"]
    if kind == "CPU_VA":
        address = int(params["CPU_VA"])
    elif kind == "USM_HOST_BUFFER" or (kind == "USM_USER_BUFFER" and _is_usm_of_host(tensor)):
        address = int(params["MEM_HANDLE"])
    else:
        return None
    return Storage(
        # Memory of the user's is pinned to the native object, and does not keep it.
        partial(_let_go, tensor.native),
        address=address,
        nbytes=tensor.info.nbytes,
        keep=tensor.storage,
        readonly=tensor.readonly,
    )


def array_over(memory: Storage, info: TensorInfo) -> np.ndarray[Any, Any]:
    """The array of a layout over bytes that the CPU reads."""
    if info.size == 0:
        return np.empty(info.shape, info.dtype.carrier)
    flat = np.asarray(memory)
    return flat if info.dtype.packed else flat.view(info.dtype.carrier).reshape(info.shape)


def _is_usm_of_host(tensor: GpuTensor) -> bool:
    cl_context, pointer = tensor.context.handle("cl_context"), int(tensor.params["MEM_HANDLE"])
    return _opencl.allocation(cl_context, pointer).kind in ("host", "shared")


def _let_go(native: object) -> None:
    """Nothing: whoever will call this holds `native` until then."""
