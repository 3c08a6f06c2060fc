# SPDX-License-Identifier: Apache-2.0
"""Blocking calls for coroutines: they are made in a thread, while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from .._aside import LOOK
from ._run import Run

__all__ = ["in_a_thread", "opened"]

_AGAIN = 0.1
"""Seconds after which an element that still opens is interrupted again: it may have been between
two waits, or before its first one."""


async def opened(run: Run) -> None:
    """Open the elements in a thread; cancelling the task meanwhile interrupts them."""

    def open_() -> None:
        run.open()
        if run.stopping:
            run.close(failed=True)

    opening = asyncio.ensure_future(in_a_thread(open_))
    try:
        await asyncio.shield(opening)
    except BaseException:
        run.stopping = True
        opening.add_done_callback(_retrieve)
        while not opening.done():
            run.interrupt(again=True)
            await asyncio.wait([opening], timeout=_AGAIN)
        run.close(failed=True)
        raise
    finally:
        del opening  # it holds what it raised, whose traceback holds this call


def _retrieve(opening: asyncio.Future[None]) -> None:
    if not opening.cancelled():
        opening.exception()  # nobody else asks for it


async def in_a_thread(stop: Callable[[], object]) -> None:
    """Call a function in a thread of its own, and wait for it without blocking the event loop.

    It is called in any case. The threads of asyncio.to_thread() may all be busy, and a task that is
    cancelled while its call waits for one withdraws the call; here the thread goes on.

    The event loop wakes now and then meanwhile. A signal that comes just before it sleeps, or that
    Linux gives to another thread, does not end that sleep: Ctrl-C would be put off until the call
    returns, for instance when its attempt to connect times out.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def work(done: asyncio.Future[None]) -> None:
        raised = None
        try:
            stop()
        except BaseException as error:
            raised = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_end, done, raised)
        del done, raised  # its traceback holds this call

    thread = threading.Thread(
        target=copy_context().run, args=(work, done), name="samebytes asynchronous"
    )
    thread.start()
    try:
        while not done.done():
            await asyncio.wait([done], timeout=LOOK)
        await done
    finally:
        if not done.cancel() and not done.cancelled():
            thread.join()  # it has raised that already, and ends
        del done  # it holds what was raised, whose traceback holds this call


def _end(done: asyncio.Future[None], error: BaseException | None) -> None:
    if done.done():  # cancelled
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
