# SPDX-License-Identifier: Apache-2.0
"""dma -> cpu: the same bytes, mapped once for each frame, whatever the layout."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import samebytes
from samebytes import Fd, TensorInfo
from samebytes.errors import NoRouteError
from samebytes.testing import address_of, fill
from samebytes_dma import INVALID, DMABuffer, frame_from_fds, from_fd

MakeMemfd = Callable[..., int]


def _mappings(fd: int) -> int:
    """Return how many times this process has mapped the file behind a descriptor."""
    inode = str(os.fstat(fd).st_ino)
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum(line.split()[4] == inode for line in lines)


@pytest.mark.parametrize("offset", [0, 1, 4, 100, 4095, 4096, 5001])
def test_any_offset(memfd: MakeMemfd, offset: int) -> None:
    fd = memfd(3 * mmap.PAGESIZE)
    with from_fd(fd, (2, 3), "float32", offset=offset) as tensor:
        view = tensor.map("cpu", "rw")
        view.native[...] = [[1, 2, 3], [4, 5, 6]]
        view.flush()
        written = np.frombuffer(os.pread(fd, 24, offset), np.float32)
        assert written.tolist() == [1, 2, 3, 4, 5, 6]
        os.pwrite(fd, np.float32(7).tobytes(), offset + 4)
        assert view.native[0, 1] == 7
        view.close()


def test_a_pitch(memfd: MakeMemfd) -> None:
    fd = memfd()
    with from_fd(fd, (4, 10, 3), pitch=64, offset=16) as tensor:
        assert tensor.strides == (64, 3, 1)
        assert (tensor.handle("pitch"), tensor.handle("offset")) == (64, 16)
        with tensor.map("cpu", "w") as view:
            view.native[2] = 5
    assert os.pread(fd, 32, 16 + 128) == b"\5" * 30 + b"\0\0"
    assert os.pread(fd, 16 + 128, 0) == bytes(144)


def test_a_modifier_that_is_not_known_is_linear(memfd: MakeMemfd) -> None:
    with from_fd(memfd(), (16,), modifier=INVALID) as tensor:
        assert tensor.handle("drm_modifier") == 0x00FF_FFFF_FFFF_FFFF
        assert tensor.map("cpu").shape == (16,)


@pytest.mark.parametrize("name", ["bfloat16", "uint4", "float8_e4m3fn"])
def test_types_that_numpy_lacks(name: str) -> None:
    with samebytes.context("dma:memfd").allocate((4, 6), name) as tensor:
        view = tensor.map("cpu", "rw")
        assert (str(view.dtype), view.shape) == (name, (4, 6))
        assert view.native.nbytes == tensor.info.nbytes
        view.close()


@pytest.mark.parametrize("shape", [(), (0, 4), (3, 0), (1,)])
def test_small_arrays(shape: tuple[int, ...]) -> None:
    with (
        samebytes.context("dma:memfd").allocate(shape, "int16") as tensor,
        tensor.map("cpu", "rw") as view,
    ):
        assert view.native.shape == shape


def test_memory_is_zeroed_and_of_whole_pages() -> None:
    with samebytes.context("dma:memfd").allocate((mmap.PAGESIZE + 1,)) as tensor:
        assert tensor.native.buffer.size == 2 * mmap.PAGESIZE
        assert not tensor.map("cpu").native.any()


def test_nobody_can_cut_our_memory_short() -> None:
    with samebytes.context("dma:memfd").allocate((16,)) as tensor:
        for size in (0, 2 * mmap.PAGESIZE):
            with pytest.raises(PermissionError):
                os.ftruncate(tensor.handle(), size)


def test_a_file_that_was_cut_short_is_refused(memfd: MakeMemfd) -> None:
    fd = memfd(8192)
    with from_fd(fd, (8192,)) as tensor:
        os.ftruncate(fd, 100)
        with pytest.raises(NoRouteError, match="now shorter than the 8192 bytes"):
            tensor.map("cpu")


def test_memory_that_cannot_be_mapped_is_refused() -> None:
    # sysfs has regular files with a size, and no mmap.
    with (
        Fd(os.open("/sys/kernel/uevent_seqnum", os.O_RDONLY)) as fd,
        from_fd(fd, (16,)) as tensor,
        pytest.raises(NoRouteError, match=r"does not let the CPU map this memory \(ENODEV\)"),
    ):
        tensor.map("cpu")


def test_a_frame_in_one_buffer_is_mapped_once() -> None:
    frame = samebytes.context("dma:memfd").allocate_frame("I420", 64, 32)
    fd = frame.planes[0].handle()
    assert {p.handle() for p in frame} == {fd}
    assert _mappings(fd) == 0
    mapped = frame.map("cpu", "rw")
    assert _mappings(fd) == 1
    base = address_of(mapped.planes[0].native)
    offsets = [p.handle("offset") for p in frame]
    assert [address_of(p.native) - base for p in mapped] == offsets == [0, 2048, 2560]
    expected = [fill(p.native, 10 * n) for n, p in enumerate(mapped)]
    array = mapped.planes[2].native
    assert mapped.close() is False
    assert _mappings(fd) == 1
    del array
    assert _mappings(fd) == 0
    for plane, values in zip(frame.map("cpu"), expected, strict=True):
        np.testing.assert_array_equal(plane.native, values)
    del plane
    frame.close()


def test_a_frame_in_several_buffers(memfd: MakeMemfd) -> None:
    y, uv = memfd(2048 + 100), memfd(8192)
    frame = frame_from_fds([y, uv], "NV12", 64, 32, pitches=(64, 80), offsets=(100, 4096))
    assert len({p.handle() for p in frame}) == 2
    mapped = frame.map("cpu", "rw")
    assert (_mappings(y), _mappings(uv)) == (1, 1)
    for number, plane in enumerate(mapped):
        plane.native[...] = number + 1
    del plane
    assert os.pread(y, 2148, 0) == bytes(100) + b"\1" * 2048
    assert os.pread(uv, 80, 4096 + 80) == b"\2" * 64 + bytes(16)
    held = mapped.planes[0].native
    other = mapped.planes[1].native
    assert mapped.close() is False
    frame.close()
    assert held.flat[0] == 1
    del held
    assert other.flat[0] == 2
    del other
    assert (_mappings(y), _mappings(uv)) == (0, 0)


def test_the_same_descriptor_twice_is_one_buffer(memfd: MakeMemfd) -> None:
    fd = memfd()
    with frame_from_fds([fd, fd], "NV12", 64, 32) as frame:
        assert frame.planes[0].native.buffer is frame.planes[1].native.buffer
        assert [p.handle("offset") for p in frame] == [0, 2048]


def test_a_failed_mapping_leaves_nothing(memfd: MakeMemfd) -> None:
    good = memfd(4096)
    with (
        Fd(os.open("/sys/kernel/uevent_seqnum", os.O_RDONLY)) as bad,
        frame_from_fds([good, bad], "NV12", 32, 32) as frame,
    ):
        with pytest.raises(NoRouteError, match="ENODEV"):
            frame.map("cpu")
        assert _mappings(good) == 0


def test_a_frame_of_tensors_that_numpy_lacks(memfd: MakeMemfd) -> None:
    buffer = DMABuffer(Fd.borrow(memfd()))
    plane = buffer.plane(TensorInfo("bfloat16", (4, 4)))
    context = samebytes.context("dma")
    frame = samebytes.Frame.borrowed((plane,), context, samebytes.FrameMeta(None), keep=plane)
    (edge,) = samebytes.route("dma", "cpu", level="frame").hops  # others may go through devices
    with pytest.raises(NoRouteError, match="map its tensors one by one"):
        edge.map(frame)
    assert str(frame.planes[0].map("cpu").dtype) == "bfloat16"


def test_all_allocators_are_one_memory_type() -> None:
    default, chosen = samebytes.context("dma"), samebytes.context("dma:memfd")
    assert default == chosen
    assert hash(default) == hash(chosen)
    assert default is not chosen
    with chosen.allocate((4,)) as tensor, tensor.map(default, "rw") as same:
        assert same.handle() == tensor.handle()
        assert [h.spec.name for h in samebytes.route(tensor, "cpu").hops] == ["dma -> cpu"]
