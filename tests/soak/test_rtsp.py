# SPDX-License-Identifier: Apache-2.0
"""RTSP that ends in the middle of a packet. Longer, with all else that cameras do:
python3 dev.py soak --kind cameras."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

from .connections import QUICK, transport_stream
from .moods import MoodyCamera
from .rtsp import Interleaved, shake_hands

OPTIONS = QUICK | {"rtsp_transport": "tcp"}


def source(port: int, **more: Any) -> Any:
    address = f"rtsp://admin:secret@127.0.0.1:{port}/live"
    return el.create(
        "ffmpeg.source", address, pause=0.005, timeout=2.0, threads=1, options=OPTIONS, **more
    )  # fmt: skip


@pytest.mark.parametrize("mood", ["drops", "jumps"])
def test_a_camera_that_breaks_off_is_asked_again(mood: str) -> None:
    with MoodyCamera(3, steady=True) as camera:
        camera.speaks_rtsp = True
        camera.moods_to_have = [mood, "whole"]
        with el.Pipeline(
            source(camera.port, live=True, reconnect=100, frames=100)
        ).start() as frames:
            assert sum(1 for _ in frames) == 100
        assert camera.moods.total() > 1


@pytest.mark.parametrize("cut", [1, 3, 5, 15, 17, 200, 1327])
def test_what_came_before_the_end_in_a_packet_comes_out(cut: int) -> None:
    """The connection ends so many bytes into a packet, of which a header says that it is whole."""
    stream = transport_stream(10, 160, 96)
    whole = stream[: len(stream) // 2 // (7 * 188) * (7 * 188)]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            spoken = shake_hands(connection)
            assert spoken is not None
            spoken.sendall(whole)
            last = Torn(connection, cut)
            Interleaved(last).sendall(stream[len(whole) : len(whole) + 7 * 188])  # type: ignore[arg-type]

    with socket.create_server(("127.0.0.1", 0)) as server:
        camera = threading.Thread(target=serve)
        camera.start()
        start = time.monotonic()
        came = list[int]()
        try:
            with el.Pipeline(source(server.getsockname()[1])).start() as frames:
                came.extend(frame.pts or 0 for frame in frames)
        except ElementError as error:
            said = str(error)
            assert "the connection or device broke off" in said
            assert "secret" not in said
        camera.join(30)
        assert time.monotonic() - start < 30
    assert 2 <= len(came) < 10
    assert came == sorted(set(came))


class Torn:
    """A connection that takes so many bytes and no more."""

    def __init__(self, connection: socket.socket, most: int) -> None:
        self._connection = connection
        self._most = most

    def sendall(self, data: bytes) -> None:
        self._connection.sendall(data[: self._most])
