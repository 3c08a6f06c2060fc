# SPDX-License-Identifier: Apache-2.0
"""The counts of copies and conversions that samebytes made, which `stats()` shows."""

from __future__ import annotations

import threading

from ._core.owner.locks import Lock

__all__ = [
    "Counts",
    "copied_here",
    "count_conversion",
    "count_copy",
    "counted",
    "moved_here",
    "reset_stats",
]

Counts = dict[str, tuple[int, int]]
"""The number of copies or conversions of each kind, and the bytes that they wrote."""

_lock = Lock()
_copies: dict[str, list[int]] = {}
_conversions: dict[str, list[int]] = {}


class _ThisThread(threading.local):
    """The number of bytes that each thread copied, and that its conversions wrote."""

    copied = 0
    converted = 0


_this_thread = _ThisThread()


def copied_here() -> int:
    """The number of bytes that the calling thread has copied since it began."""
    return _this_thread.copied


def moved_here() -> tuple[int, int]:
    """The number of bytes that the calling thread has copied, and that its conversions wrote."""
    return _this_thread.copied, _this_thread.converted


def count_copy(edge: str, nbytes: int) -> None:
    """Record one copy of `nbytes` bytes on `edge` ("ffmpeg -> ffmpeg (make_writable)").

    Args:
        edge: the name of the copy in the statistics.
        nbytes: how many were copied.
    """
    _this_thread.copied += nbytes
    with _lock:  # as _count() does, without another call for each frame of a decoder
        count = _copies.setdefault(edge, [0, 0])
        count[0] += 1
        count[1] += nbytes


def count_conversion(what: str, nbytes: int) -> None:
    """Record one conversion, which wrote `nbytes` bytes.

    Args:
        what: the two formats and the converter: "I420 -> RGB (ffmpeg)".
        nbytes: how many were written.
    """
    _this_thread.converted += nbytes
    _count(_conversions, what, nbytes)


def _count(counts: dict[str, list[int]], what: str, nbytes: int) -> None:
    with _lock:
        count = counts.setdefault(what, [0, 0])
        count[0] += 1
        count[1] += nbytes


def counted() -> tuple[Counts, Counts]:
    """The copies and the conversions so far, as a snapshot."""
    with _lock:
        # Of copies: a finalizer may count meanwhile.
        return _pairs(_copies.copy()), _pairs(_conversions.copy())


def _pairs(counts: dict[str, list[int]]) -> Counts:
    return {what: (count, nbytes) for what, (count, nbytes) in counts.items()}


def reset_stats() -> None:
    """Set the counts to zero."""
    with _lock:
        _copies.clear()
        _conversions.clear()
