# SPDX-License-Identifier: Apache-2.0
"""D3DContext: a remote context of the GPU plugin that takes textures and buffers of Direct3D 11."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

from samebytes.errors import UnsupportedObjectError

from .._remote._values import info_of
from . import _properties
from ._checks import handle_of
from ._context import ClContext
from ._plans import Plan
from ._properties import buffer_in, kind_of, surface_in
from ._tensors import D3DBufferTensor, D3DSurface2DTensor, GpuTensor
from ._va import context_over, surface_pair, surface_tensor

__all__ = ["D3DContext"]


class D3DContext(ClContext):
    """A remote context over an ID3D11Device, on Windows. It does all that ClContext does, too.

    The property maps are built and checked on every system, and the context is made on Windows
    only. It has not been run on Windows. OpenVINO cannot be given the subresource of a texture
    array.
    """

    @classmethod
    def from_device(cls, device: Any, tile: int = -1, core: Any = None) -> D3DContext:
        """The context over the user's device.

        Args:
            device: an ID3D11Device* as an int, or an object that has it as `int_ptr`.
            tile: a sub-device; -1 is the whole device.
            core: an openvino.Core; by default one that samebytes keeps.

        Raises:
            PropertyError: null.
            UnsupportedObjectError: this is not Windows.
        """
        handle = handle_of(device, "VA_DEVICE", "ID3D11Device", "d3d11_device")
        if sys.platform != "win32":
            raise UnsupportedObjectError(
                "D3DContext is for Windows, where Direct3D is: use VAContext on Linux"
            )
        return context_over(D3DContext, handle, "d3d11_device", device, tile, core)

    @property
    def d3d11_device(self) -> int:
        """The ID3D11Device."""
        return self.handle("d3d11_device")

    def create_tensor(self, type: Any, shape: Any, memory: Any = None) -> GpuTensor:
        """A tensor over what ClContext.create_tensor takes.

        Maps can also be of the SHARED_MEM_TYPE VA_SURFACE and DX_BUFFER, as in C++.
        """
        if isinstance(memory, Mapping):
            kind = kind_of(memory)
            if kind == "VA_SURFACE":
                return self.create_tensor_d3d_texture(type, shape, *surface_in(memory))
            if kind == "DX_BUFFER":
                return self.create_tensor_d3d_buffer(type, shape, buffer_in(memory))
        return super().create_tensor(type, shape, memory)

    def create_tensor_d3d_buffer(self, type: Any, shape: Any, buffer: Any) -> D3DBufferTensor:
        """A tensor over an ID3D11Buffer.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
            buffer: the ID3D11Buffer*, as an int or a ctypes pointer; the caller keeps it alive.

        Raises:
            PropertyError: null.
            LayoutError, UnknownNameError: a wrong shape or type.
        """
        pointer = handle_of(buffer, "DEV_OBJECT_HANDLE", "ID3D11Buffer", "d3d11_texture")
        info, element, extents = info_of(type, shape)
        plan = Plan(_properties.d3d_buffer(pointer), buffer)
        return cast(D3DBufferTensor, self.make_tensor(plan, info, element, extents))

    def create_tensor_d3d_texture(
        self, type: Any, shape: Any, texture: Any, plane: int = 0
    ) -> D3DSurface2DTensor:
        """A tensor over a plane of an ID3D11Texture2D.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
            texture: the ID3D11Texture2D*, as an int or a ctypes pointer; the caller keeps it alive.
            plane: 0 is Y, 1 is UV.

        Raises:
            PropertyError: null, no such plane, or not its type and shape.
        """
        pointer = _texture(texture)
        return cast(D3DSurface2DTensor, surface_tensor(self, type, shape, pointer, plane, texture))

    def create_tensor_d3d_nv12(
        self, height: int, width: int, texture: Any
    ) -> tuple[D3DSurface2DTensor, D3DSurface2DTensor]:
        """The planes of an NV12 texture, [1, h, w, 1] and [1, h/2, w/2, 2].

        Args:
            height: rows.
            width: pixels in a row.
            texture: the ID3D11Texture2D*, as an int or a ctypes pointer; the caller keeps it alive.

        Raises:
            PropertyError: an odd size, or null.
        """
        pair = surface_pair(self, height, width, _texture(texture), texture)
        return cast("tuple[D3DSurface2DTensor, D3DSurface2DTensor]", pair)


def _texture(given: Any) -> int:
    return handle_of(given, "DEV_OBJECT_HANDLE", "ID3D11Texture2D", "d3d11_texture")
