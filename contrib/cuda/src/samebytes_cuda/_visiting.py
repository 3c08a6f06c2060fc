# SPDX-License-Identifier: Apache-2.0
"""Memory of a framework that uses it on a stream of its own, and takes it back to use it again.

A decoder's pool is an example: a surface that nothing holds is overwritten by the next picture.
Waiting on the CPU before each surface is given back would cost time in which the GPU could work
ahead. So the framework's stream waits for the streams on which the memory is used, as far as these
are known and are sure to exist: the legacy default stream, and streams that callers passed to
`map(queue=)`, which are held. For all others the CPU waits.
"""

from __future__ import annotations

from typing import Any

from samebytes.errors import NativeError

from . import _streams
from ._driver import LEGACY_STREAM, Home
from ._use import CudaStorage, ended_with_context, give_back

__all__ = ["Uses", "Visit"]


class Uses:
    """The streams on which memory is used, and that of the framework that it belongs to.

    Args:
        context: the context of the streams.
        lender: the framework's stream.
        follows_home: True if CUDA itself orders the framework's stream and the legacy default one.
        keep: the object that keeps the memory valid; dropped as the memory is given back.
        queues: the objects that callers passed, by handle, so that their streams live as long.
    """

    __slots__ = ("anywhere", "context", "is_home_ordered", "keep", "lenders", "queues", "uses_home")

    def __init__(
        self, context: Home, lender: int, follows_home: bool, keep: object, queues: dict[int, Any]
    ) -> None:
        self.context = context
        self.lenders = (lender,)
        # By CUDA itself. Else each time that it is to be used, which it may never be.
        self.is_home_ordered = follows_home
        self.uses_home = False
        self.keep: list[object] = [keep]
        self.queues = queues
        self.anywhere = False

    def let_home_wait(self) -> None:
        """Let the legacy default stream wait for the framework's, which then waits for it too."""
        if not (self.is_home_ordered or self.uses_home):
            _streams.order_known(self.context, self.lenders[0], (LEGACY_STREAM,))
            self.uses_home = True

    def finish(self) -> None:
        """Wait until the work that the framework has enqueued on the memory is done."""
        self.let_home_wait()
        self.context.finish()

    def settle(self, *, ends: bool = False) -> None:
        """Let the framework's stream wait for all uses of the memory.

        Args:
            ends: give the memory back to the framework. This never fails: if this thread cannot
                call CUDA, the next one that can gives it back.
        """
        try:
            if self.anywhere:
                self.context.synchronize()
            else:
                for handle in self.queues:
                    if handle not in self.lenders:
                        _streams.order_known(self.context, handle, self.lenders)
                if self.uses_home:
                    _streams.order_known(self.context, LEGACY_STREAM, self.lenders)
        except NativeError as error:
            if not ends:
                raise
            if not ended_with_context(error):
                give_back(self.context, [self.keep.clear])
                return
        if ends:
            self.keep.clear()


class Visit(CudaStorage):
    """Memory of another framework.

    Attributes:
        uses: its users.
    """

    __slots__ = ("uses",)

    uses: Uses

    def hand_out(self, stream: int | None = None) -> None:
        """Note that the memory is handed to a consumer."""
        if stream in self.uses.queues:
            return
        self.uses.let_home_wait()  # by which they order what they do
        self.ordered = None
        if stream != LEGACY_STREAM:
            self.uses.anywhere = True
            super().hand_out()

    def ask_again(self) -> None:
        """Order the work that the framework has enqueued before home."""
        self.uses.let_home_wait()
