# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.source with a connection that breaks, waits, or is stopped from outside."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes_ffmpeg import FFmpegSource


def seconds(frames: Any) -> list[Fraction]:
    return [frame.meta.pts * frame.meta.time_base for frame in frames]


def transport_stream(path: Path, frames: int) -> bytes:
    with av.open(str(path), "w", format="mpegts") as container:
        stream = container.add_stream("mpeg2video", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        noise = np.random.default_rng(1)
        for number in range(frames):
            picture = noise.integers(0, 255, (360, 320), np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path.read_bytes()


@contextmanager
def camera(*parts: bytes | None) -> Iterator[str]:
    """A server that gives each connection one part and ends; after None it sends nothing more."""
    server = socket.create_server(("127.0.0.1", 0))
    silent: list[socket.socket] = []

    def serve() -> None:
        for number, part in enumerate(parts):
            if part is None:
                return
            connection, _ = server.accept()
            with suppress(OSError):
                connection.sendall(part)
            if parts[number + 1 : number + 2] == (None,):
                silent.append(connection)
            else:
                connection.close()
        server.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()
        for connection in silent:
            connection.close()
        thread.join(10)


QUICK = {"probesize": "65536", "analyzeduration": "100000"}


def test_a_live_source_connects_again_and_gives_up(tmp_path: Path) -> None:
    part = transport_stream(tmp_path / "part.ts", 20)
    with camera(part, part) as url:
        source = FFmpegSource(url, live=True, reconnect=2, pause=0.01, options=QUICK)
        given: list[Fraction] = []
        with pytest.raises(ElementError, match="2 attempts to connect again failed") as caught:
            given.extend(seconds(iter_into(el.Pipeline(source).start(), given)))
    assert caught.value.element == "ffmpeg.source"
    assert len(given) > 20
    assert given == sorted(set(given))


def iter_into(frames: Any, given: list[Fraction]) -> Iterator[Any]:
    for frame in frames:
        given.append(frame.meta.pts * frame.meta.time_base)
        del frame
    yield from ()


class Watched(FFmpegSource):
    """Counts the reads that have begun."""

    reads = 0

    def read(self) -> av.VideoFrame | None:
        self.reads += 1
        return super().read()


def stop_in_read(source: Watched) -> None:
    """Stop a pipeline whose source has given all that there is, and waits."""
    with el.Pipeline(source).start(queue=100) as out:
        next(out)
        before = -1
        while source.reads != before:
            before = source.reads
            time.sleep(0.3)
    # A read that goes on waiting would have been an ElementError here.
    assert out.stopped


def test_a_read_that_waits_is_ended_from_outside(tmp_path: Path) -> None:
    part = transport_stream(tmp_path / "part.ts", 40)
    with camera(part, None) as url:
        stop_in_read(Watched(url, live=True, timeout=600, options=QUICK))


def test_a_wait_for_the_next_attempt_is_ended_from_outside(tmp_path: Path) -> None:
    part = transport_stream(tmp_path / "part.ts", 20)
    with camera(part) as url:
        stop_in_read(Watched(url, live=True, reconnect=50, pause=30, options=QUICK))


def test_a_source_is_stopped_while_its_decoder_logs(tmp_path: Path) -> None:
    """FFmpeg's log goes through Python where a program asks for it: av.logging.set_level()."""
    made = tmp_path / "made.mp4"
    pictures = [av.VideoFrame(64, 64, "yuv420p") for _ in range(60)]
    el.Pipeline(pictures, el.create("ffmpeg.sink", made, options={"g": "5"})).run()
    child = f"""
import av.logging
av.logging.set_level(av.logging.DEBUG)
import samebytes.elements as el
for number in range(100):
    with el.Pipeline(el.create("ffmpeg.source", {str(made)!r})).start(threads=0) as out:
        for count, frame in zip(range(1 + number % 9), out):
            pass
print("stopped")
"""
    done = subprocess.run(
        [sys.executable, "-c", child], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "stopped\n", done.stderr
