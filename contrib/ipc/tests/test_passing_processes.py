# SPDX-License-Identifier: Apache-2.0
"""Between two processes, one of which may be hostile."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import samebytes
from samebytes_dma import DMATensor
from samebytes_ipc import EndOfStreamError, MessageError, receive, send

from .both_ends import same_descriptors

Start = Callable[[str], tuple[socket.socket, subprocess.Popen[bytes]]]


@pytest.fixture
def start() -> Iterator[Start]:
    """start(code) runs code in its own process, not a fork; `sock` there leads here."""
    living: list[tuple[socket.socket, subprocess.Popen[bytes]]] = []

    def run(code: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        with theirs:
            begin = f"import socket; sock = socket.socket(fileno={theirs.fileno()})\n"
            process = subprocess.Popen(
                [sys.executable, "-c", begin + code], pass_fds=[theirs.fileno()]
            )
        ours.settimeout(60)
        living.append((ours, process))
        return ours, process

    yield run
    for sock, process in living:
        sock.close()  # a child that still waits comes to its end
        assert process.wait(60) == 0


WORKER = """
import samebytes, samebytes_ipc
frame = samebytes_ipc.receive(sock)
assert (str(frame.image), frame.pts, frame.metadata) == ("NV12 64x32", 9, {"camera": "left"})
with frame.map("cpu", "rw") as view:
    assert (view.planes[0].native == 1).all()
    assert (view.planes[1].native == 2).all()
    view.planes[1].native[...] = 3
sock.sendall(b"done")
answer = samebytes.context("dma").allocate((4,), "float32")
with answer.map("cpu", "w") as view:
    view.native[...] = [1, 2, 3, 4]
samebytes_ipc.send(sock, answer)
sock.shutdown(socket.SHUT_WR)
assert sock.recv(1) == b""
"""


def test_both_see_what_either_writes(start: Start) -> None:
    sock, _ = start(WORKER)
    with samebytes.context("dma").allocate_frame("NV12", 64, 32) as frame:
        frame.meta.pts = 9
        frame.metadata["camera"] = "left"
        with frame.map("cpu", "w") as view:
            for number, plane in enumerate(view):
                plane.native[...] = number + 1
            del plane
        send(sock, frame)
        assert sock.recv(4) == b"done"
        with frame.map("cpu") as view:
            assert (view.planes[0].native == 1).all()
            assert (view.planes[1].native == 3).all()
    answer = receive(sock)
    assert isinstance(answer, DMATensor)
    assert answer.map("cpu").native.tolist() == [1, 2, 3, 4]
    with pytest.raises(EndOfStreamError):
        receive(sock)


FORGER = """
import fcntl, json, os, struct
def forge(fd, **changes):
    plane = {"buffer": 0, "dtype": "uint8", "shape": [4096], "strides": [1], "offset": 0,
             "pitch": None, "modifier": 0, **changes}
    body = json.dumps({"readonly": False, "tensor": plane}).encode()
    socket.send_fds(sock, [struct.pack("<4sHHI", b"SBDM", 1, 1, len(body)) + body], [fd])
def answered():
    return sock.recv(1) == b"."

memfd = os.memfd_create("forged", os.MFD_ALLOW_SEALING)
os.ftruncate(memfd, 4096)
for fd in (0, os.open("/", os.O_RDONLY), os.open("/proc/self/mem", os.O_RDWR), os.pipe()[0], memfd):
    forge(fd)
    assert answered()
fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
for changes in ({"shape": [4097]}, {"offset": 1}, {"strides": [0]}, {"pitch": 5}):
    forge(memfd, **changes)
    assert answered()
forge(memfd)
assert answered()
for size in (0, 4095):
    try:
        os.ftruncate(memfd, size)
    except PermissionError:
        continue
    raise AssertionError("the memory was cut short")
sock.sendall(b"!")
assert answered()
"""


def test_a_hostile_process(start: Start) -> None:
    sock, process = start(FORGER)
    with same_descriptors():
        for field in ["descriptors[0]"] * 5 + ["tensor"] * 4:
            with pytest.raises(MessageError) as caught:
                receive(sock)
            assert caught.value.field == field
            sock.sendall(b".")
    tensor = receive(sock)
    assert isinstance(tensor, DMATensor)
    view = tensor.map("cpu", "rw")
    sock.sendall(b".")
    assert sock.recv(1) == b"!"
    assert view.native.sum() == 0
    sock.sendall(b".")
    assert process.wait(60) == 0
    view.native[...] = 1  # memory lives as long as its last user
    assert view.native.sum() == 4096
