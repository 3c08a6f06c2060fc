# SPDX-License-Identifier: Apache-2.0
"""Processes that own what was pickled, and end."""

from __future__ import annotations

import io
import os
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

import samebytes
from samebytes import Frame

__all__ = ["abandoned", "addressed_to", "fetched_with", "pickled", "picture"]


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
            os.write(writing, pickled(5))
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        made = file.read()
    assert os.waitpid(child, 0) == (child, 0)
    return fetched_with(made)[0], made


class _Call:
    """Pickled as a call of a function."""

    def __init__(self, function: Any, given: tuple[bytes, bytes]) -> None:
        self.function, self.given = function, given

    def __reduce__(self) -> tuple[Any, tuple[bytes, bytes]]:
        return self.function, self.given


class _Calls(pickle.Unpickler):
    """Gives the call that is in a pickle, in place of what it would return."""

    def find_class(self, module: str, name: str) -> Any:
        function = super().find_class(module, name)
        return lambda *given: _Call(function, given)


def fetched_with(made: bytes) -> tuple[bytes, bytes]:
    """The address of the process that hands out what was pickled, and the key that it wants."""
    given: tuple[bytes, bytes] = _Calls(io.BytesIO(made)).load().given
    return given


def addressed_to(address: bytes) -> bytes:
    """A pickle that is fetched at an address."""
    call = _Calls(io.BytesIO(abandoned()[1])).load()
    return pickle.dumps(_Call(call.function, (address, b"k" * 16)))
