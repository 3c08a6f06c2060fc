# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's model: pieces of memory, their contents over time, and who sees which of them.

A piece of memory has versions: each write of the fuzzer makes the next one. Whoever sees the memory
itself reads the latest. Whoever sees it through a driver's mapping reads the version from when that
was made, or a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from samebytes import Frame, Tensor
from samebytes.errors import CopyRequiredError

from ..matrix.sources import IMAGES, SOURCES, TENSORS

__all__ = ["MAKERS", "Held", "Memory", "View", "arrays_of", "contents", "make", "pattern", "put"]

_LAYOUTS = TENSORS | IMAGES
# The CPU neither reads nor copies device USM of Level Zero: nothing could be said of its bytes.
MAKERS = [
    (name, layout)
    for name, source in SOURCES.items()
    if name != "level_zero, device USM"
    for layout in source.layouts
    if layout != "read-only"
]

Item = Tensor | Frame
Bytes = tuple[bytes, ...]


def make(name: str, layout: str) -> Item:
    """A new object of a row of the matrix."""
    return SOURCES[name].make(_LAYOUTS[layout])


def pattern(seed: int, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values in which neighbours, rows and planes differ, of any element type."""
    values = (np.arange(like.size, dtype=np.uint64) * 37 + seed * 101) % 251
    return values.astype(np.uint8).astype(like.dtype).reshape(like.shape)


def arrays_of(view: Item) -> tuple[np.ndarray[Any, Any], ...]:
    """The planes of something in CPU memory."""
    return tuple(p.native for p in view.planes) if isinstance(view, Frame) else (view.native,)


def contents(item: Item) -> Bytes:
    """Return the bytes of each plane, read through a mapping or a copy that is then given back."""
    try:
        view = item.map("cpu", "r")
    except CopyRequiredError:
        view = item.map("cpu", "r", copy=True)
    with view:
        return tuple(array.tobytes() for array in arrays_of(view))


def put(item: Item, seed: int, access: Any) -> Bytes:
    """Overwrite all that an object sees; what is there then."""
    with item.map("cpu", access) as view:
        arrays = arrays_of(view)
        for plane, array in enumerate(arrays):
            array[...] = pattern(seed + plane, array)
        return tuple(array.tobytes() for array in arrays)


@dataclass(eq=False)
class Memory:
    """A piece of memory and what was written to it, the oldest first.

    Attributes:
        unknown: an exception interrupted a write: nothing is known until the next one ends.
        struck: an exception interrupted a call on it, which may have leaked what holds it.
    """

    name: str
    versions: list[Bytes]
    unknown: bool = False
    struck: bool = False

    def write(self, values: Bytes) -> None:
        """The next version."""
        self.versions.append(values)
        self.unknown = False


@dataclass(eq=False)
class View:
    """One way to see a piece of memory; all that share it see each write at once.

    Attributes:
        since: the version from which on it may show; None for the memory itself, which shows
            the latest.
        writable: what it has may be written back when it ends.
    """

    memory: Memory
    since: int | None = None
    writable: bool = True

    def may_read(self) -> list[Bytes]:
        """The contents that are right now."""
        versions = self.memory.versions
        return versions[-1:] if self.since is None else versions[self.since :]


@dataclass(eq=False)
class Held:
    """Something of the fuzzer's that keeps memory alive: an object, or arrays.

    Attributes:
        item: the tensor or frame; None of arrays.
        arrays: arrays on CPU memory, read without another mapping; with `planes`, which of the
            planes they are.
        native: an object of the framework's, which is only held.
    """

    view: View
    item: Item | None = None
    arrays: tuple[np.ndarray[Any, Any], ...] = ()
    planes: tuple[int, ...] = ()
    native: Any = None
