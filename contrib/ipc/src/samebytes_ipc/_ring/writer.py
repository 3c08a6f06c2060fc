# SPDX-License-Identifier: Apache-2.0
"""RingWriter: the process that fills the slots."""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from samebytes import Frame, ImageFormat, Storage, Tensor
from samebytes.errors import (
    BusyError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    UnsupportedObjectError,
)
from samebytes.plugins import count_copy, counted, in_forked_child
from samebytes_dma import DMAContext

from .._errors import MessageError, RingTimeoutError
from .._sockets.addresses import Address
from .._sockets.waiting import FOREVER
from .._wire.memory import is_dma
from .arguments import check_target, check_timeout, is_whole
from .arrays import ArraySlots
from .calls import Calls
from .counts import Departure, RingStatistics
from .items import InDMA
from .layouts import SlotLayout, copy_into, slot_layout_of
from .packets import MAX_SLOTS
from .pool import Pool
from .sending import Sender
from .server import Server
from .slots import Slot, allocate, readers_can_write

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MOST_OWN", "RingWriter"]

MOST_OWN = 64
"""Slots of the ring's own."""
_MANY = 1 << 31


class RingWriter(Storage.Uncopied):
    """Frames for other processes, which read them where they lie.

        with samebytes_ipc.RingWriter("/run/user/1000/camera", format="NV12",
                                      width=1920, height=1080) as ring:
            while True:
                frame = ring.acquire(target="cpu")
                frame.native[0][...] = ...
                ring.send(frame)

    The slots are allocated once, when the layout is known: here, or with the first frame that is
    copied. docs/reference/ring.md says what frames cost and what becomes of them. Any thread may
    use it at any time. Nothing runs between calls: readers join, and what they give back is seen,
    in the calls of this object.

    Args:
        address: a path, whose socket is made here and removed at the end, or "@name" for one
            without a file. None: readers come by `add()`.
        format, width, height: of the images that `acquire()` gives.
        shape, dtype: instead of them: of the tensors that it gives.
        slots: how many frames there can be at a time, 2 to 64.
        memory: where slots come from, as in samebytes.context("dma:NAME"): "memfd", "udmabuf",
            "heap" ...; None for DMA-BUFs where this machine makes some, else memfds.
        adopt: how many pieces of memory of others are remembered, for frames that are sent where
            they lie.
        when_full: "wait": a frame waits for the slowest reader. "drop-oldest": for live sources:
            the oldest frame that a reader was not sent is left out for it, and counted.
        timeout: how many seconds to wait for a slot; None without limit.
        most_readers: how many may take part; None for what the slots allow.

    Raises:
        RingRefusedError: another process writes there.
        NativeError: the system has no memory for the slots.
        LayoutError: a size that the format cannot have, or an invalid number of slots.
        UnknownNameError, MissingDependencyError: of `memory`.
        UnsupportedObjectError: an address of another kind.
        ValueError: a timeout that is not a number.
        OSError: of the socket.
    """

    _instead = "another process makes a RingReader, with the address"

    def __init__(
        self,
        address: Address | None = None,
        *,
        format: str | ImageFormat | None = None,  # the field's word for it
        width: int | None = None,
        height: int | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = "uint8",
        slots: int = 8,
        memory: str | None = None,
        adopt: int = 16,
        when_full: Literal["wait", "drop-oldest"] = "wait",
        timeout: float | None = 10.0,
        most_readers: int | None = None,
    ) -> None:
        if not (is_whole(slots, 2, MOST_OWN) and is_whole(adopt, 1, MAX_SLOTS - MOST_OWN)):
            raise LayoutError(
                f"slots={slots!r}, adopt={adopt!r}: slots must be 2 to {MOST_OWN}, and adopt 1 to "
                f"{MAX_SLOTS - MOST_OWN}"
            )
        if when_full not in ("wait", "drop-oldest"):
            raise LayoutError(f'when_full must be "wait" or "drop-oldest", not {when_full!r}')
        if most_readers is not None and not is_whole(most_readers, 0, _MANY):
            raise LayoutError(f"most_readers={most_readers!r}: give a number, or None")
        check_timeout(timeout)
        self.timeout = timeout
        slots_from = DMAContext.create(memory, None)
        self._slot_layout = slot_layout_of(format, width, height, shape, dtype)
        own = [Slot(number) for number in range(slots)]
        if self._slot_layout is not None:
            for slot in own:
                slot.put(allocate(slots_from, self._slot_layout.nbytes))
        drops = when_full == "drop-oldest"
        if most_readers is None:
            most_readers = max(slots - 2, 1) if drops else MOST_OWN
        # No method of this object: the server would keep it alive.
        most_held = partial(_most_held, drops, slots, adopt)
        most_slots = max(slots - 2, 1) if drops else None
        self._server = Server(address, most_readers, most_held, most_slots)
        self._calls = Calls(self._server)
        adopted = [Slot(slots + number) for number in range(adopt)]
        self._pool = Pool(self._calls, slots_from, own, adopted, drops)
        self._arrays = ArraySlots(self._calls, own, self._slot_layout)
        self._sender = Sender(self._calls, self._slot_layout)
        self._in_dma = InDMA()
        self._copied = 0
        self._process = os.getpid()
        _living.add(self)

    def acquire(
        self, timeout: float | None = None, *, target: Literal["dma", "cpu"] = "dma"
    ) -> Any:
        """A free slot as a frame or tensor, to be filled in place and sent.

        Its bytes are those of an earlier frame. It is sent with `send()`; if it is dropped
        instead, the slot is free again.

        Args:
            timeout: seconds to wait, instead of the ring's.
            target: of what memory it is: "dma", which maps to what will fill it, or "cpu", for
                arrays at once. Those cost the least: nothing is mapped, and nothing to be closed.

        Raises:
            RingTimeoutError: readers, or this process, hold all slots; `holders` says who.
            UnsupportedObjectError: the ring was made without a layout.
            LayoutError: another target.
            ClosedError: it was closed or interrupted.
            BusyError: a finalizer or signal handler calls this where the ring takes a slot, accepts
                a frame or serves its readers.
        """
        if timeout is None and target == "cpu" and (item := self._arrays.take()) is not None:
            return item
        check_target(target, "a slot is given as")
        if self._slot_layout is None:
            raise UnsupportedObjectError(
                "this ring was made without a layout: pass format=, width= and height=, or shape="
            )
        seconds = self._seconds(timeout)
        arrays = self._arrays if target == "cpu" else None
        return self._pool.acquire(self._slot_layout, seconds, arrays)

    def send(
        self, item: Tensor | Frame[Any], *, copy: bool = False, timeout: float | None = None
    ) -> int:
        """Give all readers a frame or tensor, with its time, metadata and regions.

        What `acquire()` gave goes as it is, and is read-only from now on; its slot is free when
        the writer has dropped it too. Memory of "dma", and what maps to it without a copy (a
        surface of VA-API), goes by descriptor, which is sent when it is first seen; the frame is
        held until all readers are done with it. Everything else is copied into a slot.

        Args:
            item: it is complete: mappings for writing are flushed or closed. Arrays that
                acquire(target="cpu") gave become read-only; of DMA-BUFs, their frame is closed.
            copy: allow that copy, and tensors of results to be written into the packet. Copies
                are counted in `samebytes.stats()`.
            timeout: seconds to wait for a slot, instead of the ring's.

        Returns:
            The number of the frame: 1, 2, 3 ...

        Raises:
            CopyRequiredError: it must be copied, and copy=True was not given.
            RingTimeoutError: no slot is free to copy it to; `holders` says who has them.
            MessageError: metadata that is not plain data, or too much of it; or, without
                copy=True, memory that a reader would refuse: a file, a memfd that is not sealed.
                Nothing was sent.
            UnsupportedObjectError: a frame of sound, or of a format that this process alone knows;
                no tensor or frame of samebytes.
            ClosedError: the ring was closed or interrupted, or the item was closed.
            BusyError: as for acquire(). Nothing was sent.
        """
        slot = self._arrays.slot_of(item)
        if slot is not None:
            number = self._sender.send_arrays(item, slot, copy)
            self._arrays.prepare()
            return number
        slot = self._pool.slot_of(item)
        if slot is not None:
            if is_dma(item):
                return self._sender.send_dma(item, slot, copy)
            item.flush()  # an access to a DMA-BUF, which ends when that was accepted
            number = self._sender.send_dma(item.parent, slot, copy)
            item.close()
            return number
        if not isinstance(item, Tensor | Frame):
            raise UnsupportedObjectError(
                f"a ring sends tensors and frames of samebytes, not a {type(item).__name__}: wrap "
                "it with samebytes.frame() or samebytes.tensor()"
            )
        in_dma = self._in_dma(item)
        if in_dma is not None:
            try:
                slot, user = self._pool.adopt(in_dma, self._seconds(timeout))
            except MessageError:
                if not copy:
                    raise
            else:
                try:
                    return self._sender.send_dma(in_dma, slot, copy, (item, in_dma))
                finally:
                    del user  # else the traceback of an error would hold it
        if not copy:
            node = item.context.node
            raise CopyRequiredError(
                node, "ring", f"{node} -> ring",
                ["memory from acquire(), and memory of dma, is sent without a copy"],
            )  # fmt: skip
        slot_layout = SlotLayout.like(item)
        made = self._pool.acquire(slot_layout, self._seconds(timeout))
        count_copy(f"{item.context.node} -> ring", copy_into(made, item))
        self._copied += 1
        slot = self._pool.slot_of(made)
        assert slot is not None
        if isinstance(item, Frame):
            made.meta = item.meta
        return self._sender.send_dma(made, slot, copy)

    def add(self, sock: socket.socket) -> None:
        """Take a reader that has the other end of a socket pair of packets.

        Args:
            sock: it becomes the ring's. It joins when the reader is made.

        Raises:
            UnsupportedObjectError: another kind of socket.
        """
        with self._calls, self._calls.lock:
            self._calls.check()
            self._server.add(sock)

    def serve(self, timeout: float | None = 0.0) -> None:
        """Let readers join, take what they give back, and send what waits.

        Every other call does so too. This one is for programs that make none for a while, in a loop
        of a thread of their own: where another thread waits in a call, that one does it, and
        so does a call that a finalizer has interrupted.

        Args:
            timeout: seconds to wait for something to do; None for the ring's.

        Raises:
            ClosedError: the ring was closed or interrupted.
        """
        check_timeout(timeout)
        if timeout is None or timeout > 0:
            self._server.poll(self._seconds(timeout))
        with self._calls, self._calls.lock:
            self._calls.check()
            # Not while another thread waits: it would not be woken by what was taken here. And not
            # for a finalizer, if the call that it has interrupted will go on with it.
            if not (self._server.waiting or self._calls.busy):
                self._calls.alone(self._server.serve)

    def fileno(self) -> int:
        """The descriptor that becomes readable when serve() has something to do, for event loops.

        A frame that this process drops does not count as that, though its slot is free then.

        Raises:
            ClosedError: the ring was closed, or belongs to the parent process.
        """
        self._calls.check_open()
        return self._server.fileno()

    def wait_for_readers(self, readers: int = 1, timeout: float | None = None) -> None:
        """Wait until so many readers take part.

        Args:
            readers: how many.
            timeout: seconds to wait, instead of the ring's.

        Raises:
            RingTimeoutError: they did not come in time.
            LayoutError: `readers` is not a number of readers.
            ClosedError: the ring was closed or interrupted.
            BusyError: as for acquire().
        """
        if not is_whole(readers, 0, _MANY):
            raise LayoutError(f"readers={readers!r}: give how many to wait for")

        def found() -> bool | None:
            return len(self._server.joined()) >= readers or None

        seconds = self._seconds(timeout)
        self._calls.until(
            found,
            seconds,
            lambda: RingTimeoutError(
                f"{len(self._server.joined())} of {counted(readers, 'reader')} joined within "
                f"{seconds:g} s"
            ),
        )

    def wait_until_read(self, timeout: float | None = None) -> None:
        """Wait until the readers are done with all frames.

        A loop over a ring holds its last frame while it waits for the next one: drop it there
        first (`del frame`).

        Args:
            timeout: seconds to wait, instead of the ring's.

        Raises:
            RingTimeoutError: they are not; `holders` says who has how many.
            ClosedError: the ring was closed or interrupted.
            BusyError: as for acquire().
        """

        def found() -> bool | None:
            return not any(r.pending or r.held for r in self._server.readers) or None

        seconds = self._seconds(timeout)
        self._calls.until(
            found,
            seconds,
            lambda: RingTimeoutError(
                f"the readers did not finish within {seconds:g} s: {self._pool.who()}",
                self._pool.holders(),
            ),
        )

    @property
    def statistics(self) -> RingStatistics:
        """The counts of the frames so far."""
        with self._calls, self._calls.lock:
            return RingStatistics(
                self._server.accepted, self._copied, self._sender.unread,
                tuple(r.statistics for r in self._server.readers), self._server.gone,
            )  # fmt: skip

    @property
    def departures(self) -> tuple[Departure, ...]:
        """The last 64 readers that take part no longer, and why."""
        return tuple(self._server.departures)

    @property
    def readers_can_write(self) -> bool | None:
        """True if the kernel would let readers write to memory they are sent; None before any is.

        False for the ring's own memfds, which are sealed, on Linux 5.1 and later. True for
        DMA-BUFs, and as long as memory of others is remembered which the kernel does not guard,
        such as what samebytes.context("dma:memfd") allocates: what readers get is read-only, but
        their descriptors are not.
        """
        with self._calls.lock:
            slots = (*self._pool.own, *self._pool.adopted)
            made = [slot.buffer for slot in slots if slot.buffer is not None]
        return any(map(readers_can_write, made)) if made else None

    def send_away(self, process: int) -> bool:
        """Close the connection of a reader, for instance one that `holders` names.

        What it has counts as lost, and its slots are free at once: if it lives, it sees other
        bytes in them.

        Args:
            process: its number, as `holders` gives it.

        Returns:
            Whether that process took part.
        """
        with self._calls, self._calls.lock:
            self._calls.check()
            return self._server.send_away(process)

    def interrupt(self) -> None:
        """End the calls that wait, now and later, with a ClosedError. Any thread may call this."""
        self._calls.interrupted = True
        self._server.wake()

    def close(self, timeout: float | None = None) -> None:
        """Say that the stream has ended, and give up the slots. Closing twice does nothing.

        Waits until everything was sent, and until readers are done with memory of others. Slots
        of the ring's own stay with the readers that have them. What a reader did not take in time
        counts as lost.

        Args:
            timeout: seconds to wait, instead of the ring's.
        """
        if self._calls.state != "open":
            return
        seconds = self._seconds(timeout)
        with self._calls, self._calls.lock:
            if self._calls.state == "open":
                self._server.finish()  # whoever joined now would get the end, and nothing else
        # A finalizer cannot wait for the call that it has interrupted.
        with suppress(RingTimeoutError, ClosedError, BusyError):
            self._calls.until(self._is_settled, seconds, lambda: RingTimeoutError("not settled"))
        with self._calls, self._calls.lock:
            if self._calls.state == "open":
                self._calls.state = "closed"
                self._server.close()
                self._pool.clear()
                self._arrays.clear()

    def __enter__(self) -> Self:
        self._calls.check()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        calls = getattr(self, "_calls", None)  # the constructor may have raised
        # In a forked child the collector may come before its hook.
        if calls is not None and calls.state == "open" and self._process == os.getpid():
            calls.state = "closed"
            self._server.close()

    def __repr__(self) -> str:
        return f"<RingWriter {self._calls.state}, {self._server.accepted} accepted>"

    def _seconds(self, timeout: float | None) -> float:
        if timeout is not None:
            check_timeout(timeout)
        seconds = self.timeout if timeout is None else timeout
        return FOREVER if seconds is None else seconds

    def _is_settled(self) -> bool | None:
        """True if everything was sent, all know that it was all, and memory of others is back."""
        finished = self._server.finish()
        return (finished and not any(slot.awaited for slot in self._pool.adopted)) or None

    def _abandon(self) -> object:
        if self._calls.state != "open":
            return None
        self._calls.state = "left to the parent process"
        return self._server.leave_to_the_parent()


def _most_held(drops: bool, slots: int, adopted: int, readers: int) -> int:
    """Return the number of frames that each of so many readers may have at a time.

    A frame that a reader was sent cannot be taken back. If frames are left out, two slots must not
    be with readers: one that is being filled, and one that waits to be sent.
    """
    return max((slots - 2) // max(readers, 1), 1) if drops else slots + adopted


_living: weakref.WeakSet[RingWriter] = weakref.WeakSet()


def _leave_to_the_parent() -> list[object]:
    return [ring._abandon() for ring in list(_living)]


in_forked_child(_leave_to_the_parent)
