# SPDX-License-Identifier: Apache-2.0
"""Services that sources connect to, all on this machine: a camera, an RTSP server, a cluster."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from .material import HEIGHT, RATE, WIDTH, picture

__all__ = ["PICTURES", "QUICK", "RTSP", "cluster", "connection", "rtsp"]

QUICK = {"probesize": "65536", "analyzeduration": "100000"}
RTSP = {"rtsp_transport": "tcp", "analyzeduration": "200000"}
PICTURES = 8
"""The number of different pictures that the camera shows."""

_SERVER = """
import itertools, sys, threading, time
import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
caps, rate, *paths = sys.argv[1:]
shown = [open(path, "rb").read() for path in paths]

def show(source):
    for picture in itertools.cycle(shown):
        if source.emit("push-buffer", Gst.Buffer.new_wrapped(picture)) != Gst.FlowReturn.OK:
            return
        time.sleep(1 / int(rate))

def configured(factory, media):
    source = media.get_element().get_by_name("in")
    threading.Thread(target=show, args=[source], daemon=True).start()

server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service("0")
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    f'( appsrc name=in is-live=true do-timestamp=true format=time caps="{caps}" ! '
    "rtpjpegpay name=pay0 pt=26 )"
)
factory.connect("media-configure", configured)
server.get_mount_points().add_factory("/door", factory)
assert server.attach(None), "the port is taken"
print(server.get_bound_port(), flush=True)
loop = GLib.MainLoop()
threading.Thread(target=lambda: (sys.stdin.read(), loop.quit()), daemon=True).start()
loop.run()
"""


@contextmanager
def connection(video: Path) -> Iterator[str]:
    """A camera that sends a video to whoever connects, and then sends nothing; gives its address.

    Args:
        video: what it sends.
    """
    server = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                one, _ = server.accept()
                connections.append(one)
                with suppress(OSError):
                    one.sendall(video.read_bytes())

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
    finally:
        with suppress(OSError):  # close() alone does not wake a thread in accept()
            server.shutdown(socket.SHUT_RDWR)
        for one in connections:
            one.close()
        server.close()
        serving.join()


@contextmanager
def rtsp(folder: Path) -> Iterator[str]:
    """A server in a process of its own that shows pictures in turns; gives the camera's address.

    Args:
        folder: for the pictures.
    """
    paths = [folder / f"shown{number}.jpg" for number in range(PICTURES)]
    for number, path in enumerate(paths):
        _write_jpeg(path, number)
    caps = f"image/jpeg,width={WIDTH},height={HEIGHT},framerate={RATE}/1"
    arguments = [caps, str(RATE), *map(str, paths)]
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            yield f"rtsp://127.0.0.1:{int(server.stdout.readline())}/door"
        finally:
            server.kill()


def _write_jpeg(path: Path, number: int) -> None:
    planes = picture(number)
    stacked = np.concatenate([plane.ravel() for plane in planes]).reshape(HEIGHT * 3 // 2, WIDTH)
    frame = av.VideoFrame.from_ndarray(stacked, "yuvj420p")
    with av.open(str(path), "w", format="image2") as output:
        stream: Any = output.add_stream("mjpeg", rate=RATE, options={"qmin": "1", "qmax": "2"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuvj420p"
        frame.pts, frame.time_base = 0, Fraction(1, RATE)
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


@contextmanager
def cluster() -> Iterator[None]:
    """A cluster of Ray with one node, which this process is connected to."""
    import ray
    from ray.cluster_utils import Cluster

    started = Cluster()
    try:
        # An address of the loopback interface; Ray would replace 127.0.0.1.
        started.add_node(
            node_ip_address="127.0.0.2", include_dashboard=False, num_cpus=1,
            object_store_memory=100 << 20,
        )  # fmt: skip
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()
    finally:
        started.shutdown()
