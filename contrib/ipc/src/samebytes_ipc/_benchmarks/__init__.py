# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of sockets in `samebytes bench`: tensors and frames by descriptor."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_ipc._benchmarks.ways"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160))

BENCHMARKS = [
    Benchmark(
        name="a tensor through a socket",
        what="A tensor is sent through a socket, received and dropped",
        make=f"{_WAYS}:through_socket",
        sizes=_SIZES,
        beside="socket.send_fds() and recv_fds()",
    ),
    Benchmark(
        name="a frame through a socket, NV12",
        what="A frame is sent through a socket, received and dropped",
        make=f"{_WAYS}:frame_through_socket",
        sizes=_SIZES,
        beside="socket.send_fds() and recv_fds()",
    ),
]
