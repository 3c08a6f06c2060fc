# SPDX-License-Identifier: Apache-2.0
"""The common parts of the contexts that share video surfaces: VAContext and D3DContext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from samebytes import Storage

from .._core import core_of
from .._errors import PropertyError, naming
from .._remote._pins import pin
from .._remote._values import info_of, params_of
from . import _devices, _opencl, _properties
from ._checks import ZE, check_on_opencl, check_plane
from ._context import CONTEXTS, ClContext
from ._creation import nv12_planes
from ._plans import Plan
from ._tensors import GpuTensor

__all__ = ["context_over", "surface_pair", "surface_tensor"]

C = TypeVar("C", bound=ClContext)


def context_over(kind: type[C], handle: int, key: str, given: Any, tile: int, core: Any) -> C:
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
        _devices.check_name("GPU")
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
        return kind(native, core, _devices.device_of(native.get_device_name()), handles)

    found = CONTEXTS.find_or_make((key, handle, tile), make)
    assert isinstance(found, kind)  # the key of the handle says so
    return found


def _check_tile(tile: int, core: Any) -> None:
    """Raise PropertyError if no GPU has so many tiles. The plugin ignores those that are not there.

    Which GPU the display is on the plugin finds out, so one that any of them has will do.
    """
    if tile <= 0:
        return
    count = 1
    for name in _devices.names():
        params = params_of(core.get_default_context(name))
        if params.get("CONTEXT_TYPE") == ZE:
            continue
        cl_context = int(params["OCL_CONTEXT"])
        count = max(count, *map(_opencl.tiles, _opencl.context_devices(cl_context)))
    if tile >= count:
        there = "the GPU has no tiles" if count == 1 else f"the GPU has the tiles 0 to {count - 1}"
        raise PropertyError("TILE_ID", f"there is no tile {tile}: {there}")


def surface_tensor(
    context: ClContext, type_: Any, shape: Sequence[int], surface: int, plane: int, keep: Any
) -> GpuTensor:
    """A tensor over one plane of an NV12 surface or texture; `keep` lives as long."""
    info, element, extents = info_of(type_, shape)
    check_plane(plane, info)
    plan = Plan(_properties.surface(surface, plane), keep)
    return context.make_tensor(plan, info, element, extents)


def surface_pair(
    context: ClContext, height: int, width: int, surface: int, keep: Any
) -> tuple[GpuTensor, GpuTensor]:
    """Tensors over both planes."""
    luma, chroma = nv12_planes(height, width)
    return (
        surface_tensor(context, luma.dtype, luma.shape, surface, 0, keep),
        surface_tensor(context, chroma.dtype, chroma.shape, surface, 1, keep),
    )
