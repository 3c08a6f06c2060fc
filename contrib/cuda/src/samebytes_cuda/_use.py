# SPDX-License-Identifier: Apache-2.0
"""Ownership of CUDA memory: work pending on it, and the time at which it may be given back.

samebytes does not learn when a consumer's stream is done with memory that was handed to it. So
memory that was handed out, and all memory that samebytes allocates, is given back when all work of
its context is done: this costs a wait on the CPU, but no bytes change under a running kernel.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from samebytes import Storage
from samebytes.errors import NativeError
from samebytes.plugins import deferred

from ._driver import Current, Home, Pending, check, free_all

__all__ = ["CudaStorage", "ended_with_context", "give_back", "owner"]

_GONE = frozenset((3, 4, 201, 709))
"""CUDA_ERROR_NOT_INITIALIZED, DEINITIALIZED, INVALID_CONTEXT and CONTEXT_IS_DESTROYED: the memory
ended with its context."""
_NOT_PERMITTED = 800
"""CUDA_ERROR_NOT_PERMITTED: this thread runs a function of a stream, which cannot call CUDA."""


class CudaStorage(Storage):
    """Owns memory that CUDA knows, or holds memory of another owner.

    Attributes:
        context: the context of the memory.
        handed_out: True if it was handed to a consumer that may use it on any stream.
        ordered: the stream that already waits for all work pending on the memory; None if there is
            none.
    """

    __slots__ = ("context", "handed_out", "ordered")

    context: Any  # a CudaContext
    handed_out: bool
    ordered: int | None

    def hand_out(self, stream: int | None = None) -> None:
        """Note that the memory is handed to a consumer.

        Args:
            stream: the only stream on which the consumer uses it, if that is known.
        """
        if not self.handed_out:
            self.handed_out = True
            self.wait = self.context.synchronize

    def ask_again(self) -> None:
        """If the memory is lent, order the lender's work enqueued since then before home."""

    def complete(self) -> None:
        """Wait until all work pending on the memory is done."""
        if self.wait is not None:
            self.wait()


def owner(
    context: Home,
    pending: Pending | None,
    *,
    address: int = 0,
    nbytes: int = 0,
    keep: object = None,
) -> CudaStorage:
    """The owner of memory that is given back when all work of its context is done.

    Args:
        context: the context of the memory.
        pending: the calls that give it back. The list may be filled later, so that the owner exists
            before the memory is acquired. None if the memory ends with the object in `keep`.
        address, nbytes, keep: as for Storage.
    """
    release = partial(give_back, context, pending)
    storage = CudaStorage(
        release, address=address, nbytes=nbytes, keep=keep, wait=context.finish, at_exit=True
    )
    storage.context, storage.handed_out, storage.ordered = context, False, None
    return storage


def give_back(context: Home, pending: Pending | None) -> None:
    """Wait for all work of a context, then make the pending calls, unless they were made."""
    try:
        _end(context, pending)
    except NativeError as error:
        if error.code == _NOT_PERMITTED:
            _later.append((context, pending))
            return
        if not ended_with_context(error):
            raise
    _sweep()


def ended_with_context(error: NativeError) -> bool:
    """True if the driver says that the context is gone, and with it the memory and all work."""
    return error.code in _GONE


def _end(context: Home, pending: Pending | None) -> None:
    if pending is None:
        context.synchronize()
    elif pending:  # else nothing was acquired, or all of it was freed
        context.synchronize()
        with Current(context.native), deferred():
            check("freeing memory", free_all(pending))


# Calls for memory whose last holder was dropped in a function that a stream called.
_later: list[tuple[Home, Pending | None]] = []


def _sweep() -> None:
    """Free memory that waits for a thread that may call CUDA, as this one may."""
    taken: list[tuple[Home, Pending | None]] = []
    while _later:
        with suppress(IndexError):  # another thread was faster
            taken.extend(map(_later.pop, (0,)))
        try:
            for context, pending in taken:
                _end(context, pending)
            taken.clear()
        except NativeError as error:
            taken.clear()
            if not ended_with_context(error):
                raise
        except BaseException:
            _later.extend(taken)
            raise
