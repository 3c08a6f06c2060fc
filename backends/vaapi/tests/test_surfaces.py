# SPDX-License-Identifier: Apache-2.0
"""Surfaces: allocated, wrapped, handed over by other plugins; and bad ids, sizes and formats."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import samebytes
from samebytes import ImageInfo, TensorInfo
from samebytes.errors import (
    ClosedError,
    LayoutError,
    NotHostVisibleError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_vaapi import VAAPIContext, VAError, VAPlane, VASurface

NV12 = ImageInfo.of("NV12", 64, 32)


def test_planes_are_opaque(context: VAAPIContext) -> None:
    frame = context.allocate_frame("NV12", 64, 32)
    y, uv = frame.planes
    assert y.info == TensorInfo("uint8", (32, 64), opaque=True)
    assert uv.info == TensorInfo("uint8", (16, 32, 2), opaque=True)
    assert y.strides is None
    for number, plane in enumerate(frame):
        assert plane.handle("va_surface") == plane.handle() == frame.native.id
        assert plane.handle("plane_index") == number
        with pytest.raises(NotHostVisibleError):
            plane.handle("data")
        with pytest.raises(UnknownNameError):
            plane.handle("dma_fd")
    assert frame.handle("va_surface") == frame.native.id
    with pytest.raises(UnknownNameError):
        frame.handle("gst_buffer")
    assert frame.native.display == context.handle("va_display")


def test_destroyed_with_its_last_holder(wrapped: Any) -> None:
    destroyed = wrapped.functions.named
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    native, plane = frame.native, frame.planes[0]
    assert frame.close() is False
    assert plane.closed
    assert not destroyed("vaDestroySurfaces")
    del native
    assert len(destroyed("vaDestroySurfaces")) == 1


def test_busy_with_planes_closed_before(context: VAAPIContext) -> None:
    frame = context.allocate_frame("NV12", 64, 32)
    view = frame.map("cpu")
    for plane in frame.planes:
        plane.close()
    assert frame.close() is False
    assert view.close() is True


def test_destroyed_once_when_destroying_fails(wrapped: Any) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    wrapped.functions.fail("vaDestroySurfaces", 1)
    with pytest.raises(VAError, match="vaDestroySurfaces failed with 1: operation failed"):
        frame.close()
    del wrapped.functions.handlers["vaDestroySurfaces"]
    assert frame.closed
    del frame, wrapped.context, wrapped.display
    assert len(wrapped.functions.named("vaDestroySurfaces")) == 1


def test_waiting(wrapped: Any) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    frame.wait()
    frame.planes[1].wait()
    frame.map("vaapi", "rw").wait()
    assert (
        wrapped.functions.named("vaSyncSurface") == [(wrapped.display.pointer, frame.native.id)] * 3
    )
    wrapped.functions.fail("vaSyncSurface", 0x17)
    with pytest.raises(VAError, match="vaSyncSurface failed with 23") as caught:
        frame.wait()
    assert (caught.value.call, caught.value.code) == ("vaSyncSurface", 23)
    assert caught.value.status


def test_wrapped_ids(context: VAAPIContext) -> None:
    """The user's surface: never destroyed here, and what destroys it is kept."""

    class Owner:
        """A stand-in for the object that destroys the surface."""

    frame, owner = context.allocate_frame("NV12", 64, 32), Owner()
    wrapped = context.surface(frame.native.id, "nv12", 64, 32, keep=owner)
    assert wrapped.image == NV12
    with frame.map("cpu", "w") as view:
        view.native[0][...] = 3
    assert (wrapped.map("cpu").native[0] == 3).all()
    again = samebytes.frame(wrapped.native)
    assert again.native is wrapped.native
    assert samebytes.tensor(wrapped.planes[1].native).handle("plane_index") == 1
    wrapped.close()
    again.close()
    frame.wait()
    frame.close()


def test_ids_that_are_none(context: VAAPIContext) -> None:
    for wrong in (-1, 0xFFFFFFFF, 1 << 32, "1", None):
        with pytest.raises(LayoutError, match="is not a VASurfaceID"):
            context.surface(wrong, "NV12", 64, 32)  # type: ignore[arg-type]  # that is the point
    for unknown in (0, 0xFFFFFFF0):
        with pytest.raises(VAError, match="vaQuerySurfaceStatus failed with 6"):
            context.surface(unknown, "NV12", 64, 32)


def test_a_surface_of_another_display(context: VAAPIContext, software: Any) -> None:
    other = software()
    frame = other.allocate_frame("NV12", 64, 32)
    with pytest.raises(VAError, match="invalid VASurfaceID"):
        context.surface(frame.native.id, "NV12", 64, 32)


