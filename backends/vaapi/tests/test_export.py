# SPDX-License-Identifier: Apache-2.0
"""Surfaces to DMA-BUFs: where planes lie, who owns descriptors, and what drivers may refuse."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import AccessError, RouteError
from samebytes.formats import DRM_FORMAT_MOD_INVALID
from samebytes_vaapi import VAAPIContext

pytestmark = pytest.mark.usefixtures("dma_plugin")

Steady = Callable[[], AbstractContextManager[None]]
Y_TILED = (1 << 56) | 2  # I915_FORMAT_MOD_Y_TILED of drm_fourcc.h

# VA_EXPORT_SURFACE_... of va/va.h, for vaExportSurfaceHandle().
_READ_ONLY, _WRITE_ONLY, _READ_WRITE, _COMPOSED_LAYERS = 1, 2, 3, 8

P010 = int.from_bytes(b"P010", "little")


def inode(frame: Frame, plane: int = 0) -> int:
    return os.fstat(frame.planes[plane].handle("dma_fd")).st_ino


def to_dma(frame: Frame, access: Any = "r") -> Frame:
    """By that edge alone: routes would go on to others where it refuses."""
    return frame.map("dma", access)


def changed(change: Callable[[Any], None]) -> Callable[..., int]:
    """A driver that exports something else than libva's driver did."""

    def export(real: Any, display: Any, surface: Any, kind: Any, flags: Any, out: Any) -> int:
        status: int = real(display, surface, kind, flags, out)
        if status == 0:
            change(out._obj)
        return status

    return export


@pytest.mark.parametrize("name", ["NV12", "P010", "I420", "BGRX", "RGBP", "YUY2"])
def test_planes_are_where_the_driver_says(wrapped: Any, name: str) -> None:
    said: list[Any] = []
    wrapped.functions.handlers["vaExportSurfaceHandle"] = changed(said.append)
    frame = wrapped.context.allocate_frame(name, 38, 22)
    mapped = to_dma(frame, "rw")
    layers = said[-1].layers[: said[-1].num_layers]
    expected = [
        (layer.offset[n], layer.pitch[n]) for layer in layers for n in range(layer.num_planes)
    ]
    found = [(p.handle("offset"), p.handle("pitch")) for p in mapped]
    assert found == expected
    assert all(p.handle("drm_modifier") == 0 for p in mapped)
    for plane, source in zip(mapped, frame, strict=True):
        assert (plane.shape, plane.dtype) == (source.shape, source.dtype)
        assert plane.strides is not None
        assert plane.strides[0] == plane.handle("pitch")


def test_the_same_memory_from_both_sides(context: VAAPIContext) -> None:
    """Written by the descriptor, read by VA-API, and the other way."""
    samebytes.reset_stats()
    frame = context.allocate_frame("NV12", 38, 22)
    mapped = to_dma(frame, "rw")
    with mapped.map("cpu", "w") as view:
        view.native[0][...], view.native[1][...] = 41, 42
    assert {int(v.max()) for v in frame.map("cpu", copy=True).native} == {41, 42}
    with frame.map("cpu", "rw") as seen:
        seen.native[1][...] = 43
    assert (mapped.map("cpu").native[1] == 43).all()
    assert samebytes.stats().copies == 0


def test_planes_share_one_buffer(context: VAAPIContext) -> None:
    frame = context.allocate_frame("NV12", 64, 32)
    y, uv = to_dma(frame).native
    assert y.buffer is uv.buffer
    alone = frame.planes[1].map("dma")
    assert alone.native is uv
    assert alone.handle("offset") == uv.offset


def test_again_it_has_the_same_descriptor(
    context: VAAPIContext, no_descriptor_left: Steady
) -> None:
    """By the storage and descriptor others know what they imported. All end with the surface."""
    with no_descriptor_left():
        frame = context.allocate_frame("NV12", 64, 32)
        first, second = to_dma(frame), to_dma(frame)
        assert first.planes[0].handle("dma_fd") == second.planes[0].handle("dma_fd")
        assert first.storage is second.storage is frame.storage
        assert inode(to_dma(frame, "rw")) == inode(first)
        first.close()
        del second
        frame.close()


