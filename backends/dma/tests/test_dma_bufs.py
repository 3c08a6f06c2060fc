# SPDX-License-Identifier: Apache-2.0
"""What only a kernel with udmabuf or heaps can show."""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import samebytes
from samebytes import Fd
from samebytes.errors import LayoutError, NativeError, UnsupportedObjectError
from samebytes_dma import DMATensor, export_sync_file, from_fd, import_sync_file, is_dma_buf

MakeMemfd = Callable[..., int]
DEVICES = {"udmabuf": Path("/dev/udmabuf"), "heap": Path("/dev/dma_heap/system")}
DMA_BUF_SET_NAME_B = 0x40086201  # linux/dma-buf.h


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
def test_what_is_told_of_a_dma_buf(tensor: DMATensor, allocator: str) -> None:
    buffer = tensor.native.buffer
    assert buffer.is_dma_buf
    assert is_dma_buf(buffer.fileno())
    assert tensor.kind == {"udmabuf": "udmabuf", "heap": "dma_heap"}[allocator]
    assert buffer.exporter == {"udmabuf": "udmabuf", "heap": "system"}[allocator]
    assert buffer.size == 256 * 256
    assert buffer.name == ""
    libc = ctypes.CDLL(None)
    assert libc.ioctl(buffer.fileno(), ctypes.c_ulong(DMA_BUF_SET_NAME_B), b"camera") == 0
    assert buffer.name == "camera"
    assert "stand-in" not in repr(tensor)
    assert not tensor.readonly


@pytest.mark.dmabuf
def test_the_bytes_are_shared_with_another_process(tensor: DMATensor) -> None:
    with tensor.map("cpu", "w") as view:
        view.native[...] = 11
    number = tensor.handle()
    code = f"""
import samebytes_dma
with samebytes_dma.from_fd({number}, (256, 256)).map("cpu", "rw") as view:
    assert (view.native == 11).all()
    view.native[100:] = 12
"""
    subprocess.run([sys.executable, "-c", code], pass_fds=[number], check=True)
    array = tensor.map("cpu").native
    assert array[:100].tolist() == [[11] * 256] * 100
    assert (array[100:] == 12).all()


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
    for access in samebytes.plugins.Access.__args__:  # type: ignore[attr-defined]  # a Literal
        with export_sync_file(buffer, access) as fences:
            ready, _, _ = select.select([fences.fileno()], [], [], 0)
            assert ready, "no device uses it"
            import_sync_file(buffer, fences, access)
            import_sync_file(buffer, fences.fileno(), access)
    reader, writer = os.pipe()
    with Fd(reader), Fd(writer):
        for number in (reader, buffer.fileno(), 1 << 20):
            with pytest.raises(LayoutError, match=f"{number} is no sync file"):
                import_sync_file(buffer, number)


def test_stand_ins_have_no_fences(memfd: MakeMemfd) -> None:
    with from_fd(memfd(), (16,)) as stand_in:
        buffer = stand_in.native.buffer
        with pytest.raises(UnsupportedObjectError, match="a memfd is no DMA-BUF"):
            export_sync_file(buffer)
        with pytest.raises(UnsupportedObjectError, match="a memfd is no DMA-BUF"):
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
@pytest.mark.usefixtures("allocator")
def test_the_default_is_a_dma_buf_where_there_is_one() -> None:
    with samebytes.context("dma").allocate((16,)) as made:
        assert isinstance(made, DMATensor)
        assert made.native.buffer.is_dma_buf
