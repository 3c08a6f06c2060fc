# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be tensors are refused at the call that asked for one; nothing is taken."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import Fd, ImageInfo, TensorInfo
from samebytes.errors import (
    AccessError,
    LayoutError,
    MissingDependencyError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_dma import INVALID, DMABuffer, DMAPlane, frame_from_fds, frame_of_planes, from_fd

MakeMemfd = Callable[..., int]
Y_TILED = 0x0100000000000002  # drm_fourcc.h: I915_FORMAT_MOD_Y_TILED
ARM_FIXED_RATE = 0x0820000000000001  # drm_fourcc.h: DRM_FORMAT_MOD_ARM_AFRC(...)


def test_pipes_are_refused() -> None:
    reader, writer = os.pipe()
    with Fd(reader), Fd(writer):
        for end in (reader, writer):
            with pytest.raises(LayoutError, match="is a pipe"):
                from_fd(end, (4,))


def test_directories_are_refused(tmp_path: Path) -> None:
    with (
        Fd(os.open(tmp_path, os.O_RDONLY)) as fd,
        pytest.raises(LayoutError, match="is a directory"),
    ):
        from_fd(fd, (4,))


def test_sockets_are_refused() -> None:
    with socket.socket() as server, pytest.raises(LayoutError, match="is a socket"):
        from_fd(server.fileno(), (4,))


def test_devices_are_refused() -> None:
    with (
        Fd(os.open("/dev/zero", os.O_RDWR)) as fd,
        pytest.raises(LayoutError, match="is a character device"),
    ):
        from_fd(fd, (4,))


def test_anonymous_descriptors_are_refused() -> None:
    with Fd(os.eventfd(0)) as fd, pytest.raises(LayoutError, match=r"anon_inode:\[eventfd\]"):
        from_fd(fd, (4,))


@pytest.mark.parametrize("take_ownership", [False, True])
def test_closed_descriptors_are_refused(memfd: MakeMemfd, take_ownership: bool) -> None:
    number = os.dup(memfd())
    os.close(number)
    with pytest.raises(LayoutError, match=f"{number} is not an open file descriptor"):
        from_fd(number, (4,), take_ownership=take_ownership)


@pytest.mark.parametrize("number", [-1, -(1 << 40), 1 << 31, 1 << 80])
@pytest.mark.parametrize("take_ownership", [False, True])
def test_numbers_that_no_descriptor_has(number: int, take_ownership: bool) -> None:
    with pytest.raises(LayoutError, match=f"{number} is not a file descriptor"):
        from_fd(number, (4,), take_ownership=take_ownership)


def test_objects_that_are_not_descriptors() -> None:
    with pytest.raises(UnsupportedObjectError, match="pass its fileno"):
        from_fd("3", (4,))  # type: ignore[arg-type]  # that is the point


def test_an_empty_file() -> None:
    with Fd(os.memfd_create("empty")) as fd, pytest.raises(LayoutError, match="has no bytes"):
        from_fd(fd, (4,))


def test_descriptors_open_for_writing_alone(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(4096))
    with (
        Fd(os.open(path, os.O_WRONLY)) as fd,
        pytest.raises(AccessError, match="for writing only: open it with O_RDWR"),
    ):
        from_fd(fd, (4,))
    with Fd(os.open(path, os.O_PATH)) as fd, pytest.raises(AccessError, match="O_PATH"):
        from_fd(fd, (4,))


def test_writing_through_a_descriptor_open_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(4096))
    with Fd(os.open(path, os.O_RDONLY)) as fd, from_fd(fd, (4,)) as tensor:
        assert tensor.readonly
        assert not tensor.map("cpu").native.flags.writeable
        with pytest.raises(AccessError, match="open it with O_RDWR"):
            tensor.map("cpu", "rw")


@pytest.mark.parametrize("seal", [fcntl.F_SEAL_WRITE, 0x10])
def test_writing_to_sealed_memory(memfd: MakeMemfd, seal: int) -> None:
    fd = memfd()
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seal)
    with from_fd(fd, (4,)) as tensor:
        assert tensor.readonly
        with pytest.raises(AccessError, match="sealed"):
            tensor.map("cpu", "w")


@pytest.mark.parametrize("offset", [4095, 4096, 5000, -1, 1 << 70])
def test_offsets_outside_of_the_memory(memfd: MakeMemfd, offset: int) -> None:
    with pytest.raises(LayoutError, match="of a buffer of 4096"):
        from_fd(memfd(), (2,), offset=offset)


