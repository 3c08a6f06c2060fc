# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs to surfaces: offsets, pitches, modifiers, several buffers; and bad descriptors."""

from __future__ import annotations

import ctypes
import gc
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, ImageInfo, TensorInfo
from samebytes.errors import AccessError, RouteError
from samebytes_vaapi import VAAPIContext

# va/va.h and va/va_drmcommon.h: VASurfaceAttribType, and VA_SURFACE_ATTRIB_MEM_TYPE_*.
MEMORY_TYPE, EXTERNAL_BUFFER_DESCRIPTOR = 6, 7
DRM_PRIME, DRM_PRIME_2 = 0x20000000, 0x40000000

samebytes_dma: Any = pytest.importorskip(
    "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
)

Steady = Callable[[], AbstractContextManager[None]]
Buffer = Callable[..., int]
NV12 = ImageInfo.of("NV12", 64, 32)
Y_TILED = (1 << 56) | 2


@pytest.fixture
def memfd() -> Iterator[Buffer]:
    """Makes memfds of a size in bytes, which the test owns; they are closed after it."""
    made: list[int] = []

    def make(size: int = 16384) -> int:
        made.append(os.memfd_create("test"))
        os.ftruncate(made[-1], size)
        return made[-1]

    yield make
    for fd in made:
        os.close(fd)


def nv12(fds: tuple[int, int], offsets: tuple[int, int], pitches: tuple[int, int]) -> Frame:
    made: Frame = samebytes_dma.frame_from_fds(
        fds, "NV12", 64, 32, offsets=offsets, pitches=pitches
    )
    return made


