# SPDX-License-Identifier: Apache-2.0
"""Contexts that take video surfaces: VAContext those of VA-API, D3DContext those of Direct3D 11.

The plugin has one kind of context for both, which takes a surface plane by plane.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import index
from typing import Any, TypeVar, cast, overload

import numpy as np

from samebytes import Storage, Tensor
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import bind, bytes_at

from .. import _core
from .._core import core_of
from .._errors import OpenVINOError, PropertyError, naming
from .._remote._conversions import info_of, params_of
from .._remote._lifetimes import pin
from . import _opencl, _properties
from ._checks import ZE, check_on_opencl, check_plane, handle_of
from ._context import CONTEXTS, ClContext
from ._creation import Plan, nv12_planes
from ._properties import buffer_in, kind_of, surface_in
from ._tensors import (
    ClImage2DTensor,
    D3DBufferTensor,
    D3DSurface2DTensor,
    GpuTensor,
    VASurfaceTensor,
)

__all__ = ["D3DContext", "VAContext"]

C = TypeVar("C", bound=ClContext)


def _context_over(kind: type[C], handle: int, key: str, given: Any, tile: int, core: Any) -> C:
    """The context of the plugin's kind VA_SHARED.

    Args:
        kind: its class.
        handle: a VADisplay or an ID3D11Device.
        key: of that handle in samebytes.
        given: the user's object, which the context keeps.
        tile: a sub-device, or -1.
    """
    if isinstance(tile, bool) or not isinstance(tile, int) or tile < -1:
        raise PropertyError(
            "TILE_ID", f"a tile must be a number from 0 up, or -1 for the whole GPU, not {tile!r}"
        )
    core = core_of(core)
    _check_tile(tile, core)

    def make() -> C:
        _core.check_gpu_name("GPU")
        with naming("Core.create_context"):
            native = core.create_context("GPU", _properties.va_context(handle, tile))
        # OpenVINO keeps no display.
        pin(native, Storage(keep=given))
        params = params_of(native)
        check_on_opencl(params, key)
        cl_context = int(params["OCL_CONTEXT"])
        handles = {
            "cl_context": cl_context,
            "cl_device": _opencl.context_devices(cl_context)[0],
            key: handle,
        }
        return kind(native, core, _core.gpu_device(native.get_device_name()), handles)

    found = CONTEXTS.find_or_make((key, handle, tile), make)
    assert isinstance(found, kind)  # it was found by the key of a handle of that kind
    return found


def _check_tile(tile: int, core: Any) -> None:
    """Raise PropertyError if no GPU has so many tiles. The plugin ignores those that are not there.

    Which GPU the display is on the plugin finds out, so one that any of them has will do.
    """
    if tile <= 0:
        return
    count = 1
    for name in _core.gpu_names():
        params = params_of(core.get_default_context(name))
        if params.get("CONTEXT_TYPE") == ZE:
            continue
        cl_context = int(params["OCL_CONTEXT"])
        count = max(count, *map(_opencl.tiles, _opencl.context_devices(cl_context)))
    if tile >= count:
        there = "the GPU has no tiles" if count == 1 else f"the GPU has the tiles 0 to {count - 1}"
        raise PropertyError("TILE_ID", f"there is no tile {tile}: {there}")


def _surface_tensor(
    context: ClContext, type_: Any, shape: Sequence[int], surface: int, plane: int, keep: Any
) -> GpuTensor:
    """A tensor over one plane of an NV12 surface or texture; `keep` lives as long."""
    info, element, extents = info_of(type_, shape)
    check_plane(plane, info)
    plan = Plan(_properties.surface(surface, plane), keep)
    return context.make_tensor(plan, info, element, extents)


def _surface_pair(
    context: ClContext, height: int, width: int, surface: int, keep: Any
) -> tuple[GpuTensor, GpuTensor]:
    """Tensors over both planes."""
    luma, chroma = nv12_planes(height, width)
    return (
        _surface_tensor(context, luma.dtype, luma.shape, surface, 0, keep),
        _surface_tensor(context, chroma.dtype, chroma.shape, surface, 1, keep),
    )


_VA_DISPLAY_MAGIC = 0x56414430  # "VAD0"
_BLOCK = 16
_TWO_IMAGES: Any = object()
_INVALID_SURFACE = 0xFFFFFFFF  # VA_INVALID_SURFACE of va/va.h
_INVALID = 6  # VA_STATUS_ERROR_INVALID_SURFACE
_LIBVA = "libva.so.2"
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "vaQueryVendorString": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "vaQuerySurfaceStatus": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p)),
}


class VAContext(ClContext):
    """A remote context over a VADisplay, on Linux. It does all that ClContext does, too.

    The plugin takes NV12 surfaces only, and as inputs only. At each inference the OpenCL driver
    waits until a surface is decoded (vaSyncSurface). OpenVINO keeps neither display nor surface:
    this object keeps what it was made from, a tensor what it was made over. Bare numbers must
    live as long as they do.
    """

    @classmethod
    def from_display(cls, display: Any, tile: int = -1, core: Any = None) -> VAContext:
        """The context over the user's display.

        Args:
            display: a VADisplay as an int or a PyCapsule, or a samebytes context that has one.
            tile: a sub-device, from 0 on; -1 is the whole device.
            core: an openvino.Core; by default one that samebytes keeps.

        Raises:
            PropertyError: null, not initialised or no VADisplay; or no tile of that number. A
                display that was terminated is refused if its memory shows it: libva frees it, and
                what freed memory holds is chance.
            OpenVINOError: the plugin finds no device for the display.
            UnsupportedObjectError: this is not Linux.
        """
        if sys.platform == "win32":
            raise UnsupportedObjectError("VAContext is for Linux: use D3DContext on Windows")
        pointer = handle_of(display, "VA_DEVICE", "VADisplay", "va_display")
        _check_display(pointer)
        return _context_over(VAContext, pointer, "va_display", display, tile, core)

    @property
    def display(self) -> int:
        """The VADisplay."""
        return self.handle("va_display")

    def create_tensor(
        self,
        type: Any,  # OpenVINO's word for it
        shape: Sequence[int],
        memory: Any = None,
        plane: int = 0,
    ) -> GpuTensor:
        """A tensor over a plane of a surface, or over what ClContext.create_tensor takes.

        Args:
            type: of the elements; for a surface uint8.
            shape: for a surface [1, height, width, 1] (Y) or [1, height/2, width/2, 2] (UV).
            memory: a VASurfaceID, which is any int below 2**32, or a samebytes tensor that has
                one; a map of SHARED_MEM_TYPE VA_SURFACE, DEV_OBJECT_HANDLE and VA_PLANE, as in
                C++; else as for ClContext.
            plane: of the surface: 0 for Y, 1 for UV. A map has its own.

        Raises:
            PropertyError: no such plane or surface, or not its type and shape.
            OpenVINOError: the surface is not NV12.
        """
        if isinstance(memory, Mapping) and memory.get("SHARED_MEM_TYPE") == "VA_SURFACE":
            memory, plane = surface_in(memory)
        if not _is_surface(memory):
            return super().create_tensor(type, shape, memory)
        number = _surface_of(memory)
        with self._knowing(number):
            made = _surface_tensor(self, type, shape, number, plane, memory)
        _check_size(made)
        return made

    @overload
    def create_tensor_nv12(
        self, y_image: Any, uv_image: Any, /
    ) -> tuple[ClImage2DTensor, ClImage2DTensor]: ...
    @overload
    def create_tensor_nv12(
        self, height: int, width: int, surface: Any, /
    ) -> tuple[VASurfaceTensor, VASurfaceTensor]: ...
    def create_tensor_nv12(
        self, height: Any, width: Any, surface: Any = _TWO_IMAGES, /
    ) -> tuple[ClImage2DTensor, ClImage2DTensor]:
        """The planes of an NV12 surface, [1, h, w, 1] and [1, h/2, w/2, 2].

        Args:
            height, width: of the picture in pixels, in this order; or two images, as for ClContext.
            surface: a VASurfaceID, or a samebytes tensor that has one.

        Raises:
            PropertyError: an odd size, another one than the surface has, or no such surface.
            OpenVINOError: the surface is not NV12.
        """
        if surface is _TWO_IMAGES:
            return super().create_tensor_nv12(height, width)
        number = _surface_of(surface)
        with self._knowing(number):
            pair = _surface_pair(self, height, width, number, surface)
        for made in pair:
            _check_size(made)
        return cast("tuple[VASurfaceTensor, VASurfaceTensor]", pair)

    def native_plane(self, height: int, width: int, surface: int, plane: int) -> Any:
        """The native over one plane of an NV12 surface, which it does not keep.

        Args:
            height: rows.
            width: pixels in a row.
            surface: the VASurfaceID.
            plane: 0 is Y, 1 is UV.

        Raises:
            PropertyError, OpenVINOError: as `create_tensor_nv12`.
        """
        info = nv12_planes(height, width)[plane]
        with self._knowing(surface):
            made = _surface_tensor(self, info.dtype, info.shape, surface, plane, None)
        _check_size(made)
        return made.native

    @contextmanager
    def _knowing(self, surface: int) -> Iterator[None]:
        """Say of an error of the plugin's that the surface is not there, if that is why.

        The plugin says "buffer allocation failed". libva is asked only then.
        """
        try:
            yield
        except OpenVINOError as error:
            status = ctypes.c_int()
            answer = _libva().vaQuerySurfaceStatus(self.display, surface, ctypes.byref(status))
            if answer != _INVALID:
                raise
            raise PropertyError(
                "DEV_OBJECT_HANDLE",
                f"the display {self.display:#x} has no surface {surface}: it was destroyed, or "
                "belongs to another display",
            ) from error


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
        return _context_over(D3DContext, handle, "d3d11_device", device, tile, core)

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
        return cast(D3DSurface2DTensor, _surface_tensor(self, type, shape, pointer, plane, texture))

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
        pair = _surface_pair(self, height, width, _texture(texture), texture)
        return cast("tuple[D3DSurface2DTensor, D3DSurface2DTensor]", pair)


def _check_display(pointer: int) -> None:
    """Raise PropertyError unless a VADisplay is there. Another number would end the process.

    va/va_backend.h: struct VADisplayContext begins with vadpy_magic, which is VA_DISPLAY_MAGIC.
    """
    if pointer == 0:
        raise PropertyError("VA_DEVICE", "this VADisplay is null")
    try:
        begins = bytes_at(pointer, 4)
    except OSError:
        return  # the system does not say
    if begins != _VA_DISPLAY_MAGIC.to_bytes(4, sys.byteorder):
        raise PropertyError("VA_DEVICE", f"no VADisplay is at {pointer:#x}, or it was terminated")
    # NULL until vaInitialize has opened a driver (va/va.h).
    if not _libva().vaQueryVendorString(pointer):
        raise PropertyError(
            "VA_DEVICE", f"VADisplay {pointer:#x} is not initialised: call vaInitialize() first"
        )


@cache
def _libva() -> ctypes.CDLL:
    """libva, which is in the process already, since somebody made a display."""
    found = ctypes.CDLL(_LIBVA)
    bind(found, _PROTOTYPES, plugin="openvino", library=_LIBVA, hint="install libva 2.1 or later")
    return found


def _check_size(tensor: GpuTensor) -> None:
    """Raise PropertyError unless a tensor has the size of its plane, which the plugin ignores.

    A decoder's surface may be larger than the picture, up to whole blocks of 16 pixels.
    """
    _, height, width, channels = tensor.shape
    block = _BLOCK // channels
    size = _opencl.image_size(tensor.handle("cl_mem"))
    if not all(
        n <= m <= -(-n // block) * block for n, m in zip((width, height), size, strict=True)
    ):
        raise PropertyError(
            "DEV_OBJECT_HANDLE",
            f"plane {tensor.params['VA_PLANE']} of the surface has {size[0]}x{size[1]} pixels, "
            f"but the tensor has {width}x{height}: height comes before width",
        )


def _is_surface(memory: Any) -> bool:
    if isinstance(memory, Tensor):
        return memory.find_handle("va_surface") is not None
    # Addresses are usually higher. A lower one would be refused as an unknown surface.
    return isinstance(memory, int | np.integer) and bool(memory <= _INVALID_SURFACE)


def _surface_of(given: Any) -> int:
    surface: int | None
    try:
        surface = given.find_handle("va_surface") if isinstance(given, Tensor) else index(given)
    except TypeError:
        surface = None
    if surface is None:
        advice = ": use tensor.map(context)" if isinstance(given, Tensor) else ""
        raise UnsupportedObjectError(
            "DEV_OBJECT_HANDLE: a surface is a VASurfaceID or a samebytes tensor that has one, not "
            f"{given!r}{advice}"
        )
    if not 0 <= surface < _INVALID_SURFACE:
        raise PropertyError("DEV_OBJECT_HANDLE", f"{surface} is not a VASurfaceID")
    return surface


def _texture(given: Any) -> int:
    return handle_of(given, "DEV_OBJECT_HANDLE", "ID3D11Texture2D", "d3d11_texture")
