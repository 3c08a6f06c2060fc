# SPDX-License-Identifier: Apache-2.0
"""stats(): the count of copies that samebytes made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ._core.owner.locks import Lock

__all__ = [
    "CopyCount",
    "Stats",
    "copied_here",
    "count_conversion",
    "count_copy",
    "moved_here",
    "reset_stats",
    "stats",
]


@dataclass(frozen=True, slots=True)
class CopyCount:
    """The number of copies that one edge made, and the bytes that it copied in all.

    Of conversions, how many there were, and the bytes that they wrote.
    """

    copies: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """The copies and conversions made since start, or since `reset_stats()`.

    Attributes:
        copies: how many.
        copied_bytes: how many bytes in all.
        by_edge: the same for each edge, "source -> target".
        conversions: how many pictures `Frame.convert` made.
        converted_bytes: how many bytes it wrote in all.
        by_conversion: the same for each, "I420 -> RGB (ffmpeg)".
    """

    copies: int = 0
    copied_bytes: int = 0
    by_edge: dict[str, CopyCount] = field(default_factory=dict)
    conversions: int = 0
    converted_bytes: int = 0
    by_conversion: dict[str, CopyCount] = field(default_factory=dict)


_lock = Lock()
_counts: dict[str, list[int]] = {}
_conversions: dict[str, list[int]] = {}


class _Here(threading.local):
    """The number of bytes that each thread copied, and that its conversions wrote."""

    copied = 0
    converted = 0


_here = _Here()


def copied_here() -> int:
    """The number of bytes that the calling thread has copied since it began."""
    return _here.copied


def moved_here() -> tuple[int, int]:
    """The number of bytes that the calling thread has copied, and that its conversions wrote."""
    return _here.copied, _here.converted


def count_copy(edge: str, nbytes: int) -> None:
    """Record one copy of `nbytes` bytes on `edge` ("ffmpeg -> ffmpeg (make_writable)").

    Args:
        edge: what copied, for who reads the statistics.
        nbytes: how many were copied.
    """
    _here.copied += nbytes
    _count(_counts, edge, nbytes)


def count_conversion(what: str, nbytes: int) -> None:
    """Record one conversion, which wrote `nbytes` bytes.

    Args:
        what: from which format to which, and by whom: "I420 -> RGB (ffmpeg)".
        nbytes: how many were written.
    """
    _here.converted += nbytes
    _count(_conversions, what, nbytes)


def _count(counts: dict[str, list[int]], what: str, nbytes: int) -> None:
    with _lock:
        count = counts.setdefault(what, [0, 0])
        count[0] += 1
        count[1] += nbytes


def stats() -> Stats:
    """The copies and conversions so far, as a snapshot.

    What counts as one copy depends on what copies. A ring, `make_writable()`, and a mapping of
    whole frames count one for each frame, with the bytes of all its planes. A pickle
    (`samebytes.copied`) counts one for each plane, and two for a plane with padded rows; other
    code that copies planes one by one counts each as well. `by_edge` says what copied.
    """
    with _lock:
        counts = _counts.copy().items()  # a copy: a finalizer may count meanwhile
        by_edge = {edge: CopyCount(*count) for edge, count in counts}
        made = _conversions.copy().items()
        by_conversion = {what: CopyCount(*count) for what, count in made}
    return Stats(
        copies=sum(c.copies for c in by_edge.values()),
        copied_bytes=sum(c.nbytes for c in by_edge.values()),
        by_edge=by_edge,
        conversions=sum(c.copies for c in by_conversion.values()),
        converted_bytes=sum(c.nbytes for c in by_conversion.values()),
        by_conversion=by_conversion,
    )


def reset_stats() -> None:
    """Set the counts to zero."""
    with _lock:
        _counts.clear()
        _conversions.clear()