def descriptors(arguments: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The arguments of vaCreateSurfaces: the number of buffers, the modifier of the first one."""
    # VADRMPRIMESurfaceDescriptor: num_objects and objects[0].drm_format_modifier.
    return [
        struct.unpack("=12xI8xQ", ctypes.string_at(a.value.value.p, 32))
        for a in arguments[6][: arguments[7]]
        if a.type == EXTERNAL_BUFFER_DESCRIPTOR
    ]


def memory_types(wrapped: Any) -> list[int]:
    """The kinds of memory that vaCreateSurfaces was asked for."""
    found = []
    for *_, attributes, count in wrapped.functions.named("vaCreateSurfaces"):
        found += [a.value.value.i for a in attributes[:count] if a.type == MEMORY_TYPE]
    return found


def test_offsets_and_pitches_of_each_plane(context: VAAPIContext, memfd: Buffer) -> None:
    fd = memfd()
    source = nv12((fd, fd), (512, 8192), (128, 192))
    surface = source.map(context, "rw")
    with source.map("cpu", "w") as view:
        view.native[0][...] = np.arange(64, dtype=np.uint8)
        view.native[1][...] = 77
    y, uv = surface.map("cpu", copy=True).native
    np.testing.assert_array_equal(y, np.tile(np.arange(64, dtype=np.uint8), (32, 1)))
    assert (uv == 77).all()
    with surface.map("cpu", "rw", copy=True) as back:
        back.native[1][...] = 78
    assert (source.map("cpu").native[1] == 78).all()
    assert os.pread(fd, 1, 8192 + 64) == b"\0", "the padding is nobody's"


def test_several_buffers(context: VAAPIContext, memfd: Buffer) -> None:
    source = nv12((memfd(4096), memfd(8192)), (0, 4096), (64, 64))
    surface = source.map(context)
    with source.map("cpu", "w") as view:
        view.native[0][...], view.native[1][...] = 3, 4
    assert [int(a.max()) for a in surface.map("cpu", copy=True).native] == [3, 4]


def test_descriptors_of_one_buffer_are_one_object(wrapped: Any, memfd: Buffer) -> None:
    seen: list[int] = []

    def look(real: Any, *arguments: Any) -> int:
        seen.extend(buffers for buffers, _ in descriptors(arguments))
        return int(real(*arguments))

    wrapped.functions.handlers["vaCreateSurfaces"] = look
    fd = memfd()
    other = os.dup(fd)
    source = nv12((fd, other), (0, 4096), (64, 64))
    os.close(other)
    source.map(wrapped.context)
    assert seen == [1]


def test_a_buffer_that_comes_round_again_is_imported_once(wrapped: Any) -> None:
    pool = [samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32) for _ in range(3)]
    ids = set()
    for _ in range(4):
        for frame in pool:
            with frame.map(wrapped.context) as surface:
                ids.add(surface.handle("va_surface"))
    assert len(ids) == len(pool)
    assert len(wrapped.functions.named("vaCreateSurfaces")) == len(pool)
    del frame, surface
    pool.clear()
    gc.collect()
    assert len(wrapped.functions.named("vaDestroySurfaces")) == 3


def test_numbers_that_are_used_again(wrapped: Any, no_descriptor_left: Steady) -> None:
    """A descriptor of the same number is another buffer."""
    with no_descriptor_left():
        numbers = set()
        for value in (1, 2):
            frame = samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32)
            with frame.map("cpu", "w") as view:
                view.native[0][...] = value
            numbers.add(frame.planes[0].handle("dma_fd"))
            surface = frame.map(wrapped.context)
            assert surface.map("cpu", copy=True).native[0][0, 0] == value
            del frame, surface, view
        assert len(numbers) == 1, "the number was used again"


def test_imports_outlive_what_they_were_made_of(context: VAAPIContext, memfd: Buffer) -> None:
    fd = memfd()
    source = nv12((fd, fd), (0, 4096), (64, 64))
    surface = source.map(context, "rw")
    source.close()
    del source
    os.pwrite(fd, b"\x05" * 2048, 0)
    assert (surface.map("cpu").native[0] == 5).all()


def test_tiles_are_reported(wrapped: Any, memfd: Buffer) -> None:
    """A modifier is handed over whole; in the old way, which has none, it is not tried."""
    reported: list[int] = []

    def refuse(_: Any, *arguments: Any) -> int:
        reported.extend(modifier for _, modifier in descriptors(arguments))
        return 1

    wrapped.functions.handlers["vaCreateSurfaces"] = refuse
    fd = memfd()
    source = samebytes_dma.frame_from_fds(
        (fd, fd), "NV12", 64, 32, offsets=(0, 8192), pitches=(128, 128), modifier=Y_TILED
    )
    with pytest.raises(RouteError, match=r"as one layer.*as layers"):
        source.map(wrapped.context)
    assert reported == [Y_TILED, Y_TILED]
    assert set(memory_types(wrapped)) == {DRM_PRIME_2}


def test_tiled_memory_is_not_read_as_rows(
    software: Callable[..., VAAPIContext], context: VAAPIContext
) -> None:
    """Between displays: tiles arrive as tiles."""
    tiled = software(SOFTVA_TILING="y")
    frame = tiled.allocate_frame("NV12", 128, 32)
    with frame.map("cpu", "w", copy=True) as view:
        view.native[0][...] = np.arange(128, dtype=np.uint8)
    there = frame.map("dma").map(context)
    expected = np.tile(np.arange(128, dtype=np.uint8), (32, 1))
    np.testing.assert_array_equal(there.map("cpu", copy=True).native[0], expected)


def test_drivers_without_prime_2(wrapped: Any, memfd: Buffer) -> None:
    def old(real: Any, *arguments: Any) -> int:
        kinds = [a.value.value.i for a in arguments[6][: arguments[7]] if a.type == 6]
        return 36 if DRM_PRIME_2 in kinds else int(real(*arguments))

    wrapped.functions.handlers["vaCreateSurfaces"] = old
    fd = memfd()
    source = nv12((fd, fd), (256, 8192), (128, 64))
    surface = source.map(wrapped.context)
    assert memory_types(wrapped)[-1] == DRM_PRIME
    with source.map("cpu", "w") as view:
        view.native[0][...], view.native[1][...] = 6, 7
    assert [int(a.max()) for a in surface.map("cpu", copy=True).native] == [6, 7]
    two = nv12((memfd(), memfd()), (0, 0), (64, 64))
    with pytest.raises(RouteError, match="as layers"):
        two.map(wrapped.context)


def test_a_format_without_a_code_in_drm(context: VAAPIContext) -> None:
    source = samebytes.context("dma:memfd").allocate_frame("RGBP", 64, 32)
    surface = source.map(context)
    with source.map("cpu", "w") as view:
        for number in range(3):
            view.native[number][...] = number
    assert [int(a.max()) for a in surface.map("cpu", copy=True).native] == [0, 1, 2]


def test_rows_that_are_not_dense(context: VAAPIContext, memfd: Buffer) -> None:
    buffer = samebytes_dma.DMABuffer(samebytes.Fd.borrow(memfd()))
    layouts = NV12.plane_layouts()
    wide = TensorInfo("uint8", layouts[0].shape, (128, 2))
    planes = (buffer.plane(wide), buffer.plane(TensorInfo("uint8", layouts[1].shape), offset=8192))
    with pytest.raises(RouteError, match="only rows can be padded"):
        samebytes_dma.frame_of_planes(planes, NV12).map(context)


def test_pictures_that_are_stored_bottom_up(context: VAAPIContext, memfd: Buffer) -> None:
    buffer = samebytes_dma.DMABuffer(samebytes.Fd.borrow(memfd()))
    y, uv = NV12.plane_layouts()
    planes = (
        buffer.plane(TensorInfo("uint8", y.shape, (-64, 1)), offset=64 * 31),
        buffer.plane(TensorInfo("uint8", uv.shape), offset=8192),
    )
    with pytest.raises(RouteError, match="negative"):
        samebytes_dma.frame_of_planes(planes, NV12).map(context)


def test_planes_of_one_buffer_in_different_tiles(context: VAAPIContext, memfd: Buffer) -> None:
    buffer = samebytes_dma.DMABuffer(samebytes.Fd.borrow(memfd()))
    y, uv = NV12.plane_layouts()
    planes = (
        buffer.plane(TensorInfo("uint8", y.shape)),
        buffer.plane(
            TensorInfo("uint8", uv.shape, opaque=True), offset=8192, pitch=64, modifier=Y_TILED
        ),
    )
    with pytest.raises(RouteError, match="planes of one buffer have different modifiers,"):
        samebytes_dma.frame_of_planes(planes, NV12).map(context)


def test_tiles_beyond_the_end(context: VAAPIContext, memfd: Buffer) -> None:
    fd = memfd()
    source = samebytes_dma.frame_from_fds(
        (fd, fd), "NV12", 64, 32, offsets=(0, 8192), pitches=(128, 128), modifier=Y_TILED
    )
    os.ftruncate(fd, 4096)
    with pytest.raises(RouteError, match="ends at byte 8193 of a buffer of 4096"):
        source.map(context)


def test_a_file_that_was_cut_short(context: VAAPIContext, memfd: Buffer) -> None:
    """Reading past its end would end the process."""
    fd = memfd()
    source = nv12((fd, fd), (0, 4096), (64, 64))
    os.ftruncate(fd, 4096)
    with pytest.raises(RouteError, match="of a buffer of 4096"):
        source.map(context)


@pytest.mark.parametrize("kind", ["pipe", "directory", "closed"])
def test_descriptors_that_became_something_else(
    context: VAAPIContext, memfd: Buffer, kind: str
) -> None:
    """Descriptors that the wrapping plugin checked may change before they are mapped."""
    fd = memfd()
    source = nv12((fd, fd), (0, 4096), (64, 64))
    number = source.planes[0].handle("dma_fd")
    saved = os.dup(number)
    try:
        if kind == "closed":
            os.close(number)
        elif kind == "pipe":
            reading, writing = os.pipe()
            os.dup2(reading, number)
            os.close(reading)
            os.close(writing)
        else:
            folder = os.open("/", os.O_RDONLY)
            os.dup2(folder, number)
            os.close(folder)
        with pytest.raises(RouteError, match=r"is a pipe|is a directory|not an open file"):
            source.map(context)
    finally:
        os.dup2(saved, number)
        os.close(saved)


def test_read_only_descriptors_stay_read_only(context: VAAPIContext, memfd: Buffer) -> None:
    fd = memfd()
    reading = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    source = nv12((reading, reading), (0, 4096), (64, 64))
    os.close(reading)
    with pytest.raises(AccessError, match="read-only"):
        source.map(context, "rw")
    # Drivers that map memory for writing refuse; those that do not give a read-only surface.
    try:
        said = repr(source.map(context))
    except RouteError as error:
        said = str(error)
    assert "read-only" in said or "open for reading alone" in said


def test_refused_imports_leave_nothing(wrapped: Any, no_descriptor_left: Steady) -> None:
    wrapped.functions.fail("vaCreateSurfaces", 2)
    with no_descriptor_left():
        frame = samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32)
        for _ in range(2):
            with pytest.raises(RouteError, match="vaCreateSurfaces failed with 2"):
                frame.map(wrapped.context)
        del wrapped.functions.handlers["vaCreateSurfaces"]
        frame.map(wrapped.context).close()
        frame.close()


def test_devices_that_write_come_first(wrapped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    frame = samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32)
    monkeypatch.setattr(Frame, "wait", lambda _: order.append("wait"))

    def create(real: Any, *arguments: Any) -> int:
        order.append("create")
        return int(real(*arguments))

    wrapped.functions.handlers["vaCreateSurfaces"] = create
    frame.map(wrapped.context)
    assert order == ["wait", "create"]
