# SPDX-License-Identifier: Apache-2.0
"""Streams, and the one rule by which work on memory is ordered.

The rule: all work pending on memory of a context, as far as samebytes can know, is ordered before
future work on the context's legacy default stream ("home"). When memory is lent to samebytes, home
waits for the lender's stream; when samebytes hands memory out, the consumer's stream waits for
home. So two streams are ordered by one event each, without waiting on the CPU, and nothing needs to
remember which stream wrote what.

Memory of another framework that is mapped for a caller's stream is ordered before that stream only,
and before home when it is handed to another consumer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_uint, c_void_p
from functools import cache, partial
from typing import Any
from weakref import ref

from samebytes.errors import DeviceMismatchError, NativeError, UnsupportedObjectError
from samebytes.plugins import native_pointer

from ._driver import LEGACY_STREAM, Current, Home, call, check, driver

__all__ = [
    "PER_THREAD_STREAM", "check_device", "check_queue", "follow", "follows_home", "follows_home_of",
    "free_events", "handle_of", "is_handle", "known_handle", "known_streams", "order",
    "order_known", "precede",
]  # fmt: skip

PER_THREAD_STREAM = 2
"""The default stream of the calling thread: another one in each thread."""
_LARGEST_HANDLE = 2**64 - 1
_PAGE = 4096
"""No handle is below: handles are pointers, and no system has memory at the first addresses."""
_DISABLE_TIMING = 2
"""CU_EVENT_DISABLE_TIMING."""
_NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING."""
_CUDA_12 = 12000
"""The version of CUDA whose functions are asked for."""
_LAST = (-1,)
_ATTRIBUTES = ("cuda_stream", "ptr", "handle")
"""The attributes in which torch, CuPy and Numba keep the handles of their streams."""


def handle_of(queue: Any) -> int:
    """The CUstream that `queue` stands for.

    Args:
        queue: a handle as an int, a `ctypes.c_void_p` or a CUstream of cuda-bindings; or a stream
            of cuda.core (`__cuda_stream__`), torch, CuPy or Numba. None and 0 are the legacy
            default stream. The stream must exist: for a number this cannot be checked, and drivers
            crash if it does not.

    Raises:
        UnsupportedObjectError: it is none of these, or a number that cannot be a handle, because it
            is negative, too large, or as small as the number of a stream in a list.
    """
    if queue is None:
        return LEGACY_STREAM
    handle = _number_of(queue)
    if handle and not is_handle(handle):
        raise UnsupportedObjectError(
            f"{handle} is not the handle of a CUDA stream: pass the stream itself, or None for the "
            "legacy default stream"
        )
    return handle or LEGACY_STREAM


def is_handle(stream: Any) -> bool:
    """True if `stream` is an int that can be a CUstream, except the legacy default stream (0)."""
    if not isinstance(stream, int) or isinstance(stream, bool):
        return False
    return stream in (LEGACY_STREAM, PER_THREAD_STREAM) or _PAGE <= stream <= _LARGEST_HANDLE


def _number_of(queue: Any) -> int:
    number = queue
    protocol = getattr(queue, "__cuda_stream__", None)
    if protocol is not None:
        number = protocol() if callable(protocol) else protocol
        number = number[1] if isinstance(number, tuple | list) and len(number) == 2 else None
    elif isinstance(queue, c_void_p):
        return native_pointer(queue, "a CUstream")
    else:
        for name in _ATTRIBUTES:
            handle = getattr(queue, name, None)
            if isinstance(handle, int):
                return handle
    try:
        if not isinstance(number, float | str | bytes):  # which int() would take, too
            return int(number)
    except (TypeError, ValueError):
        pass
    raise UnsupportedObjectError(
        f"a {type(queue).__name__} is not a CUDA stream: pass a CUstream of cuda-bindings, a "
        "stream of torch, CuPy, Numba or cuda.core, or the handle of one as an int"
    )


def precede(context: Home, stream: int) -> None:
    """Let home wait for the work enqueued on `stream`."""
    order(context, stream, LEGACY_STREAM)


def follow(context: Home, stream: int) -> None:
    """Let `stream` wait for the work pending on home."""
    if stream != LEGACY_STREAM:
        order(context, LEGACY_STREAM, stream)


def order(context: Home, first: int, *others: int) -> None:
    """Let other streams wait for the work enqueued on the first one.

    Raises:
        DeviceMismatchError: one of them belongs to another context.
    """
    later = [stream for stream in others if stream != first]
    if later:
        for stream in (first, *later):
            check_device(context, stream)
        order_known(context, first, later)


def order_known(
    context: Home, first: int, later: Sequence[int], *, is_current: bool = False
) -> None:
    """Do the same with streams that `check_device` has seen, and that have been held since then.

    Args:
        context: the context of the streams.
        first: the stream whose work is waited for.
        later: at least one stream, and not the first one.
        is_current: True if the CUcontext is current in this thread.
    """
    # Written out for each frame of each decoder. Between two frames the decoder empties the caches
    # of the processor, so that each function of Python costs microseconds: there are few.
    spare = _spare.setdefault(context.ordinal, []) if context.is_primary else []
    taken: list[tuple[Any, Any]] = []
    try:
        # Streams with handles of their own, and an existing event, need no current context.
        if is_current or min(first, *later) > PER_THREAD_STREAM:
            try:  # noqa: SIM105 - suppress() is four functions of Python
                taken.extend(map(spare.pop, _LAST))
            except IndexError:
                pass
        if not (taken or is_current):
            with Current(context.native):
                order_known(context, first, later, is_current=True)
            return
        if not taken:
            taken.extend(map(driver.cuEventCreate, (_DISABLE_TIMING,)))
            if code := taken[0][0]:
                taken.clear()
                check("cuEventCreate", code)
        record, wait = _functions()
        event = int(taken[0][1])
        if code := record(event, first):
            check("cuEventRecord", code)
        for stream in later:
            # It waits for what the event stands for now, whatever that is used for next.
            if code := wait(stream, event, 0):
                check("cuStreamWaitEvent", code)
    finally:
        if context.is_primary:
            spare.extend(taken)
        elif taken:
            _destroy(taken)


