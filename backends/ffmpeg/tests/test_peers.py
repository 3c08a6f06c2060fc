# SPDX-License-Identifier: Apache-2.0
"""Servers that ffmpeg.sink sends to: silent ones hold nothing up, others get the whole stream."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes.plugins import Aside
from samebytes_ffmpeg import FFmpegSink
from samebytes_ffmpeg._elements import _peer
from samebytes_ffmpeg._elements._file import OneFile
from samebytes_ffmpeg._elements._peer import Peer

SOON = 10.0
"""Seconds: FFmpeg's own limits are longer, or there are none."""

KNOWN = pytest.mark.skipif(
    _peer._calls() is None, reason="this PyAV's own connections cannot be replaced"
)


def frames(number: int | None = None) -> Iterator[sb.Frame[Any]]:
    for pts in count() if number is None else range(number):
        frame = sb.context("cpu").allocate_frame("I420", 64, 48, pts=pts, time_base=Fraction(1, 25))
        for plane in frame.planes:
            plane.native[...] = 3 * pts % 256
        yield frame


@contextmanager
def receiver() -> Iterator[tuple[int, list[bytes]]]:
    """A port, and what the first to connect sends; it is whole after the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        got: list[bytes] = []

        def serve() -> None:
            with suppress(OSError):
                connection = server.accept()[0]
                with connection:
                    while part := connection.recv(65536):
                        got.append(part)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], got
        thread.join(SOON)
        assert not thread.is_alive(), "the connection was not ended"


def count_in(path: Path) -> int:
    with av.open(str(path)) as container:
        return len(list(container.decode(video=0)))


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
@pytest.mark.parametrize("format_", ["mpegts", "flv", "matroska", "nut"])
@pytest.mark.parametrize("known", [pytest.param(True, marks=KNOWN), False])
def test_a_server_gets_the_whole_stream(
    known: bool, format_: str, codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.setattr(_peer, "_calls", lambda: None)
    if (format_, codec) == ("flv", "mpeg4"):
        codec = "flv"
    with receiver() as (port, got):
        sink = FFmpegSink(f"tcp://127.0.0.1:{port}", codec, format=format_)
        el.Pipeline(frames(70), sink).run()
    path = tmp_path / "received"
    path.write_bytes(b"".join(got))
    assert count_in(path) == 70


@KNOWN
@pytest.mark.usefixtures("default_signals")
def test_what_was_sent_before_ctrl_c_is_whole(tmp_path: Path) -> None:
    """The other side takes it, so that nothing is cut off in the middle."""
    given = 0

    def slow() -> Iterator[sb.Frame[Any]]:
        nonlocal given
        for frame in frames():
            given += 1
            if given == 40:
                signal.raise_signal(signal.SIGINT)
            yield frame

    with receiver() as (port, got):
        pipe = el.Pipeline(slow(), FFmpegSink(f"tcp://127.0.0.1:{port}", format="mpegts"))
        with pytest.raises(KeyboardInterrupt):
            pipe.run(threads=0)
    path = tmp_path / "received.ts"
    path.write_bytes(b"".join(got))
    assert count_in(path) == 39


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@KNOWN
@pytest.mark.parametrize("scheme", ["rtmp", "rtmpt", "tls", "https", "ftp"])
def test_a_silent_server_is_stopped_from_outside(scheme: str) -> None:
    before = open_files()
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"{scheme}://me:pw@127.0.0.1:{server.getsockname()[1]}/live/key"
        began = 0.0
        with el.Pipeline(frames(), FFmpegSink(url, format="flv", codec="flv")).start() as out:
            time.sleep(0.5)
            began = time.monotonic()
            out.stop()
        assert time.monotonic() - began < SOON
    deadline = time.monotonic() + SOON  # a call that was given up ends soon
    while _peer._open or open_files() > before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@KNOWN
@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_before_anything_was_sent() -> None:
    """The encoder holds all frames, and the end of the stream would connect."""

    def struck() -> Iterator[sb.Frame[Any]]:
        for number, frame in enumerate(frames()):
            if number == 3:
                signal.raise_signal(signal.SIGINT)
            yield frame

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"rtmp://127.0.0.1:{server.getsockname()[1]}/live/key"
        pipe = el.Pipeline(struck(), FFmpegSink(url, format="flv"))
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            pipe.run(threads=0)
        assert time.monotonic() - began < SOON


@KNOWN
def test_options_reach_the_protocol() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"rtmp://127.0.0.1:{server.getsockname()[1]}/live/key"
        sink = FFmpegSink(
            url, format="flv", codec="flv", container_options={"rw_timeout": "200000"}
        )
        with pytest.raises(ElementError):
            el.Pipeline(frames(), sink).run()
    assert not _peer._open


@pytest.mark.together
def test_an_rtsp_server_that_is_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"rtsp://me:pw@127.0.0.1:{server.getsockname()[1]}/live"
        began = time.monotonic()
        with pytest.raises(ElementError, match="cannot write the frame") as caught:
            el.Pipeline(frames(), FFmpegSink(url, format="rtsp")).run()
        assert 3 < time.monotonic() - began < 9.5, "it waits once, for 5 s"
    assert "pw@" not in str(caught.value)


@KNOWN
def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    sink = FFmpegSink(f"tcp://me:pw@127.0.0.1:{port}", format="mpegts")
    with pytest.raises(ElementError, match="nothing listens") as caught:
        el.Pipeline(frames(), sink).run()
    assert "pw@" not in str(caught.value)
    assert not _peer._open


def test_a_container_that_connects_itself_has_no_peer() -> None:
    with av.open("rtsp://127.0.0.1/x", "w", format="rtsp") as container:
        assert not Peer.needed(container)


def test_an_interrupt_that_comes_before_the_wait_ends_it(tmp_path: Path) -> None:
    """A pipeline that stops asks once, where a sink may have just begun to open a file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    file = OneFile(str(fifo), "mpegts", {}, "ffmpeg.sink")
    file.interrupt()
    with pytest.raises(Aside.GivenUpError):
        file.open()
    os.close(os.open(fifo, os.O_RDWR))  # for the thread that is still in open()
    file.close(failed=True, stopping=True)


