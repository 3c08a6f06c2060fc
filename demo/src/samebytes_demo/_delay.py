# SPDX-License-Identifier: Apache-2.0
"""The delay line, in which frames wait until they may be drawn into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["DelayLine"]

T = TypeVar("T")


class DelayLine(Generic[T]):
    """A queue, first in, first out, whose items leave once nobody else reads them.

    A decoder predicts frames from earlier ones, and so keeps reading frames that it has handed
    out: a write would spoil later frames. The newest item never leaves, since the detector compares
    it with the next.

    Args:
        free: returns True if nobody else uses an item.
        bound: the most items that wait. Then the oldest leaves although it is not free, and its
            receiver must check that.

    Attributes:
        longest: how many newer items arrived while the item that waited longest was waiting.
    """

    def __init__(self, free: Callable[[T], bool], bound: int) -> None:
        if bound < 1:
            raise ValueError(f"a delay line holds at least one frame, not {bound}")
        self._free = free
        self._bound = bound
        self._items: deque[T] = deque()
        self.longest = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> Iterator[T]:
        """Add an item, and yield those that leave."""
        self._items.append(item)
        while len(self._items) > 1 and (
            len(self._items) > self._bound or self._free(self._items[0])
        ):
            self.longest = max(self.longest, len(self._items) - 1)
            yield self._items.popleft()

    def drain(self) -> Iterator[T]:
        """Yield everything that is left, when no more will come."""
        while self._items:
            self.longest = max(self.longest, len(self._items) - 1)
            yield self._items.popleft()
