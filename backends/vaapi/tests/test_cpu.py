# SPDX-License-Identifier: Apache-2.0
"""Surfaces and the CPU: mapped where the driver can, else copied, and written back."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import (
    AccessError,
    CopyRequiredError,
    NoRouteError,
    RouteError,
)
from samebytes_vaapi import VAAPIContext, VAError

Steady = Callable[[], AbstractContextManager[None]]
BACK = "vaapi -> cpu (write back)"


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    samebytes.reset_stats()


def left(wrapped: Any) -> dict[str, int]:
    """Return the numbers of images and mappings that were made and not given back."""
    count = wrapped.functions.succeeded
    made = count["vaDeriveImage"] + count["vaCreateImage"]
    return {
        "images": made - count["vaDestroyImage"],
        "mapped": count["vaMapBuffer"] - count["vaUnmapBuffer"],
    }


@pytest.mark.usefixtures("dma_plugin")
def test_a_mapping_is_the_surface(context: VAAPIContext) -> None:
    """Written on either side, read on the other, and nothing copied."""
    frame = context.allocate_frame("NV12", 38, 22)
    through = frame.map("dma", "rw").map("cpu", "rw")
    mapped = frame.map("cpu", "rw")
    mapped.native[1][...] = 5
    assert (through.native[1] == 5).all()
    through.native[0][...] = 6
    assert (mapped.native[0] == 6).all()
    assert samebytes.stats().copies == 0


def test_one_mapping_for_all_planes(wrapped: Any) -> None:
    frame = wrapped.context.allocate_frame("I420", 48, 32)
    with frame.map("cpu", "rw"):
        assert left(wrapped) == {"images": 1, "mapped": 1}
    assert left(wrapped) == {"images": 0, "mapped": 0}
    with frame.planes[2].map("cpu") as plane:
        assert plane.shape == (16, 24)
        assert not plane.native.flags.writeable
    assert left(wrapped) == {"images": 0, "mapped": 0}
    names = [name for name, _ in wrapped.functions.calls]
    assert names.index("vaSyncSurface") < names.index("vaDeriveImage")


def test_a_mapping_ends_with_its_last_array(wrapped: Any) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    mapped = frame.map("cpu", "rw")
    row = mapped.native[0][3]
    assert mapped.close() is False
    row[...] = 9
    del mapped, frame
    assert left(wrapped) == {"images": 1, "mapped": 1}
    assert (row == 9).all()
    del row
    assert left(wrapped) == {"images": 0, "mapped": 0}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"num_planes": 3}, "the driver's image has 3"),
        ({"width": 32}, "the driver reports NV12 32x32"),
        ({"data_size": 100}, "has 100 bytes"),
        ({"pitches": (ctypes.c_uint32 * 3)(32, 64, 0)}, "a row of it has 64"),
        ({"offsets": (ctypes.c_uint32 * 3)(0, 1 << 30, 0)}, "bytes, not"),
    ],
)
def test_images_that_cannot_be(wrapped: Any, change: dict[str, Any], reason: str) -> None:
    """A driver derives something odd: refused, and the image is destroyed."""

    def derive(real: Any, display: Any, surface: Any, image: Any) -> int:
        status = int(real(display, surface, image))
        for field, value in change.items():
            setattr(image._obj, field, value)
        return status

    wrapped.functions.handlers["vaDeriveImage"] = derive
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    wrapped.functions.fail("vaExportSurfaceHandle")
    with pytest.raises(CopyRequiredError) as caught:
        frame.map("cpu")
    assert reason in str(caught.value)
    assert left(wrapped) == {"images": 0, "mapped": 0}


def test_buffers_that_cannot_be_mapped(wrapped: Any) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    wrapped.functions.fail("vaExportSurfaceHandle")
    wrapped.functions.fail("vaMapBuffer", 1)
    with pytest.raises(CopyRequiredError, match="vaMapBuffer failed with 1"):
        frame.map("cpu")
    with pytest.raises(RouteError, match="vaMapBuffer failed with 1"):
        frame.map("cpu", copy=True)
    assert left(wrapped)["images"] == 0
    wrapped.functions.handlers["vaMapBuffer"] = lambda *_: 0
    with pytest.raises(RouteError, match="at a null address"):
        frame.map("cpu")
    assert left(wrapped)["images"] == 0


@pytest.mark.usefixtures("dma_plugin")
def test_flushing_a_mapping_of_the_memory(wrapped: Any) -> None:
    """Nothing to do: what was written is there."""
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    mapped = frame.map("cpu", "rw")
    mapped.native[0][...] = 3
    mapped.flush()
    assert samebytes.stats().copies == 0
    assert left(wrapped) == {"images": 1, "mapped": 1}
    assert (frame.map("dma").map("cpu").native[0] == 3).all()


@pytest.mark.usefixtures("dma_plugin")
def test_flushing_a_mapping_of_a_copy(wrapped: Any) -> None:
    """Drivers may map a copy that they take back in the end. flush() hands the bytes over, and
    the mapping stays where it is."""
    staged: list[Any] = []

    def map_copy(real: Any, display: Any, buffer: Any, address: Any) -> int:
        status = int(real(display, buffer, address))
        if not staged:  # the first mapping is the driver's own copy
            image = wrapped.functions.named("vaDeriveImage")[0][2]._obj
            staged.append(ctypes.create_string_buffer(image.data_size))
            address._obj.value = ctypes.addressof(staged[0])
        return status

    wrapped.functions.handlers["vaMapBuffer"] = map_copy
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    mapped = frame.map("cpu", "w")
    y, uv = mapped.native
    y[...], uv[...] = 4, 5
    mapped.flush()
    with frame.map("dma") as seen, seen.map("cpu") as view:
        assert [int(a.min()) for a in view.native] == [4, 5]
    assert samebytes.stats().by_edge["vaapi -> cpu (flush)"].nbytes == 64 * 32 * 3 // 2
    assert left(wrapped) == {"images": 1, "mapped": 1}
    wrapped.functions.fail("vaDeriveImage", 1)
    with pytest.raises(VAError, match="vaDeriveImage"):
        mapped.flush()
    assert (y == 4).all()


@pytest.mark.usefixtures("dma_plugin")
def test_where_deriving_is_refused(wrapped: Any) -> None:
    """Memory in rows goes by its descriptor; else a copy is asked for, with the driver's reason."""
    wrapped.functions.fail("vaDeriveImage", 1)
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "rw") as view:
        view.native[0][...] = 7
    assert (frame.map("cpu").native[0] == 7).all()
    assert samebytes.stats().copies == 0
    wrapped.functions.fail("vaExportSurfaceHandle", 20)
    with pytest.raises(CopyRequiredError, match="vaDeriveImage failed with 1: operation failed"):
        frame.map("cpu", "w")
    other = wrapped.context.allocate_frame("NV12", 64, 32)
    with pytest.raises(CopyRequiredError, match="vaExportSurfaceHandle failed with 20"):
        other.planes[0].map("cpu")


