# SPDX-License-Identifier: Apache-2.0
"""The layouts that readers were sent, or are to be sent, by number."""

from __future__ import annotations

import json
from typing import Any

from samebytes import Frame
from samebytes.plugins import Lock, deferred

from .._passing.describing import describe_layout, read
from .._passing.values import Value
from .messages import MAX_LAYOUTS, pack_layout
from .slot_layout import SlotLayout

__all__ = ["Layout", "Layouts"]


class Layout:
    """The layout that frames share, which readers are sent once.

    Attributes:
        number: as readers know it.
        version: how often the number was given to another layout.
        packet: what is sent.
    """

    __slots__ = ("number", "packet", "version")

    def __init__(self, number: int, version: int, packet: bytes) -> None:
        self.number = number
        self.version = version
        self.packet = packet


class Layouts:
    """The layouts of one ring.

    Args:
        slot_layout: the layout of what acquire() returns, which is looked up for each frame.
    """

    __slots__ = ("_known", "_lock", "_slot_layout", "_usual")

    def __init__(self, slot_layout: SlotLayout | None) -> None:
        self._slot_layout = slot_layout
        self._lock = Lock()
        self._known: dict[Any, Layout] = {}
        self._usual: tuple[SlotLayout | None, Layout | None] = (None, None)

    def of(self, item: Any) -> Layout:
        """Return the layout of a frame or tensor of "dma"; a new one gets a number.

        Raises:
            MessageError, UnsupportedObjectError: it cannot be described to readers.
        """
        slot_layout, known = self._usual
        if known is not None and slot_layout is not None and slot_layout.are_of(item):
            return known
        made = self._any(item)
        if self._slot_layout is not None and self._slot_layout.are_of(item):
            self._usual = self._slot_layout, made
        return made

    def _any(self, item: Any) -> Layout:
        natives = [p.native for p in (item if isinstance(item, Frame) else (item,))]
        info = item.meta.info if isinstance(item, Frame) else None
        key = (
            isinstance(item, Frame),
            info,
            tuple((n.info, n.offset, n.pitch, n.modifier) for n in natives),
        )
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        description = describe_layout(item)
        # What readers would refuse is refused here.
        read(Value(description), 1, lambda plane, readonly: None)
        body = json.dumps(description, separators=(",", ":")).encode()
        with self._lock:
            if key not in self._known:
                with deferred():  # with one less known, the next would get a number that is taken
                    self._known[key] = self._numbered(body)
            return self._known[key]

    def _numbered(self, body: bytes) -> Layout:
        number, version = len(self._known), 0
        if number >= MAX_LAYOUTS:  # the oldest one's
            oldest, layout = next(iter(self._known.items()))
            number, version = layout.number, layout.version + 1
            del self._known[oldest]
        return Layout(number, version, pack_layout(number, body))
