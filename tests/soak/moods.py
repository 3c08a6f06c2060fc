# SPDX-License-Identifier: Apache-2.0
"""A camera on this machine in every mood that one has in some month."""

from __future__ import annotations

import random
import socket
import threading
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any

import samebytes as sb
import samebytes.elements as el

from .connections import transport_stream
from .rtsp import Interleaved, shake_hands

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MOODS", "MoodyCamera"]

Connection = socket.socket | Interleaved

_REFUSED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@cache
def _plain() -> bytes:
    return transport_stream(25, 160, 96)


@cache
def _small() -> bytes:
    return transport_stream(12, 96, 64)


@cache
def _turned() -> bytes:
    """In another container and format, and turned by 90 degrees."""

    def pictures() -> list[sb.Frame[Any]]:
        made = [sb.context("cpu").allocate_frame("I420", 160, 96) for _ in range(20)]
        for number, frame in enumerate(made):
            frame.meta.pts = number
            frame.metadata["rotation"] = 90
            for plane in frame.planes:
                plane.native[...] = number * 10
        return made

    with TemporaryDirectory() as folder:
        path = Path(folder) / "turned.mkv"
        el.Pipeline(pictures(), el.create("ffmpeg.sink", path, codec="mpeg4", rate=25)).run()
        return path.read_bytes()


def _whole(_: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_plain())


def _drops(camera: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_plain()[: camera.random.randrange(len(_plain()))])


def _silent(camera: MoodyCamera, connection: Connection) -> None:
    camera.hold(connection)


def _stalls(camera: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_plain()[: camera.random.randrange(len(_plain()))])
    camera.hold(connection)


def _jumps(_: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_plain() * 3)


def _resizes(_: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_plain() + _small())


def _turns(_: MoodyCamera, connection: Connection) -> None:
    connection.sendall(_turned())


def _lies(camera: MoodyCamera, connection: Connection) -> None:
    connection.sendall(camera.random.randbytes(20_000))


def _refuses(_: MoodyCamera, connection: Connection) -> None:
    connection.recv(4096)
    connection.sendall(_REFUSED)


def _leaves(_: MoodyCamera, __: Connection) -> None:
    """Says nothing and goes."""


MOODS = {
    "whole": _whole, "drops": _drops, "silent": _silent, "stalls": _stalls, "jumps": _jumps,
    "resizes": _resizes, "turns": _turns, "lies": _lies, "refuses": _refuses, "leaves": _leaves,
}  # fmt: skip


class MoodyCamera:
    """Accepts connections one after another, and is in another mood for each.

    Args:
        seed: of its moods.
        steady: of one size and format, and never without end, so that all of it can be recorded.

    Attributes:
        moods: how often it was in each.
        moods_to_have: by name.
        speaks_rtsp: it waits until it is asked for pictures, and sends them in packets.
    """

    def __init__(self, seed: int, *, steady: bool) -> None:
        self.random = random.Random(seed)
        self.moods: Counter[str] = Counter()
        self.speaks_rtsp = False
        steady_ones = ["whole", "drops", "stalls", "jumps", "leaves"]
        self.moods_to_have = steady_ones if steady else [*MOODS]
        self._server = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def port(self) -> int:
        """The port on which the camera is reached."""
        port: int = self._server.getsockname()[1]
        return port

    def hold(self, connection: Connection) -> None:
        """Keep a connection open, and say nothing more."""
        self._held.append(connection.dup())

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            mood = self.random.choice(self.moods_to_have)
            self.moods[mood] += 1
            while len(self._held) > 4:
                self._held.pop(0).close()
            connection.settimeout(5)  # whoever was stopped reads no more
            with connection, suppress(OSError):
                spoken = shake_hands(connection) if self.speaks_rtsp else connection
                if spoken is not None:
                    MOODS[mood](self, spoken)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        # close() alone does not wake a thread in accept().
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for connection in self._held:
            connection.close()
