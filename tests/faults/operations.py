# SPDX-License-Identifier: Apache-2.0
"""The operations whose native calls are made to fail, each whole: it ends with nothing left."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

import samebytes
import samebytes_ipc
from samebytes import Frame

__all__ = ["DROPS", "OPERATIONS", "STRUCK_TOO", "Operation", "WrongBytesError"]

Operation = Callable[[], None]

_NODES = (
    "cpu", "ffmpeg", "dma", "opencl", "level_zero", "vaapi", "openvino:GPU", "openvino:NPU",
)  # fmt: skip
# Where the memory is shared without a copy.
_EDGES = (
    ("cpu", "ffmpeg"), ("cpu", "opencl"), ("cpu", "openvino:GPU"), ("cpu", "openvino:NPU"),
    ("cpu", "level_zero"), ("dma", "opencl"), ("dma", "level_zero"),
    ("dma", "openvino:GPU"), ("dma", "openvino:NPU"), ("dma", "vaapi"), ("dma", "ffmpeg:DRM"),
    ("vaapi", "dma"), ("vaapi", "opencl"), ("vaapi", "openvino:GPU"), ("vaapi", "ffmpeg:DRM"),
    ("opencl", "openvino:GPU"), ("openvino:GPU", "opencl"), ("level_zero", "openvino:NPU"),
    ("openvino:NPU", "level_zero"),
)  # fmt: skip
_SIZE = (512, 256)


class WrongBytesError(AssertionError):
    """An operation succeeded, and what it made reads something else."""


def _frame(node: str) -> Frame:
    # Whole rows without modifiers go everywhere.
    how: Any = {"modifiers": (0,)} if node == "vaapi" else {}
    return samebytes.context(node).allocate_frame("NV12", *_SIZE, **how)


def _fill(frame: Frame, value: int) -> None:
    with frame.map("cpu", "w") as view:
        for plane in view.native:
            plane[...] = value


def _check(frame: Frame, value: int) -> None:
    with frame.map("cpu", "r") as view:
        for plane in view.native:
            if not (np.asarray(plane) == value).all():
                raise WrongBytesError(f"{frame} reads {np.asarray(plane).max()}, not {value}")


def _allocate(node: str) -> Operation:
    def run() -> None:
        with _frame(node) as frame:
            assert len(frame.planes) == 2

    return run


def _map(node: str) -> Operation:
    frame = _frame(node)

    def run() -> None:
        _fill(frame, 3)
        view = frame.map("cpu", "rw")
        view.native[0][...] = 7
        view.native[1][...] = 7
        view.flush()
        view.wait()
        view.close()
        _check(frame, 7)

    return run


def _share(node: str, target: str) -> Operation:
    frame = _frame(node)
    _fill(frame, 5)

    def run() -> None:
        with frame.map(target, "r") as shared:
            _check(shared, 5)

    return run


def _import(node: str, target: str) -> Operation:
    def run() -> None:
        with _frame(node) as frame:
            _fill(frame, 5)
            with frame.map(target, "r") as shared:
                _check(shared, 5)

    return run


def _pass_on_descriptors() -> Operation:
    frame: Any = _frame("dma")
    buffer = frame.planes[0].native.buffer

    def run() -> None:
        with buffer.dup() as fd:
            os.close(fd.dup().detach())

    return run


def _copy(node: str, target: str) -> Operation:
    frame = _frame(node)
    _fill(frame, 6)

    def run() -> None:
        with frame.map(target, "r", copy=True) as copied:
            _check(copied, 6)

    return run


def _derive(node: str, target: str) -> Operation:
    def run() -> None:
        source = samebytes.context(node)
        with source.derive(target) as made:
            tensor: Any = made.allocate((64, 64), "uint8")
            tensor.close()

    return run


def _send() -> Operation:
    frame = _frame("dma")
    _fill(frame, 9)

    def run() -> None:
        here, there = socket.socketpair()
        with here, there:
            there.settimeout(5)
            samebytes_ipc.send(here, frame)
            here.close()
            with samebytes_ipc.receive(there) as received:
                assert isinstance(received, Frame)
                _check(received, 9)

    return run


def _drop(node: str) -> Operation:
    def run() -> None:
        for order in permutations(range(3)):
            frame = _frame(node)
            view = frame.map("cpu", "rw")
            held: list[Any] = [frame, view, view.native]
            del frame, view
            held[2][0][...] = 4
            for number in order[:2]:
                held[number] = None
            last = held[order[2]]
            if isinstance(last, Frame):
                with last.map("cpu", "r") as again:
                    assert (again.native[0] == 4).all()
            else:
                assert (last[0] == 4).all()

    return run


DROPS = {f"drop {node}": partial(_drop, node) for node in _NODES}
"""Each order in which a frame, a mapping and its arrays can be dropped; under valgrind, for one."""
STRUCK_TOO: dict[str, Callable[[], Operation]] = {
    **{
        f"import dma -> {node}": partial(_import, "dma", node)
        for node in ("opencl", "level_zero", "vaapi", "openvino:GPU")
    },
    "allocate ffmpeg:VAAPI": partial(_allocate, "ffmpeg:VAAPI"),
    "descriptors dma": _pass_on_descriptors,
    "copy cpu -> vaapi": partial(_copy, "cpu", "vaapi"),
    "copy cpu -> opencv_umat": partial(_copy, "cpu", "opencv_umat"),
}
"""More that is struck at random moments: imports of new memory, which OPERATIONS finds in caches
after the first time, and others that reach more sites."""
OPERATIONS: dict[str, Callable[[], Operation]] = {
    **{f"allocate {node}": partial(_allocate, node) for node in _NODES},
    **{f"map {node}": partial(_map, node) for node in _NODES},
    **{f"{a} -> {b}": partial(_share, a, b) for a, b in _EDGES},
    "copy vaapi -> openvino:NPU": partial(_copy, "vaapi", "openvino:NPU"),
    "copy level_zero -> opencl": partial(_copy, "level_zero", "opencl"),
    "derive opencl -> openvino:GPU": partial(_derive, "opencl", "openvino:GPU"),
    "derive openvino:GPU -> opencl": partial(_derive, "openvino:GPU", "opencl"),
    "derive openvino:NPU -> level_zero": partial(_derive, "openvino:NPU", "level_zero"),
    "derive vaapi -> opencl": partial(_derive, "vaapi", "opencl"),
    "send and receive": _send,
}
"""By name: makes the operation, which is then run again and again."""
