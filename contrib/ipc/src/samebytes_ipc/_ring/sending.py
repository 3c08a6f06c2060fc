# SPDX-License-Identifier: Apache-2.0
"""Send what lies in a slot: its layout, time and metadata in a packet for each reader."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from samebytes import Frame, FrameMeta
from samebytes.errors import ClosedError

from .deliveries import Delivery
from .items import described, meta_of, set_arrays_readonly, set_readonly
from .layouts import Layout, Layouts, SlotLayout
from .packets import pack_frame
from .slots import Slot

if TYPE_CHECKING:
    from samebytes_dma import DMABuffer

    from .calls import Calls

__all__ = ["Sender"]

_NONE: list[DMABuffer] = []


class Sender:
    """Sends the frames and tensors of one ring.

    Attributes:
        unread: how many were sent while there was no reader.

    Args:
        calls: of that ring.
        slot_layout: of what acquire() gives; None if it gives nothing.
    """

    __slots__ = ("_calls", "_image", "_layouts", "unread")

    def __init__(self, calls: Calls, slot_layout: SlotLayout | None) -> None:
        self.unread = 0
        self._calls = calls
        self._layouts = Layouts(slot_layout)
        self._image = None if slot_layout is None else slot_layout.image

    def send_arrays(self, item: Any, slot: Slot, copy: bool) -> int:
        """Send what acquire(target="cpu") gave of memory that stays mapped.

        Returns:
            Its number.

        Raises:
            ClosedError, MessageError, UnsupportedObjectError, BusyError: as for RingWriter.send().
        """
        meta, layout = None, self._layouts.usual
        if isinstance(item, Frame):
            meta = item.meta
            if meta.info is not self._image:
                layout = None
        elif item.closed:
            raise ClosedError("this tensor was closed")
        if layout is None:
            layout = self._layouts.of_slots(slot.buffer, meta)
        number = self._deliver(slot, layout, meta, copy, None)
        set_arrays_readonly(item)
        return number

    def send_dma(self, item: Any, slot: Slot, copy: bool, holds: object = None) -> int:
        """Send a frame or tensor of "dma".

        Args:
            holds: what keeps memory of others for readers; None for a slot of the ring's own.

        Returns:
            Its number.

        Raises:
            ClosedError, MessageError, UnsupportedObjectError, BusyError: as for RingWriter.send().
        """
        buffer = slot.buffer
        if buffer is None:  # another thread may be closing it just now
            raise ClosedError("this ring was closed")
        layout = self._layouts.of(item)
        if buffer.is_dma_buf:
            item.wait()
        number = self._deliver(slot, layout, meta_of(item), copy, holds)
        if holds is None:
            set_readonly(item)
        return number

    def _deliver(
        self, slot: Slot, layout: Layout, meta: FrameMeta | None, copy: bool, holds: object
    ) -> int:
        body, results, pts, base = b"", _NONE, None, None
        if meta is not None:
            pts, base = meta.pts, meta.time_base
            if meta.metadata or meta.regions:
                body, results = described(meta, copy)
        calls, server = self._calls, self._calls.server
        try:
            with calls.lock:
                if calls.state != "open" or calls.interrupted:
                    calls.check()
                if calls.busy:
                    calls.check_not_busy()
                calls.busy = True
                try:
                    if time.monotonic() >= server.fresh_until:
                        server.look_for_changes()
                    sequence = server.accepted + 1
                    packet = pack_frame(slot.number, layout.number, sequence, pts, base, body)
                    delivery = Delivery(sequence, packet, slot, layout, results, holds, server.over)
                    if not server.offer(delivery):
                        self.unread += 1
                finally:
                    calls.busy = False
        finally:
            if server.over:
                calls.drop()
        return sequence