def by_copy(frame: Any, access: Any) -> Any:
    """By the edges that copy, which routes take last."""
    return frame.map("cpu", access, copy=True)


@pytest.fixture
def copying(wrapped: Any) -> Any:
    """A display whose surfaces can only be copied."""
    wrapped.functions.fail("vaDeriveImage", 1)
    wrapped.functions.fail("vaExportSurfaceHandle", 20)
    return wrapped


def test_a_copy_is_read(copying: Any) -> None:
    source = samebytes.context("cpu").allocate_frame("NV12", 38, 22)
    for number, plane in enumerate(source):
        plane.native[...] = (np.arange(plane.info.size) + number).reshape(plane.shape)
    frame = source.map(copying.context, copy=True)
    copy = by_copy(frame, "r")
    for ours, theirs in zip(source, copy, strict=True):
        np.testing.assert_array_equal(ours.native, theirs.native)
    assert copy.readonly
    assert not copy.native[0].flags.writeable
    with pytest.raises(AccessError):
        copy.map("cpu", "rw")
    assert {k: v.copies for k, v in samebytes.stats().by_edge.items()} == {
        "cpu -> vaapi": 1,
        "vaapi -> cpu": 1,
    }
    assert left(copying) == {"images": 0, "mapped": 0}
    copy.close()
    assert BACK not in samebytes.stats().by_edge


@pytest.mark.parametrize("access", ["w", "rw"])
def test_a_copy_is_written_back(copying: Any, access: Any) -> None:
    frame = copying.context.allocate_frame("NV12", 38, 22)
    copy = by_copy(frame, access)
    copy.native[0][...], copy.native[1][...] = 1, 2
    copy.flush()
    assert [int(a.max()) for a in by_copy(frame, "r").native] == [1, 2]
    copy.native[1][...] = 3
    copy.close()
    assert [int(a.max()) for a in by_copy(frame, "r").native] == [1, 3]
    assert samebytes.stats().by_edge[BACK].copies == 2
    copy = by_copy(frame, access)
    copy.native[0][...] = 8
    array = copy.native[0]
    del copy
    assert samebytes.stats().by_edge[BACK].copies == 2
    del array
    assert samebytes.stats().by_edge[BACK].copies == 3
    assert int(by_copy(frame, "r").native[0].max()) == 8
    # One for each of the three that only read; what "w" maps was undefined before.
    assert copying.functions.succeeded["vaGetImage"] == (3 if access == "w" else 5)