def test_pipes_and_files_by_the_names_that_ffmpeg_has_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    el.Pipeline(frames(5), FFmpegSink(f"pipe:{writer}", "mpeg4", format="matroska")).run()
    with suppress(OSError):  # FFmpeg may have closed it
        os.close(writer)
    Path("12:30.mkv").write_bytes(os.read(reader, 1 << 16))
    os.close(reader)
    sink = FFmpegSink("file:made.mkv", "ffv1")
    el.Pipeline(el.create("ffmpeg.source", "file:12:30.mkv"), sink).run()
    assert len(list(el.Pipeline(el.create("ffmpeg.source", "made.mkv")).start())) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["12:30.mkv", "made.mkv"]
    with el.Pipeline(el.create("ffmpeg.source", "file:made.mkv")).start(threads=0) as out:
        next(out)
        # Files are read without the thread that waits for connections.
        assert not [one.name for one in threading.enumerate() if one.name.endswith(" waits")]
    with pytest.raises(ElementError, match="would be overwritten while it is read"):
        el.Pipeline(el.create("ffmpeg.source", "file:made.mkv"), FFmpegSink("made.mkv")).run()


@pytest.mark.pyav17
def test_a_container_that_needs_to_seek_says_what_a_pipe_takes(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with pytest.raises(
        ElementError, match=r"mp4 cannot be written to a pipe .*'matroska'"
    ) as caught:
        el.Pipeline(frames(5), FFmpegSink(f"pipe:{writer}", "mpeg4", format="mp4")).run()
    named = re.search(r"'movflags': '([\w+]+)'", str(caught.value))
    assert named is not None
    parts = {"movflags": named[1]}
    sink = FFmpegSink(f"pipe:{writer}", "mpeg4", format="mp4", container_options=parts)
    el.Pipeline(frames(5), sink).run()
    with suppress(OSError):
        os.close(writer)
    made = tmp_path / "made.mp4"
    made.write_bytes(os.read(reader, 1 << 16))
    os.close(reader)
    with av.open(str(made)) as container:
        assert len(list(container.decode(video=0))) == 5


@pytest.mark.pyav17
def test_an_error_blames_a_pipe_only_where_the_container_seeks() -> None:
    reader, writer = os.pipe()
    given = [av.VideoFrame(64, 48, "rgb24")]
    with pytest.raises(ElementError, match="matroska has no place for raw rgb24"):
        el.Pipeline(given, FFmpegSink(f"pipe:{writer}", "rawvideo", format="matroska")).run()
    with suppress(OSError):
        os.close(writer)
    os.close(reader)
