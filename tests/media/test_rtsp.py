# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.source and RTSP: a camera that goes away and comes back. The server is GStreamer's."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

gi = pytest.importorskip("gi", reason="missing package gi: pip install PyGObject")
pytest.importorskip("av", reason="missing package av: pip install av")
try:
    gi.require_version("GstRtspServer", "1.0")
except ValueError:
    pytest.skip(
        "missing package gir1.2-gst-rtsp-server-1.0: apt install gir1.2-gst-rtsp-server-1.0",
        allow_module_level=True,
    )

# The port is the first line that it prints. It ends with its standard input.
SERVER = """
import sys, threading
import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    "( videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=160,height=128,"
    "framerate=25/1 ! jpegenc ! rtpjpegpay name=pay0 pt=26 )"
)
server.get_mount_points().add_factory("/door", factory)
assert server.attach(None), "the port is taken"
print(server.get_bound_port(), flush=True)
loop = GLib.MainLoop()
threading.Thread(target=lambda: (sys.stdin.read(), loop.quit()), daemon=True).start()
loop.run()
"""


@contextmanager
def camera(port: int = 0) -> Iterator[int]:
    """A server in a process of its own; gives its port."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            said = server.stdout.readline()
            if not said:
                pytest.skip("no RTSP server can be started here: loopback is closed")
            yield int(said)
        finally:
            server.kill()


def source(port: int, **parameters: object) -> el.Element:
    return el.create(
        "ffmpeg.source",
        f"rtsp://127.0.0.1:{port}/door",
        live=True,
        timeout=3.0,
        options={"rtsp_transport": "tcp", "analyzeduration": "200000"},
        **parameters,
    )


def seconds(frame: sb.Frame) -> Fraction:
    assert frame.pts is not None
    assert frame.meta.time_base is not None
    return frame.pts * frame.meta.time_base


@pytest.mark.parametrize("threads", [0, 1])
def test_the_frames_of_an_rtsp_camera(threads: int) -> None:
    sb.reset_stats()
    with (
        camera() as port,
        el.Pipeline(source(port)).start(threads=threads, when_full="drop-oldest") as out,
    ):
        frames = [next(out) for _ in range(10)]
    assert {(frame.width, frame.height, frame.context.node) for frame in frames} == {
        (160, 128, "ffmpeg")
    }
    times = [seconds(frame) for frame in frames]
    assert times == sorted(set(times))
    assert frames[0].map("cpu").planes[0].native.max() > 150  # the ball
    assert sb.stats().copied_bytes == 0


def test_a_camera_that_comes_back() -> None:
    """The connection is made again at the same address, and times go on."""
    times: list[Fraction] = []
    with camera() as port:
        running = el.Pipeline(source(port, reconnect=1000, pause=0.2)).start()
        times += [seconds(next(running)) for _ in range(5)]
    with running:
        # What was on its way comes first. Then the source tries in vain, until there is a server.
        came: list[Fraction] = []
        reader = threading.Thread(
            target=lambda: came.extend(seconds(frame) for frame in running), daemon=True
        )
        reader.start()
        time.sleep(1)
        before = len(came)
        with camera(port):
            until = time.monotonic() + 30
            while len(came) < before + 10 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(came) >= before + 10, "the source did not come back"
            running.stop()
    reader.join(20)
    assert not reader.is_alive()
    times += came
    assert times == sorted(set(times))


def test_a_camera_that_stays_away() -> None:
    with camera() as port:
        running = el.Pipeline(source(port, reconnect=2, pause=0.05)).start()
        next(running)
    with pytest.raises(ElementError, match=r"2 attempts to connect again failed.*"):
        list(running)
    with pytest.raises(ElementError, match="FFmpeg cannot open it"):
        el.Pipeline(source(port, reconnect=1, pause=0.05)).run()
