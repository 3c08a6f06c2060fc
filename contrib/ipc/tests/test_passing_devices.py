# SPDX-License-Identifier: Apache-2.0
"""Memory that only a kernel with udmabuf or heaps makes, and memory of devices, through sockets.

The first run in an emulated machine, some thirty times slower: each is a few calls.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import MissingDependencyError, UnsupportedObjectError
from samebytes.testing import missing_device
from samebytes_dma import DMATensor
from samebytes_ipc import receive, send

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


_WORKER = """
import socket, sys, samebytes_ipc
with socket.socket(fileno=int(sys.argv[1])) as sock:
    frame = samebytes_ipc.receive(sock)
    assert all(plane.native.buffer.is_dma_buf for plane in frame)
    assert frame.planes[0].native.buffer.name == "camera"
    with frame.map("cpu", "rw") as view:
        assert (view.planes[0].native == 11).all()
        view.planes[0].native[100:] = 12
"""


@pytest.mark.dmabuf
def test_another_process_gets_a_frame(allocator: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, samebytes.context(f"dma:{allocator}").allocate_frame("GRAY8", 256, 256) as frame:
        with frame.map("cpu", "w") as view:
            view.planes[0].native[...] = 11
        frame.planes[0].native.buffer.set_name("camera")
        with theirs:
            worker = subprocess.Popen(
                [sys.executable, "-c", _WORKER, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        send(ours, frame)
        assert worker.wait(300) == 0
        array = frame.map("cpu").planes[0].native
        assert (array[:100] == 11).all()
        assert (array[100:] == 12).all()
        del array


@pytest.mark.dmabuf
def test_dma_bufs_are_taken_from_untrusted_senders(tensor: DMATensor) -> None:
    """Their size is fixed: nobody can cut them short."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, tensor)
        got = receive(theirs)
    assert not isinstance(got, Frame)
    assert got.kind == tensor.kind
    assert got.handle() != tensor.handle()
    with pytest.raises(OSError, match="Invalid argument"):
        os.ftruncate(got.handle(), 4096)


@pytest.mark.parametrize(
    ("node", "package", "device"),
    [
        ("cpu", "samebytes", ""),
        ("opencl", "samebytes_gpu_opencl", "gpu"),
        ("level_zero", "samebytes_npu_level_zero", "npu"),
    ],
)
def test_the_message_says_what_can_be_sent_instead(node: str, package: str, device: str) -> None:
    """Memory of a device may have a descriptor; memory of the CPU never gets one."""
    pytest.importorskip(
        package, reason=f"missing package {package}: pip install {package.replace('_', '-')}"
    )
    try:
        memory: Any = samebytes.context(node).allocate((4, 4))
    except MissingDependencyError:
        pytest.skip(missing_device(device.upper()))
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(UnsupportedObjectError, match=r"RingWriter\.send") as refused:
        send(ours, memory)
    assert ("item.map('dma')" in str(refused.value)) is (node != "cpu")
