# SPDX-License-Identifier: Apache-2.0
"""Memory of a framework that uses it on a stream of its own, and takes it back to use it again.

A decoder's pool is one: a surface that nobody holds is written to by the next picture. To wait on
the CPU before each is given back would cost the time in which the GPU could work ahead. So the
framework's stream waits for the streams of those who got the memory, as far as these are known and
are sure to exist: the legacy default stream, and those that callers passed to `map(queue=)`, which
are held. For everybody else the CPU waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samebytes import TensorInfo
from samebytes.errors import NativeError
from samebytes.plugins import ordering_queue

from . import _streams
from ._array import CudaArray
from ._driver import LEGACY_STREAM, Home
from ._streams import follows_home_of, known_handle
from ._use import CudaStorage, ended_with_context, give_back

__all__ = ["Visit", "visiting"]


class _Uses:
    """The streams on which memory is used, and that of the framework that it belongs to."""

    __slots__ = ("anywhere", "at_home", "context", "follows_home", "keep", "lenders", "queues")

    def __init__(self, context: Home, lender: int, follows_home: bool, keep: object) -> None:
        self.context = context
        self.lenders = (lender,)
        self.follows_home = follows_home
        self.keep: list[object] = [keep]
        # By handle: what the caller passed, so that the stream lives as long.
        self.queues: dict[int, Any] = {}
        self.at_home = self.anywhere = False

    def let_lender_wait(self) -> None:
        """Let the framework's stream wait for all who use the memory."""
        if self.anywhere:
            self.context.synchronize()
            return
        for handle in self.queues:
            if handle not in self.lenders:
                _streams.order_known(self.context, handle, self.lenders)
        if not self.follows_home:
            _streams.order_known(self.context, LEGACY_STREAM, self.lenders)

    def end(self) -> None:
        """Give the memory back to the framework."""
        try:
            self.let_lender_wait()
        except NativeError as error:
            if not ended_with_context(error):
                # Where this thread cannot call CUDA, the next one that can gives it back.
                give_back(self.context, [self.keep.clear])
                return
        self.keep.clear()


class Visit(CudaStorage):
    """Memory of another framework.

    Attributes:
        uses: who uses it.
    """

    __slots__ = ("uses",)

    uses: _Uses

    def hand_out(self, stream: int | None = None) -> None:
        """Note that somebody gets the memory."""
        if stream in self.uses.queues:
            return
        if stream == LEGACY_STREAM:
            self.uses.at_home = True
            return
        self.uses.anywhere = True
        super().hand_out()

    def is_ordered(self, stream: int) -> bool:
        """True for the one stream that uses the memory, which waits for the framework's."""
        uses = self.uses
        return list(uses.queues) == [stream] and not uses.at_home and not uses.anywhere


def visiting(
    context: Home,
    places: Sequence[tuple[int, TensorInfo]],
    keep: object,
    stream: int,
    readonly: bool,
    holder: object,
) -> tuple[tuple[CudaArray, ...], Visit]:
    """See `CudaContext.import_planes`."""
    lender, queue = stream or LEGACY_STREAM, ordering_queue()
    # Before there is an owner, whose end would fail by the same stream. A queue waits for the
    # framework's stream alone, and not for what others do on the default stream.
    is_ordered = follows_home_of(context, lender, holder)
    handle = LEGACY_STREAM
    waiting = [] if is_ordered else [LEGACY_STREAM]
    if queue is not None:
        handle = known_handle(context, queue)
        if handle not in (LEGACY_STREAM, lender):
            waiting.append(handle)
    if waiting:
        _streams.order_known(context, lender, waiting)
    uses = _Uses(context, lender, is_ordered, keep)
    flush = None if readonly else uses.let_lender_wait
    pin = Visit(uses.end, holds=uses, wait=context.finish, flush=flush, at_exit=True)
    pin.context, pin.handed_out, pin.uses = context, False, uses
    if queue is not None:
        uses.queues[handle] = queue
    arrays = [CudaArray(context, start, info, "device", pin, readonly) for start, info in places]
    return tuple(arrays), pin
