# SPDX-License-Identifier: Apache-2.0
"""The rule that planes keep their order, even if two of them have the same layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..._core.memory.frame import Frame
from ...errors import SamebytesError
from .book import BrokenRule, NotChecked, rule
from .subjects import Array, same

__all__ = ["planes_keep_their_places"]

_Arrays = Sequence[Array]

# Two or three of their planes have the same shape.
_ALIKE = ("I420", "I444", "RGBP", "I420_10")


@rule(
    "1.6",
    "planes keep their places",
    means="colours are wrong: chroma is read from the wrong plane",
    do="connect() returns the natives of the planes in the order of the format",
)
def planes_keep_their_places(
    make: Callable[[str], Frame],
    map_: Callable[[Frame], Frame],
    write: Callable[[Frame], _Arrays],
    read: Callable[[Frame], _Arrays],
) -> str:
    """Map a frame of each format in which planes could be mistaken for one another.

    Args:
        make: makes a frame of a format; it raises if the source lacks the format.
        map_: the mapping, for reading.
        write: fills the planes of a frame with values that differ from plane to plane.
        read: what the planes of a mapped frame hold, in whatever shapes the target has.

    Returns:
        The formats that the mapping took.

    Raises:
        BrokenRule: a plane holds what another one should.
        NotChecked: the mapping takes none of these formats.
    """
    taken = []
    for name in _ALIKE:
        try:
            frame = make(name)
        except Exception:  # the source's framework has no such frames, and has its own errors
            continue
        values = write(frame)
        try:
            mapped = map_(frame)
        except SamebytesError:
            continue
        found = read(mapped)
        for number, (ours, theirs) in enumerate(zip(values, found, strict=True)):
            if not same([ours], [theirs]):
                raise BrokenRule(f"plane {number} of {name} holds other bytes after mapping")
        taken.append(name)
    if not taken:
        raise NotChecked(f"it takes none of {', '.join(_ALIKE)}")
    return ", ".join(taken)