@cache
def _functions() -> tuple[Any, Any]:
    """cuEventRecord and cuStreamWaitEvent by themselves.

    cuda-bindings makes objects of Python for streams and results, by functions of Python.
    """
    return tuple(
        CFUNCTYPE(c_int, c_void_p, c_void_p, *more)(
            int(call(driver.cuGetProcAddress, name, _CUDA_12, 0)[0])
        )
        for name, *more in ((b"cuEventRecord",), (b"cuStreamWaitEvent", c_uint))
    )  # type: ignore[return-value]  # there are two


# Events that wait to be used again, by the device's ordinal, as cuEventCreate gave them. Those of
# other contexts than the primary one may end with it. Only lists' own atomic steps: memory may be
# given back in the garbage collector, which may run anywhere.
_spare: dict[int, list[tuple[Any, Any]]] = {}


def free_events(context: Home) -> None:
    """Drop the events that wait to be used again in a context, and the callers' streams."""
    context.queues.clear()
    if context.is_primary:
        spare, _spare[context.ordinal] = _spare.get(context.ordinal, []), []
        with Current(context.native):
            _destroy(spare)


def _destroy(events: list[tuple[Any, Any]]) -> None:
    while events:
        driver.cuEventDestroy(events.pop()[1])


def follows_home(stream: int) -> bool:
    """True if CUDA itself orders work on a stream and on home as it was enqueued.

    It does so for streams that were made without CU_STREAM_NON_BLOCKING.

    Args:
        stream: the CUstream, which `check_device` has seen.
    """
    if stream in (LEGACY_STREAM, PER_THREAD_STREAM):
        return stream == LEGACY_STREAM
    return not call(driver.cuStreamGetFlags, driver.CUstream(stream)) & _NON_BLOCKING


def follows_home_of(context: Home, stream: int, holder: object) -> bool:
    """The answers of `check_device` and `follows_home`, asked for once while an object lives.

    Several decoders use the driver at a time, and each question to it slows them down.

    Args:
        context: the context of the stream.
        stream: the CUstream.
        holder: an object of a plugin that keeps the stream alive as long as it lives itself; for
            any other, such as an int, the driver is asked each time. For streams of callers there
            is `check_queue`.

    Raises:
        DeviceMismatchError: it belongs to another context.
    """
    key = int(context.native), stream
    known = known_streams.get(id(holder))
    if known is not None and known[0] == key:
        return known[1]
    check_device(context, stream)
    found = follows_home(stream)
    with suppress(TypeError):  # it has no weak references
        # C code forgets what has ended, which works even while the interpreter ends.
        end = ref(holder, partial(known_streams.pop, id(holder)))
        known_streams[id(holder)] = key, found, end
    return found


known_streams: dict[int, tuple[tuple[int, int], bool, ref[Any]]] = {}
"""The CUcontext and the stream, and whether it follows home, by the id() of the stream's holder, as
long as that lives. A WeakKeyDictionary would call five functions of Python for each frame."""


def known_handle(context: Home, queue: Any) -> int:
    """The CUstream of a caller's object: `handle_of` and `check_queue` in one.

    Raises:
        DeviceMismatchError, UnsupportedObjectError: as from these two.
    """
    handle = handle_of(queue)
    check_queue(context, handle, queue)
    return handle


def check_queue(context: Home, stream: int, queue: Any) -> None:
    """Do as `check_device` does, and ask the driver once about the stream of a caller's object.

    Args:
        context: the context that it should belong to.
        stream: the CUstream.
        queue: the object that the caller passed for it. The context holds the latest ones, unless
            they are numbers, so that handles of objects that own their streams are not used again.
    """
    queues = context.queues
    if stream in queues:
        return
    check_device(context, stream)
    if any(hasattr(queue, name) for name in ("__cuda_stream__", *_ATTRIBUTES)):
        queues[stream] = queue
        for oldest in list(queues)[:-_MOST_QUEUES]:
            queues.pop(oldest, None)


# No weak reference is made to a caller's stream: torch 2.11 frees its streams and leaves their weak
# references as they were, so that the process ends where Python compares one of them with that of
# a later stream.
_MOST_QUEUES = 32


def check_device(context: Home, stream: int) -> None:
    """Raise DeviceMismatchError for a stream of another context.

    Args:
        context: the context that it should belong to.
        stream: a CUstream that exists.
    """
    if stream in (LEGACY_STREAM, PER_THREAD_STREAM):
        return
    try:
        found = call(driver.cuStreamGetCtx, driver.CUstream(stream))
    except NativeError as error:
        raise DeviceMismatchError(f"{stream:#x} is not a stream of {context!r}: {error}") from error
    owner = int(found[0] if isinstance(found, tuple) else found)
    if owner != int(context.native):
        raise DeviceMismatchError(
            f"the stream {stream:#x} belongs to the CUcontext {owner:#x}, the memory to that of "
            f"{context!r}, {int(context.native):#x}"
        )