def test_several_objects(wrapped: Any, no_descriptor_left: Steady) -> None:
    """Each plane in its own object, with its own descriptor, offset and modifier."""

    def split(out: Any) -> None:
        out.num_objects = 2
        out.objects[1] = out.objects[0]
        out.objects[1].fd = os.dup(out.objects[0].fd)
        layer = out.layers[out.num_layers - 1]
        layer.object_index[layer.num_planes - 1] = 1

    wrapped.functions.handlers["vaExportSurfaceHandle"] = changed(split)
    with no_descriptor_left():
        frame = wrapped.context.allocate_frame("NV12", 64, 32)
        mapped = to_dma(frame, "rw")
        y, uv = mapped.native
        assert y.buffer is not uv.buffer
        assert y.buffer.fileno() != uv.buffer.fileno()
        with mapped.map("cpu", "w") as view:
            view.native[1][...] = 9
        assert (frame.map("cpu").native[1] == 9).all()
        assert frame.close() is False
        del y, uv, view
        mapped.close()


def test_objects_that_are_one_descriptor(wrapped: Any) -> None:
    """One number, said twice, is closed once."""

    def repeat(out: Any) -> None:
        out.num_objects = 2
        out.objects[1] = out.objects[0]

    wrapped.functions.handlers["vaExportSurfaceHandle"] = changed(repeat)
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    for _ in range(2):  # the first time, routing looks for other ways
        gc.collect()
        before = sorted(Path("/proc/self/fd").iterdir())
        with pytest.raises(RouteError, match="exported 2 objects"):
            to_dma(frame)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda out: setattr(out, "fourcc", int.from_bytes(b"P010", "little")),
            "reports P010 64x32",
        ),
        (lambda out: setattr(out, "width", 63), "reports NV12 63x32"),
        (lambda out: setattr(out, "height", 16), "reports NV12 64x16"),
        (lambda out: setattr(out, "num_layers", 0), "exported 0 in"),
        (lambda out: setattr(out.layers[0], "num_planes", 4), "compressed surfaces"),
        (lambda out: setattr(out, "num_objects", 9), "exported 9 objects"),
        (
            lambda out: setattr(out.objects[0], "drm_format_modifier", DRM_FORMAT_MOD_INVALID),
            "does not say how the memory is laid out",
        ),
        (lambda out: out.layers[0].pitch.__setitem__(0, 32), "a row of it has 64"),
        (lambda out: out.layers[0].offset.__setitem__(1, 1 << 24), "of a buffer of"),
        (lambda out: out.layers[0].object_index.__setitem__(1, 3), "cannot be shared"),
    ],
)
def test_what_cannot_be(wrapped: Any, change: Any, reason: str, no_descriptor_left: Steady) -> None:
    """A driver says something odd: refused with the reason, and no descriptor stays open."""

    def composed_only(
        real: Any, display: Any, surface: Any, kind: Any, flags: Any, out: Any
    ) -> int:
        status: int = real(display, surface, kind, flags, out)
        change(out._obj)
        return status

    wrapped.functions.handlers["vaExportSurfaceHandle"] = composed_only
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    with pytest.raises(RouteError) as caught:
        to_dma(frame)
    assert reason in str(caught.value)
    if "9 objects" not in reason:  # then nobody knows what of it is a descriptor
        with no_descriptor_left(), pytest.raises(RouteError):
            to_dma(frame)


def test_refused_exports_leave_no_descriptor(wrapped: Any, no_descriptor_left: Steady) -> None:
    wrapped.functions.fail("vaExportSurfaceHandle", 20)
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    with no_descriptor_left():
        with pytest.raises(RouteError, match="vaExportSurfaceHandle failed with 20"):
            to_dma(frame)
        with pytest.raises(RouteError, match="vaExportSurfaceHandle"):
            frame.planes[0].map("dma")