def test_arrays_larger_than_the_memory(memfd: MakeMemfd) -> None:
    from_fd(memfd(), (64, 64)).close()
    with pytest.raises(LayoutError, match="takes bytes 0 to 4160 of a buffer of 4096"):
        from_fd(memfd(), (65, 64))
    with pytest.raises(LayoutError, match="takes bytes -64 to 64 of a buffer"):
        from_fd(memfd(), (2, 64), strides=(-64, 1))


def test_a_pitch_smaller_than_a_row(memfd: MakeMemfd) -> None:
    with pytest.raises(LayoutError, match=r"pitch is 31 bytes, but a row of .* has 32"):
        from_fd(memfd(), (4, 8), "float32", pitch=31)
    with pytest.raises(LayoutError, match="overlap"):
        from_fd(memfd(), (4, 32), strides=(31, 1))
    with pytest.raises(LayoutError, match="the pitch of plane 'uv' is 60 bytes"):
        frame_from_fds(memfd(), "NV12", 64, 32, pitches=(64, 60), offsets=(0, 2048))


def test_a_pitch_that_means_nothing(memfd: MakeMemfd) -> None:
    with pytest.raises(LayoutError, match="not both"):
        from_fd(memfd(), (4, 8), strides=(8, 1), pitch=8)
    with pytest.raises(LayoutError, match="has no rows"):
        from_fd(memfd(), (8,), pitch=8)
    with DMABufferOf(memfd()) as buffer:
        with pytest.raises(LayoutError, match="contradicts"):
            DMAPlane(buffer, TensorInfo("uint8", (4, 8)), pitch=16)
        with pytest.raises(LayoutError, match="integer number of bytes"):
            DMAPlane(buffer, TensorInfo("uint8", (4, 8)), offset=1.5)  # type: ignore[arg-type]  # that is the point


class DMABufferOf:
    """A buffer over a borrowed descriptor, dropped at the end of a block."""

    def __init__(self, fd: int) -> None:
        self._buffer: DMABuffer | None = DMABuffer(Fd.borrow(fd))

    def __enter__(self) -> DMABuffer:
        assert self._buffer is not None
        return self._buffer

    def __exit__(self, *exc: object) -> None:
        self._buffer = None


def test_tiled_memory_is_not_linear(memfd: MakeMemfd) -> None:
    with pytest.raises(LayoutError, match="no strides"):
        from_fd(memfd(), (32, 64), strides=(64, 1), modifier=Y_TILED)
    with DMABufferOf(memfd()) as buffer, pytest.raises(LayoutError, match="Intel is tiled"):
        buffer.plane(TensorInfo("uint8", (32, 64)), modifier=Y_TILED)
    with from_fd(memfd(), (32, 64), pitch=128, modifier=Y_TILED) as tensor:
        assert tensor.strides is None
        assert (tensor.handle("pitch"), tensor.handle("drm_modifier")) == (128, Y_TILED)
        assert "Intel" in repr(tensor)
    with frame_from_fds(
        memfd(), "NV12", 64, 32, pitches=(128, 128), offsets=(0, 2048), modifier=Y_TILED
    ) as frame:
        assert [p.handle("offset") for p in frame] == [0, 2048]


def test_tiled_memory_is_checked_as_far_as_can_be_known(memfd: MakeMemfd) -> None:
    with pytest.raises(LayoutError, match="offset 4096 is outside"):
        from_fd(memfd(), (32, 64), offset=4096, modifier=Y_TILED)
    with pytest.raises(LayoutError, match="pitch is 63 bytes"):
        from_fd(memfd(), (32, 64), pitch=63, modifier=Y_TILED)
    with pytest.raises(LayoutError, match="stored bottom up"):
        from_fd(memfd(), (32, 64), pitch=-128, modifier=Y_TILED)
    with pytest.raises(LayoutError, match="takes 2048 bytes at least, but the buffer has 4096"):
        from_fd(memfd(), (32, 64), offset=2049, modifier=Y_TILED)
    from_fd(memfd(), (65, 64), modifier=ARM_FIXED_RATE).close()
    with pytest.raises(LayoutError, match="need offsets="):
        frame_from_fds(memfd(), "NV12", 64, 32, modifier=Y_TILED)
    with (
        DMABufferOf(memfd()) as buffer,
        pytest.raises(LayoutError, match="needs strides"),
    ):
        buffer.plane(TensorInfo("uint8", (4, 8), opaque=True))


