# SPDX-License-Identifier: Apache-2.0
"""Who works on memory, and when it may be given back.

samebytes does not learn when a consumer's stream is done with memory that was handed to it. So
memory that was handed out, and all that samebytes allocates, is given back when all work of its
context is done: a wait on the CPU in place of bytes that change under somebody's kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from samebytes.errors import NativeError
from samebytes.plugins import Storage

from ._driver import Current
from ._streams import wait_for_home

if TYPE_CHECKING:
    from ._context import CudaContext

__all__ = ["CudaStorage", "Use"]

_GONE = frozenset((3, 4, 201, 709))
"""CUDA_ERROR_NOT_INITIALIZED, DEINITIALIZED, INVALID_CONTEXT and CONTEXT_IS_DESTROYED: the memory
ended with its context."""
_NOT_PERMITTED = 800
"""CUDA_ERROR_NOT_PERMITTED: this thread runs a function of a stream, which cannot call CUDA."""


class Use:
    """The use of one piece of memory by streams.

    Attributes:
        context: where the memory is.
        handed_out: somebody got it who may use it on any stream.
    """

    __slots__ = ("context", "free", "handed_out")

    def __init__(self, context: CudaContext, free: Callable[[], object] | None = None) -> None:
        self.context = context
        self.free = free
        self.handed_out = False

    def wait(self) -> None:
        """Return when what is pending on the memory is done."""
        if self.handed_out:
            self.context.synchronize()
        else:
            wait_for_home(self.context)

    def give_back(self) -> None:
        """Let all work of the context be done, then free what is ours to free.

        What lies in the memory of others ends after this, with what the storage keeps.
        """
        if self.free is None and not self.handed_out:
            return
        _sweep()
        try:
            self._give_back()
        except NativeError as error:
            if error.code == _NOT_PERMITTED:
                _later.append(self)
            elif error.code not in _GONE:
                raise

    def _give_back(self) -> None:
        self.context.synchronize()
        if self.free is not None:
            with Current(self.context.native):
                self.free()


class CudaStorage(Storage):
    """Owns memory that CUDA knows, or holds somebody else's.

    Attributes:
        use: the use of it by streams.
        lent: what somebody else lent, of which the memory is: a `Lent`; None for others.
    """

    __slots__ = ("lent", "use")

    use: Use
    lent: object


# Memory whose last holder was dropped in a function that a stream called.
_later: list[Use] = []


def _sweep() -> None:
    while _later:
        with suppress(IndexError):
            _later.pop()._give_back()
