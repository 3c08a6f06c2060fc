# SPDX-License-Identifier: Apache-2.0
"""Processes that own what was pickled, and end."""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler

import samebytes
from samebytes import Frame
from samebytes_ipc._pickle.offers import offers

__all__ = ["abandoned", "pickled", "picture"]


def picture(value: int) -> Frame:
    """A frame in memory of "dma" that is filled with a number."""
    frame = samebytes.context("dma").allocate_frame("GRAY8", 64, 16)
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    return frame


def pickled(value: int) -> bytes:
    """One that another process may fetch."""
    return bytes(ForkingPickler.dumps(picture(value)))


def abandoned() -> tuple[bytes, bytes]:
    """A pickle whose process has ended, and the address in it, which is free again."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            made = pickled(5)
            assert offers._listener is not None
            os.write(writing, offers._listener.getsockname() + made)
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    assert os.waitpid(child, 0) == (child, 0)
    address, made = said.split(b"\x80", 1)
    return address, b"\x80" + made
