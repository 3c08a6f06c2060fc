# SPDX-License-Identifier: Apache-2.0
"""Packets of rings, for tests that write them by hand."""

from __future__ import annotations

import array
import fcntl
import gc
import json
import os
import socket
import struct
from typing import Any

GREETING = struct.Struct("<c4sHH")
NUMBER = struct.Struct("<cH")
FRAME = struct.Struct("<cHHQBqII")
DONE = struct.Struct("<HQ")

VERSION = 2
JOIN = GREETING.pack(b"J", b"SBRG", VERSION, 0)
WELCOME = GREETING.pack(b"W", b"SBRG", VERSION, 4)
LEAVES = 0xFFFF
"""In a record, in place of a slot."""

PLANE: dict[str, Any] = {
    "buffer": 0, "dtype": "uint8", "shape": [16, 64], "strides": [64, 1], "offset": 0,
    "pitch": None, "modifier": 0,
}  # fmt: skip
META: dict[str, Any] = {"regions": [], "metadata": {}, "entries": []}


def layout(**changes: Any) -> bytes:
    """The description of a gray picture of 64 x 16."""
    frame = {
        "planes": [{**PLANE, **changes}],
        "image": {"format": "GRAY8", "width": 64, "height": 16},
        "pts": None, "time_base": None, **META,
    }  # fmt: skip
    return json.dumps({"readonly": True, "frame": frame}).encode()


def pass_on(sock: socket.socket, packet: bytes, numbers: list[int]) -> None:
    """Send a packet with the number of this process and so many descriptors."""
    own = struct.pack("iII", os.getpid(), os.getuid(), os.getgid())
    rights = array.array("i", numbers).tobytes()
    along = [(socket.SOL_SOCKET, 2, own), (socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
    sock.sendmsg([packet], along[: 2 if numbers else 1])


def welcome(sock: socket.socket) -> socket.socket:
    """Let a reader join, as a writer does; where it gives frames back is the caller's to close."""
    returns, theirs = socket.socketpair()
    with theirs:
        pass_on(sock, WELCOME, [theirs.fileno()])
    returns.settimeout(20)
    return returns


def welcomed(sock: socket.socket, credits: int | None = None) -> socket.socket:
    """Receive a welcome, as a reader does, and where to give frames back: the caller's to close."""
    packet, (number,), _, _ = socket.recv_fds(sock, 100, 1)
    assert packet[:5] == b"WSBRG"
    if credits is not None:
        assert packet == GREETING.pack(b"W", b"SBRG", VERSION, credits)
    return socket.socket(fileno=number)


def memfd(size: int = 4096, seals: int = fcntl.F_SEAL_SHRINK) -> int:
    """A memfd of zeros, sealed as a friend does it."""
    number = os.memfd_create("forged", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(number, size)
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


def descriptors() -> int:
    """Return the number of descriptors open in this process, after collecting garbage."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
