# SPDX-License-Identifier: Apache-2.0
"""Pipelines: made from text, started, stopped, and watched for errors."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from samebytes import Storage
from samebytes.errors import ClosedError, NativeError, SamebytesError, UnsupportedObjectError
from samebytes.plugins import Aside, in_forked_child, without_secrets, without_secrets_in

from .._abi.gi import Gst

__all__ = ["Deadline", "Pipeline", "PipelineError", "PipelineTimeoutError"]

# How long one wait lasts before the bus is looked at again.
_STEP = 0.02

# For how many seconds an element may go on that was asked to stop.
_PATIENCE = 10.0

# Other messages are dropped.
_WANTED = Gst.MessageType.ERROR | Gst.MessageType.EOS


class PipelineError(NativeError):
    """An element of a pipeline failed, or a pipeline cannot be made.

    The message names the element, and has the text that it added for developers, which often is the
    only description of the fault ("not-negotiated").

    Attributes:
        call: the element that failed, as its path in the pipeline, or the function.
        code: the code of GStreamer's error.
        debug: the text that the element added for developers.
    """

    def __init__(self, call: str, code: int, meaning: str = "", debug: str = "") -> None:
        self.debug = without_secrets(debug)
        super().__init__(call, code, f"{meaning} ({debug})" if debug else meaning)


class PipelineTimeoutError(SamebytesError, TimeoutError):
    """A pipeline gave or took no frame in the time that was allowed."""


class Pipeline(Storage.Uncopied):
    """A Gst.Pipeline that plays, and is stopped when nobody holds it any more.

    Args:
        description: a text as for gst-launch-1.0, or a Gst.Pipeline of the user's.

    Attributes:
        playing: True once it was started.
        ended: True once all sinks were seen to have reached the end of the stream.
    """

    _instead = "use the same one, or make another"

    def __init__(self, description: Any) -> None:
        self.native = _made(description)
        self._bus = self.native.get_bus()
        self.playing = False
        self.ended = False
        self._failure: tuple[str, int, str, str] | None = None
        self._interrupted = False
        self._changing: Aside | None = None
        _living.add(self)

    def find(self, kind: str, name: str | None) -> Any:
        """The element of that factory ("appsink"), or of that name.

        Raises:
            UnsupportedObjectError: there is none, or several and no name.
        """
        self.check_open()
        if name is not None:
            found = self.native.get_by_name(name)
            if found is None or found.get_factory().get_name() != kind:
                raise UnsupportedObjectError(f"the pipeline has no {kind} named {name!r}")
            return found
        elements = [e for e in _elements(self.native) if e.get_factory().get_name() == kind]
        if len(elements) != 1:
            raise UnsupportedObjectError(
                f"the pipeline has {len(elements)} elements {kind}; name the one that is meant"
                if elements
                else f"the pipeline has no {kind}"
            )
        return elements[0]

    def play(self) -> None:
        """Start it, unless it was started before.

        Raises:
            PipelineError: an element cannot start.
            Aside.GivenUpError: `interrupt()` was called, and an element waits while it starts.
        """
        self.check_open()
        if self.playing:
            return
        self.playing = True
        if self._change(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            self.check_bus()
            raise PipelineError("gst_element_set_state", 0, "an element cannot start")

    def interrupt(self) -> None:
        """Make a waiting change of its state be given up; called from another thread."""
        self._interrupted = True
        changing = self._changing
        if changing is not None:
            changing.interrupt()

    def check_bus(self, wait: float = 0.0) -> None:
        """Look for an error that an element reported, and for the end of the stream.

        Args:
            wait: how long to wait for either, in seconds.

        Raises:
            PipelineError: there is one, now or at an earlier call: a pipeline that failed does
                not go on.
        """
        self.check_open()
        if self._failure is not None:
            raise PipelineError(*self._failure)
        message = self._bus.timed_pop_filtered(int(wait * Gst.SECOND), _WANTED)
        if message is None:
            return
        if message.type == Gst.MessageType.EOS:
            self.ended = True
            return
        # Not the exception, whose traceback would keep the caller's frames.
        self._failure = _failure_in(message)
        raise PipelineError(*self._failure)

    def wait_until_end(self, timeout: float, check: Callable[[], object]) -> None:
        """Return when all sinks have seen the end of the stream.

        Args:
            timeout: in seconds.
            check: called now and then; an exception that it raises ends the wait.

        Raises:
            PipelineError: an element fails.
            PipelineTimeoutError: that takes longer than `timeout` seconds.
        """
        # Messages come one by one, and those before the end may be errors.
        self.check_bus()
        deadline = Deadline(timeout, "the pipeline did not end")
        while not self.ended:
            self.check_bus(wait=deadline.step())
            check()

    def stop(self) -> None:
        """Stop it for good. Frames that came from it stay valid.

        An element that does not return in time is left to a thread, which ends when it returns.
        """
        if self.native is not None:
            patience = threading.Timer(_PATIENCE, self.interrupt)
            patience.daemon = True
            try:
                with suppress(RuntimeError):  # no thread can be started while Python ends
                    patience.start()
                with suppress(Aside.GivenUpError):
                    self._change(Gst.State.NULL)
            finally:
                self.native = None
                _living.discard(self)
                patience.cancel()
                if patience.is_alive():
                    patience.join()  # it holds this object, and so the bus

    def stop_now(self) -> None:
        """As `stop`, for when no thread can be started: in a finalizer, and as Python ends."""
        native, self.native = self.native, None
        if native is not None:
            native.set_state(Gst.State.NULL)
            _living.discard(self)

    def _change(self, state: Any) -> Any:
        """Set the state, in a thread of its own: an element may connect, or wait for a pipe.

        A change that is given up ends in that thread, when the element returns.
        """
        native = self.native
        aside = Aside("samebytes GStreamer waits", leave=partial(native.set_state, Gst.State.NULL))
        self._changing = aside
        if self._interrupted:
            aside.interrupt()
        try:
            return aside.call(partial(native.set_state, state))
        finally:
            self._changing = None
            if aside.left:
                self.native = None
                _living.discard(self)
            aside.close()

    def check_open(self) -> None:
        """Raise ClosedError after stop()."""
        if self.native is None:
            raise ClosedError("this pipeline was stopped")

    def __del__(self) -> None:
        if getattr(self, "native", None) is not None:
            self.stop_now()


class Deadline:
    """A bounded wait.

    Args:
        timeout: in seconds.
        what: a phrase for the thing waited for, for the error.
    """

    def __init__(self, timeout: float, what: str) -> None:
        self._end = time.monotonic() + timeout
        self._text = f"{what} within {timeout} s"
        self._looked = False

    def step(self) -> float:
        """The seconds to wait next; even without any time, one look is still made.

        Raises:
            PipelineTimeoutError: the time is over.
        """
        left = self._end - time.monotonic()
        if left <= 0 and self._looked:
            raise PipelineTimeoutError(self._text)
        self._looked = True
        return min(max(left, 0.0), _STEP)


def _made(description: Any) -> Any:
    if isinstance(description, Gst.Pipeline):
        return description
    if not isinstance(description, str):
        raise UnsupportedObjectError(
            f"a pipeline must be a Gst.Pipeline or its text, not {type(description).__name__}"
        )
    if "\0" in description:  # to C a text ends there
        text = f"there is a NUL character in {description!r}"
        raise PipelineError("gst_parse_launch", int(Gst.ParseError.SYNTAX), text)
    try:
        made = Gst.parse_launch(description)
    except Exception as error:  # GLib.Error, which gi makes for each domain
        without_secrets_in(error)
        code = getattr(error, "code", 0)
        text = getattr(error, "message", str(error))
        raise PipelineError("gst_parse_launch", code, f"{text} (in {description!r})") from error
    if isinstance(made, Gst.Pipeline):
        return made
    pipeline = Gst.Pipeline.new(None)
    pipeline.add(made)
    return pipeline


def _elements(bin_: Any) -> list[Any]:
    """All elements in a bin, those in bins in it too."""
    found = []
    for child in bin_.children:
        found.append(child)
        if isinstance(child, Gst.Bin):
            found += _elements(child)
    return [element for element in found if element.get_factory() is not None]


def _failure_in(message: Any) -> tuple[str, int, str, str]:
    """The arguments of a PipelineError."""
    error, debug = message.parse_error()
    return message.src.get_path_string(), error.code, error.message, debug or ""


# A streaming thread must not run when the interpreter is gone.
_living: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _stop_living() -> None:
    for pipeline in list(_living):
        pipeline.stop_now()


def _leave_to_the_parent() -> list[object]:
    """Return the pipelines, which a forked child must not free: that would wait for threads."""
    natives = []
    for pipeline in list(_living):
        natives.append(pipeline.native)
        pipeline.native = None
    _living.clear()
    return natives


in_forked_child(_leave_to_the_parent)