def test_an_export_that_the_other_plugin_refuses(wrapped: Any, no_descriptor_left: Steady) -> None:
    """A driver that hands out a pipe: it is closed, too."""

    def replace(out: Any) -> None:
        os.close(out.objects[0].fd)
        reading, writing = os.pipe()
        os.close(writing)
        out.objects[0].fd = reading

    wrapped.functions.handlers["vaExportSurfaceHandle"] = changed(replace)
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    with no_descriptor_left(), pytest.raises(RouteError, match="a pipe"):
        to_dma(frame)


def test_drivers_with_separate_layers_alone(wrapped: Any) -> None:
    def separate(real: Any, display: Any, surface: Any, kind: Any, flags: Any, out: Any) -> int:
        if flags & _COMPOSED_LAYERS:
            return 6
        return int(real(display, surface, kind, flags, out))

    wrapped.functions.handlers["vaExportSurfaceHandle"] = separate
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "w") as view:
        view.native[0][...], view.native[1][...] = 1, 2
    assert [int(v.max()) for v in to_dma(frame).map("cpu").native] == [1, 2]


@pytest.mark.parametrize(
    ("access", "flag"),
    [
        ("r", _READ_ONLY),
        ("w", _WRITE_ONLY),
        ("rw", _READ_WRITE),
    ],
)
def test_access(wrapped: Any, access: Any, flag: int) -> None:
    mapped = to_dma(wrapped.context.allocate_frame("NV12", 64, 32), access)
    ((_, _, _, flags, _),) = wrapped.functions.named("vaExportSurfaceHandle")
    assert flags & _READ_WRITE == flag
    assert mapped.readonly == (access == "r")
    if access == "r":
        with pytest.raises(AccessError):
            mapped.map("cpu", "rw")


def test_rendering_ends_before_each_export(wrapped: Any) -> None:
    """Also where the descriptor is known already."""
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    calls = wrapped.functions.calls
    for _ in range(2):
        calls.clear()
        to_dma(frame)
        names = [name for name, _ in calls]
        assert names[0] == "vaSyncSurface"
    assert names == ["vaSyncSurface"]


def test_tiled_surfaces(software: Callable[..., VAAPIContext], no_descriptor_left: Steady) -> None:
    """All 64 bits of the modifier arrive, and nobody reads tiles as rows."""
    context = software(SOFTVA_TILING="y")
    with no_descriptor_left():
        frame = context.allocate_frame("NV12", 128, 32)
        mapped = to_dma(frame, "rw")
        assert [p.handle("drm_modifier") for p in mapped] == [Y_TILED, Y_TILED]
        assert all(p.strides is None for p in mapped)
        assert all(p.handle("pitch") >= 128 for p in mapped)
        with pytest.raises(RouteError, match="not linear"):
            mapped.map("cpu")
        same = mapped.map(context, "rw")
        cpu = samebytes.context("cpu").allocate_frame("NV12", 128, 32)
        cpu.planes[0].native[...] = np.arange(128, dtype=np.uint8)
        with frame.map("cpu", "w", copy=True) as view:
            view.native[0][...] = cpu.planes[0].native
        np.testing.assert_array_equal(same.map("cpu", copy=True).native[0], cpu.planes[0].native)
        del mapped, same, frame, view


def test_each_plane_in_an_object(
    software: Callable[..., VAAPIContext], no_descriptor_left: Steady
) -> None:
    context = software(SOFTVA_OBJECTS="separate", SOFTVA_PITCH_ALIGN="256")
    with no_descriptor_left():
        frame = context.allocate_frame("I420", 48, 32)
        mapped = to_dma(frame, "rw")
        assert len({inode(mapped, n) for n in range(3)}) == 3
        assert [p.handle("pitch") for p in mapped] == [256, 256, 256]
        with mapped.map("cpu", "w") as view:
            for number in range(3):
                view.native[number][...] = number + 1
        again = mapped.map(context)
        assert [int(v.max()) for v in again.map("cpu", copy=True).native] == [1, 2, 3]
        again.close()
        mapped.close()
        frame.close()