@pytest.mark.parametrize("modifier", [-1, 1 << 64, "linear", None, 0.0])
def test_modifiers_are_64_bits(memfd: MakeMemfd, modifier: Any) -> None:
    with pytest.raises(LayoutError, match="unsigned 64-bit"):
        from_fd(memfd(), (4,), modifier=modifier)
    for given in (modifier, (0, modifier)):
        with pytest.raises(LayoutError, match="unsigned 64-bit"):
            frame_from_fds(memfd(), "NV12", 64, 32, modifier=given)


def test_a_modifier_for_each_plane(memfd: MakeMemfd) -> None:
    frame = frame_from_fds(
        memfd(8192), "I420", 64, 32, offsets=(0, 4096, 6144), modifier=(0, Y_TILED, INVALID)
    )
    assert [p.handle("drm_modifier") for p in frame] == [0, Y_TILED, INVALID]
    assert [p.strides for p in frame] == [(64, 1), None, (32, 1)]
    assert frame.planes[2].map("cpu").shape == (16, 32)
    for wrong in ((), (0,), (0, 0, 0, 0)):
        with pytest.raises(LayoutError, match=r"planes of .*: 3, "):
            frame_from_fds(memfd(), "I420", 64, 32, modifier=wrong)
    with pytest.raises(LayoutError, match="need offsets="):
        frame_from_fds(memfd(), "I420", 64, 32, modifier=(0, 0, Y_TILED))


def test_frames_that_do_not_fit(memfd: MakeMemfd) -> None:
    fd = memfd()
    with pytest.raises(LayoutError, match="planes of NV12 64x32: 2, descriptors: 3"):
        frame_from_fds([fd, fd, fd], "NV12", 64, 32)
    with pytest.raises(LayoutError, match="need offsets="):
        frame_from_fds(fd, "NV12", 64, 32, pitches=(64, 64))
    with pytest.raises(LayoutError, match="of a buffer of 4096"):
        frame_from_fds(fd, "NV12", 64, 64)
    with pytest.raises(UnknownNameError):
        frame_from_fds(fd, "NV13", 64, 32)
    with DMABufferOf(fd) as buffer:
        image = ImageInfo.of("NV12", 64, 32)
        luma = buffer.plane(TensorInfo("uint8", (32, 64)))
        with pytest.raises(LayoutError, match=r"planes of .*: 2, passed: 1"):
            frame_of_planes([luma], image)
        with pytest.raises(LayoutError, match="plane uv of NV12 64x32 is"):
            frame_of_planes([luma, luma], image)
        del luma


def test_a_failed_call_takes_no_descriptor(memfd: MakeMemfd) -> None:
    fd, owner = memfd(), Fd(os.dup(memfd()))
    with pytest.raises(LayoutError):
        from_fd(fd, (5000,), take_ownership=True)
    with pytest.raises(LayoutError):
        frame_from_fds([fd, owner], "NV12", 640, 480, take_ownership=True)
    os.fstat(fd)
    os.fstat(owner.fileno())
    owner.close()


def test_allocators_that_do_not_exist() -> None:
    with pytest.raises(UnknownNameError) as caught:
        samebytes.context("dma:memdf")
    assert caught.value.nearest == ("memfd",)
    for name in ("heap./etc/passwd", "heap...", "heap."):
        with pytest.raises(UnknownNameError):
            samebytes.context(f"dma:{name}")
    with pytest.raises(MissingDependencyError) as missing:
        samebytes.context("dma:heap.no_such_heap")
    assert missing.value.missing == "/dev/dma_heap/no_such_heap"
    assert missing.value.hint == "name a heap that is in /dev/dma_heap"
    assert missing.value.plugin == "dma"


def test_sizes_that_no_memory_has() -> None:
    for shape in ((1 << 62, 16), (1 << 63,)):
        with pytest.raises(LayoutError, match="larger than the address space"):
            samebytes.context("dma").allocate(shape)


def test_handles_that_are_not_there(memfd: MakeMemfd) -> None:
    with from_fd(memfd(), (4,)) as tensor:
        with pytest.raises(UnknownNameError) as caught:
            tensor.handle("cl_mem")
        assert caught.value.kind == "handle of dma"
        with pytest.raises(UnknownNameError):
            tensor.handle("pitch")
        with pytest.raises(BufferError, match=r"map\('cpu'\)"):
            tensor.handle("data")
