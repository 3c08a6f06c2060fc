# SPDX-License-Identifier: Apache-2.0
"""A camera on this machine whose connection breaks off again and again."""

from __future__ import annotations

import io
import random
import socket
import threading
from contextlib import suppress
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING

import av
import numpy as np

if TYPE_CHECKING:
    from typing import Self

__all__ = ["QUICK", "Camera", "transport_stream"]

QUICK = {"probesize": "65536", "analyzeduration": "100000"}
"""Options with which FFmpeg opens such a connection soon."""


def transport_stream(frames: int, width: int = 320, height: int = 240) -> bytes:
    """A video as cameras send it: noise, so that its packets are large."""
    written = io.BytesIO()
    with av.open(written, "w", format="mpegts") as container:
        stream = container.add_stream("mpeg2video", rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        noise = np.random.default_rng(1)
        for number in range(frames):
            picture = noise.integers(0, 255, (height * 3 // 2, width), np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return written.getvalue()


class Camera:
    """Accepts connections one after another, and closes each in the middle of a packet.

    Args:
        video: what is sent, from its beginning each time.
        seed: of where it breaks off.

    Attributes:
        accepted: how many connections there were.
    """

    def __init__(self, video: bytes, seed: int) -> None:
        self._video = video
        self._random = random.Random(seed)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.accepted = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        """The URL at which the camera is reached."""
        return f"tcp://127.0.0.1:{self._server.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.accepted += 1
            end = self._random.randrange(len(self._video) // 2, len(self._video))
            with connection, suppress(OSError):
                connection.sendall(self._video[:end])

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