@pytest.mark.usefixtures("dma_plugin")
def test_a_destroyed_surface(wrapped: Any) -> None:
    """The user destroyed it too early: errors, and no crash."""
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    borrowed = wrapped.context.surface(frame.native.id, "NV12", 64, 32)
    frame.close()
    for use in (borrowed.wait, borrowed.native.sync):
        with pytest.raises(VAError, match="invalid VASurfaceID"):
            use()
    for target in ("cpu", "dma"):
        with pytest.raises(RouteError, match="invalid VASurfaceID"):
            borrowed.map(target)
    with pytest.raises(RouteError, match="invalid VASurfaceID"):
        borrowed.map("cpu", copy=True)
    borrowed.close()


@pytest.mark.usefixtures("dma_plugin")
@pytest.mark.parametrize("wrong", [("P010", 64, 32), ("NV12", 128, 32), ("NV12", 64, 4096)])
def test_wrapped_as_something_else(context: VAAPIContext, wrong: Any) -> None:
    """Wrong format or size: it is seen before a byte is touched."""
    frame = context.allocate_frame("NV12", 64, 32)
    lie = context.surface(frame.native.id, *wrong, keep=frame)
    for target in ("cpu", "dma"):
        with pytest.raises(RouteError, match="the driver reports NV12 64x32"):
            lie.map(target)


def test_a_picture_smaller_than_its_surface(context: VAAPIContext) -> None:
    """As decoders have them: 1080 rows in a surface of 1088."""
    frame = context.allocate_frame("NV12", 64, 48)
    part = context.surface(frame.native.id, "NV12", 60, 40, keep=frame)
    with part.map("cpu", "w") as view:
        assert view.native[0].shape == (40, 60)
        view.native[0][...], view.native[1][...] = 1, 2
    with frame.map("cpu") as whole:
        assert int(whole.native[0][:40, :60].min()) == 1
        assert not whole.native[0][40:].any()
        assert not whole.native[1][20:].any()


def test_formats_and_sizes_that_are_none(context: VAAPIContext) -> None:
    with pytest.raises(UnknownNameError, match="image format of VA-API 'BGR'"):
        context.allocate_frame("BGR", 64, 32)
    with pytest.raises(UnknownNameError, match="image format of VA-API 'BGR'"):
        context.import_surface(1, ImageInfo.of("BGR", 64, 32), keep=None)
    for size in ((0, 32), (64, -1), (65536, 32), (64, 1 << 40)):
        with pytest.raises(LayoutError):
            context.allocate_frame("NV12", *size)
    for modifiers in ((-1,), (1 << 64,), ("linear",)):
        with pytest.raises(LayoutError, match="a DRM modifier must be"):
            context.allocate_frame("NV12", 64, 32, modifiers=modifiers)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(UnsupportedObjectError, match="cannot allocate"):
        context.allocate((4, 4))


def test_drivers_that_refuse(wrapped: Any) -> None:
    wrapped.functions.fail("vaCreateSurfaces", 0xE)
    with pytest.raises(VAError) as caught:
        wrapped.context.allocate_frame("NV12", 64, 32)
    assert str(caught.value).startswith("vaCreateSurfaces failed with 14: ")
    assert caught.value.code == 0xE


class ModifierList(ctypes.Structure):
    """VADRMFormatModifierList of va_drmcommon.h."""

    _fields_ = (("count", ctypes.c_uint32), ("modifiers", ctypes.POINTER(ctypes.c_uint64)))


@pytest.mark.usefixtures("dma_plugin")
def test_modifiers_are_asked_for(wrapped: Any, context: VAAPIContext) -> None:
    seen: list[tuple[int, ...]] = []

    def look(real: Any, *arguments: Any) -> int:
        for attribute in arguments[6][: arguments[7]]:
            if attribute.type == 9:
                asked = ModifierList.from_address(attribute.value.value.p)
                seen.append(tuple(asked.modifiers[: asked.count]))
        return int(real(*arguments))

    wrapped.functions.handlers["vaCreateSurfaces"] = look
    wrapped.context.allocate_frame("NV12", 64, 32, modifiers=(0, (1 << 56) | 2))
    assert seen == [(0, (1 << 56) | 2)]
    frame = context.allocate_frame("NV12", 64, 32, modifiers=(0,))
    assert frame.map("dma").planes[0].handle("drm_modifier") == 0


def test_a_closed_context(context: VAAPIContext, software: Any) -> None:
    other = software()
    frame = other.allocate_frame("NV12", 64, 32)
    native = frame.native
    other.close()
    with pytest.raises(ClosedError):
        other.allocate_frame("NV12", 64, 32)
    frame.map("cpu").close()
    frame.wait()
    assert isinstance(native, VASurface)
    assert VAPlane(native, 1).info.shape == (16, 32, 2)
    del native
    frame.close()
    del context


@pytest.mark.usefixtures("dma_plugin")
def test_no_plane_is_mapped_alone_to_a_surface(context: VAAPIContext) -> None:
    plane = samebytes.context("dma:memfd").allocate((32, 64))
    with pytest.raises(RouteError):
        plane.map(context)