def test_one_plane_is_written_back(copying: Any) -> None:
    """The other planes keep what was written to them meanwhile."""
    frame = copying.context.allocate_frame("NV12", 38, 22)
    y, uv = (by_copy(plane, "rw") for plane in frame)
    y.native[...], uv.native[...] = 1, 2
    y.close()
    uv.close()
    assert [int(a.max()) for a in by_copy(frame, "r").native] == [1, 2]
    assert samebytes.stats().by_edge[BACK].nbytes == 38 * 22 + 38 * 22 // 2


def test_a_surface_waits_for_what_is_written_back(copying: Any) -> None:
    frame = copying.context.allocate_frame("NV12", 64, 32)
    copy = by_copy(frame, "rw")
    assert frame.close() is False
    assert not copying.functions.named("vaDestroySurfaces")
    copy.close()
    assert copying.functions.named("vaDestroySurfaces")


@pytest.mark.parametrize("call", ["vaCreateImage", "vaGetImage", "vaMapBuffer"])
def test_downloads_that_fail(copying: Any, call: str) -> None:
    frame = copying.context.allocate_frame("NV12", 64, 32)
    copying.functions.fail(call, 1)
    with pytest.raises(NoRouteError, match=f"{call} failed with 1"):
        by_copy(frame, "r")
    assert left(copying) == {"images": 0, "mapped": 0}
    assert samebytes.stats().copies == 0


@pytest.mark.parametrize("call", ["vaCreateSurfaces", "vaCreateImage", "vaMapBuffer", "vaPutImage"])
def test_uploads_that_fail(copying: Any, call: str) -> None:
    source = samebytes.context("cpu").allocate_frame("NV12", 64, 32)
    copying.functions.fail(call, 1)
    with pytest.raises(NoRouteError, match=f"{call} failed with 1"):
        source.map(copying.context, copy=True)
    assert left(copying) == {"images": 0, "mapped": 0}
    assert "cpu -> vaapi" not in samebytes.stats().by_edge


def test_writing_back_that_fails(copying: Any) -> None:
    frame = copying.context.allocate_frame("NV12", 64, 32)
    copy = by_copy(frame, "w")
    copying.functions.fail("vaPutImage", 0x10)
    for end in (copy.flush, copy.close):
        with pytest.raises(VAError, match="vaPutImage failed with 16"):
            end()
    assert copy.closed
    gc.collect()  # the traceback of an error is a cycle that holds what failed
    frame.close()


def test_formats_that_the_driver_does_not_transfer(copying: Any) -> None:
    def only_one(real: Any, display: Any, formats: Any, count: Any) -> int:
        status = int(real(display, formats, count))
        count._obj.value = 1
        return status

    copying.functions.handlers["vaQueryImageFormats"] = only_one
    frame = copying.context.allocate_frame("YUY2", 64, 32)
    with pytest.raises(RouteError, match="the driver does not transfer YUY2: it supports NV12"):
        by_copy(frame, "r")


def test_what_is_not_a_surface(context: VAAPIContext) -> None:
    cpu = samebytes.context("cpu")
    with pytest.raises(CopyRequiredError, match="copy=True"):
        cpu.allocate_frame("NV12", 64, 32).map(context)
    with pytest.raises(RouteError, match="image format of VA-API 'BGR'"):
        cpu.allocate_frame("BGR", 64, 32).map(context, copy=True)
    with pytest.raises(RouteError, match="at most 65535 pixels"):
        cpu.allocate_frame("GRAY8", 65536, 1).map(context, copy=True)


def test_arrays_in_any_layout_are_uploaded(context: VAAPIContext) -> None:
    pixels = np.arange(64 * 32 * 4, dtype=np.uint8).reshape(32, 64, 4)
    for array in (pixels, pixels[::-1], np.asfortranarray(pixels)):
        frame = samebytes.frame(array, format="BGRA")
        surface = frame.map(context, copy=True)
        np.testing.assert_array_equal(surface.map("cpu", copy=True).native[0], array)


def test_nothing_is_left_when_the_context_goes_first(
    wrapped: Any, no_descriptor_left: Steady
) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    copy = frame.map("cpu", "rw")
    wrapped.context.close()
    del wrapped.context, wrapped.display
    copy.native[0][...] = 1
    copy.flush()
    with no_descriptor_left():
        copy.map("cpu").close()
    copy.close()
    frame.close()
    del copy, frame
    assert left(wrapped) == {"images": 0, "mapped": 0}
    assert wrapped.functions.calls[-1][0] == "vaTerminate"
