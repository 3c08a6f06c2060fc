# SPDX-License-Identifier: Apache-2.0
"""Counts of what became of frames: per reader, for all readers that are gone, and per ring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .._errors import MessageError

__all__ = ["Departure", "ReadStatistics", "ReaderStatistics", "RingStatistics", "total_of"]


@dataclass(frozen=True, slots=True)
class ReaderStatistics:
    """Counts of the frames that were offered to a reader, by what became of them.

    offered == done + dropped + lost + waiting + held, always.

    Attributes:
        process: its process ID, 0 where the kernel does not report it.
        offered: frames that were accepted while it took part.
        done: those that it gave back.
        dropped: those that were left out, since it was too slow.
        lost: those that it had or awaited when it ended, left or was sent away.
        waiting: those that it will be sent.
        held: those that it was sent, and has not given back.
    """

    process: int
    offered: int = 0
    done: int = 0
    dropped: int = 0
    lost: int = 0
    waiting: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Departure:
    """The end of a reader's part in a ring, with the reason.

    Attributes:
        statistics: the counts of its frames.
        reason: "left", "ended", "sent away", or what it did wrong.
        error: the MessageError about a message that a reader must not send; None without one.
    """

    statistics: ReaderStatistics
    reason: str
    error: MessageError | None = None


@dataclass(frozen=True)
class RingStatistics:
    """Counts of the frames of a ring, and of each of its readers.

    Attributes:
        accepted: frames that send() took.
        copied: those of them that were copied into a slot.
        unread: those of them for which there was no reader.
        readers: each reader that takes part.
        gone: the sum over all that do not any more.
    """

    accepted: int
    copied: int
    unread: int
    readers: tuple[ReaderStatistics, ...]
    gone: ReaderStatistics


@dataclass(frozen=True)
class ReadStatistics:
    """Counts of the frames and writers of a reader.

    Attributes:
        received: frames that read() gave.
        missed: frames that the writer accepted meanwhile and did not send: it left them out.
        held: frames that are used here now, and so slots that the writer cannot fill.
        writers: the number of writers to which it was connected.
    """

    received: int
    missed: int
    held: int
    writers: int


def total_of(all_: Iterable[ReaderStatistics]) -> ReaderStatistics:
    """The sum over readers; it is about no process."""
    total = ReaderStatistics(0)
    for one in all_:
        total = replace(
            total,
            offered=total.offered + one.offered,
            done=total.done + one.done,
            dropped=total.dropped + one.dropped,
            lost=total.lost + one.lost,
            waiting=total.waiting + one.waiting,
            held=total.held + one.held,
        )
    return total
