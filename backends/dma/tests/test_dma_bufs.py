# SPDX-License-Identifier: Apache-2.0
"""Tests of properties that only a kernel with udmabuf or heaps can show.

These run in an emulated machine, some thirty times slower: each is a few calls.
"""

from __future__ import annotations

import mmap
import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import samebytes
from samebytes import Access, Fd
from samebytes.errors import (
    LayoutError,
    NativeError,
    UnsupportedObjectError,
)
from samebytes_dma import (
    DMATensor,
    export_sync_file,
    from_fd,
    import_sync_file,
    is_dma_buf,
)

MakeMemfd = Callable[..., int]
DEVICES = {"udmabuf": Path("/dev/udmabuf"), "heap": Path("/dev/dma_heap/system")}


@pytest.fixture(params=DEVICES)
def allocator(request: pytest.FixtureRequest) -> str:
    """The name of an allocator of DMA-BUFs that this kernel has."""
    name: str = request.param
    if not DEVICES[name].exists():
        pytest.skip(f"this kernel has no {DEVICES[name]}")
    return name


@pytest.fixture
def tensor(allocator: str) -> Iterator[DMATensor]:
    """64 KiB of a DMA-BUF."""
    with samebytes.context(f"dma:{allocator}").allocate((256, 256)) as made:
        assert isinstance(made, DMATensor)
        yield made


@pytest.mark.dmabuf
def test_what_is_known_of_a_dma_buf(tensor: DMATensor, allocator: str) -> None:
    buffer = tensor.native.buffer
    assert buffer.is_dma_buf
    assert is_dma_buf(buffer.fileno())
    assert tensor.kind == {"udmabuf": "udmabuf", "heap": "dma_heap"}[allocator]
    assert buffer.exporter == {"udmabuf": "udmabuf", "heap": "system"}[allocator]
    assert buffer.size == 256 * 256
    assert "stand-in" not in repr(tensor)
    assert not tensor.readonly


@pytest.mark.dmabuf
def test_names(tensor: DMATensor) -> None:
    buffer = tensor.native.buffer
    assert buffer.name == ""
    for name in ("camera", "Tür 2", "x" * 31, ""):
        buffer.set_name(name)
        assert buffer.name == name
    for name in ("x" * 32, "ü" * 16, "two\nlines", "zero\0byte"):
        with pytest.raises(LayoutError, match="cannot be the name"):
            buffer.set_name(name)
    assert buffer.name == ""


def test_stand_ins_have_no_names_to_give(memfd: MakeMemfd) -> None:
    buffer = from_fd(memfd(), (16,)).native.buffer
    with pytest.raises(UnsupportedObjectError, match="a memfd is not a DMA-BUF"):
        buffer.set_name("camera")


@pytest.mark.dmabuf
def test_frames_are_mapped_both_ways(allocator: str) -> None:
    """Bytes that the CPU writes are read by another mapping of the descriptor, and vice versa."""
    with samebytes.context(f"dma:{allocator}").allocate_frame("NV12", 64, 32) as frame:
        with mmap.mmap(frame.planes[0].handle(), 4096) as other:
            with frame.map("cpu", "w") as view:
                view.planes[0].native[...] = 1
                view.planes[1].native[...] = 2
            assert other[:3072] == b"\1" * 2048 + b"\2" * 1024
            other[2048:3072] = b"\3" * 1024
        view = frame.map("cpu")
        assert np.unique(view.planes[1].native).tolist() == [3]
        assert view.readonly
        assert frame.close() is False
        view.close()


@pytest.mark.dmabuf
def test_flushing_keeps_the_mapping(tensor: DMATensor) -> None:
    with tensor.map("cpu", "rw") as view, tensor.map("cpu") as reading:
        view.native[7] = 5
        view.flush()
        assert (reading.native[7] == 5).all()


@pytest.mark.dmabuf
def test_a_mapping_outlives_everything_else(allocator: str) -> None:
    made = samebytes.context(f"dma:{allocator}").allocate((4096,))
    number = made.handle()
    array = made.map("cpu", "rw").native
    del made
    array[...] = 9
    assert array.sum() == 9 * 4096
    del array
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


@pytest.mark.dmabuf
def test_nothing_stays(allocator: str) -> None:
    context = samebytes.context(f"dma:{allocator}")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    for _ in range(50):
        with context.allocate((4096,)) as made, made.map("cpu", "rw") as view:
            view.native[0] = 1
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


@pytest.mark.dmabuf
def test_a_dma_buf_of_the_users(tensor: DMATensor) -> None:
    with from_fd(tensor.handle(), (16, 16), offset=256, pitch=256) as wrapped:
        wrapped.map("cpu", "w").native[...] = 3
        assert wrapped.kind == tensor.kind
        assert tensor.map("cpu").native[1, 16] == 0
        assert tensor.map("cpu").native[2, 15] == 3
    with pytest.raises(LayoutError, match="of a buffer of 65536"):
        from_fd(tensor.handle(), (16, 16), offset=65536 - 255)


@pytest.mark.dmabuf
def test_sync_files(tensor: DMATensor) -> None:
    buffer = tensor.native.buffer
    tensor.wait()
    for access in get_args(Access):
        with export_sync_file(buffer, access) as fences:
            ready, _, _ = select.select([fences.fileno()], [], [], 0)
            assert ready, "no device uses it"
            import_sync_file(buffer, fences, access)
            import_sync_file(buffer, fences.fileno(), access)
    reader, writer = os.pipe()
    with Fd(reader), Fd(writer):
        for number in (reader, buffer.fileno(), 1 << 20):
            with pytest.raises(LayoutError, match=f"{number} is not a sync file"):
                import_sync_file(buffer, number)


def test_stand_ins_have_no_fences(memfd: MakeMemfd) -> None:
    with from_fd(memfd(), (16,)) as stand_in:
        buffer = stand_in.native.buffer
        with pytest.raises(UnsupportedObjectError, match="a memfd is not a DMA-BUF"):
            export_sync_file(buffer)
        with pytest.raises(UnsupportedObjectError, match="a memfd is not a DMA-BUF"):
            import_sync_file(buffer, 3)
        with pytest.raises(LookupError, match="access mode"):
            export_sync_file(buffer, "x")  # type: ignore[arg-type]  # that is the point
        del buffer


@pytest.mark.dmabuf
def test_more_than_udmabuf_gives() -> None:
    if not DEVICES["udmabuf"].exists():
        pytest.skip("this kernel has no /dev/udmabuf")
    limit = int(Path("/sys/module/udmabuf/parameters/size_limit_mb").read_text())
    with pytest.raises(NativeError, match="size_limit_mb") as caught:
        samebytes.context("dma:udmabuf").allocate((limit + 1, 1 << 20))
    assert caught.value.call == "UDMABUF_CREATE"


@pytest.mark.dmabuf
def test_the_default_is_a_dma_buf_where_there_is_one() -> None:
    with samebytes.context("dma").allocate((16,)) as made:
        assert isinstance(made, DMATensor)
        assert made.native.buffer.is_dma_buf
