# SPDX-License-Identifier: Apache-2.0
"""One file or connection that ffmpeg.sink writes: opened, written, given up on and closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TypeVar

import av

from samebytes.plugins import Aside, without_secrets_in

from ._failures import in_words
from ._files_in_use import Use, file_name, writing
from ._output import Output

__all__ = ["OneFile"]

R = TypeVar("R")

_GRACE = 0.3
"""Seconds in which a call that does not wait returns by itself, so that its data stay whole."""

_FINISHING = 0.7
"""Seconds for a connection to take the rest after a failure or an interruption."""


class OneFile:
    """The output of one stream: a file, or whatever else FFmpeg can write to.

    Args:
        url: a file, or what FFmpeg can write to.
        format_: of the container; "" for what the ending says.
        options: of the container.
        name: of the element, for the thread that waits for a connection.

    Attributes:
        output: the container; None before open() and after close().
    """

    def __init__(self, url: str, format_: str, options: Mapping[str, str], name: str) -> None:
        url = file_name(url)
        # Absolute, for FFmpeg takes what is before the colon of "12:30.mp4" for a protocol.
        elsewhere = "://" in url or url.startswith("pipe:")
        self._path = None if elsewhere else Path(url).absolute()
        self._url = url if self._path is None else str(self._path)
        self._format, self._options, self._name = format_, options, name
        self._aside: Aside | None = None
        self._interrupted = False
        self._pipe: IO[bytes] | None = None
        self._use: Use | None = None
        self._woken = 0.0
        self._made = False
        self._opened: Output | None = None
        self.output: Output | None = None

    def open(self) -> None:
        """Create it.

        Raises:
            ValueError: it cannot be created; the message says why.
            Aside.GivenUpError: interrupted meanwhile.
        """
        path = self._path
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"FFmpeg cannot create it: the folder {path.parent} does not exist")
        if path is not None:
            self._use = writing(path)
        pipe = path is not None and path.exists() and not path.is_file()
        if path is None or pipe:
            named = f"samebytes {self._name} waits"
            self._aside = Aside(named, wake=self._end_wait, leave=self._leave)
            if self._interrupted:  # before there was a wait to end
                self._aside.interrupt()
        try:
            if pipe:
                self.waiting(self._open_pipe)
            self.output = self._opened = self.waiting(
                lambda: Output(self._pipe or self._url, self._format, self._options)
            )
        except (av.FFmpegError, OSError, ValueError) as error:
            raise ValueError(f"FFmpeg cannot create it: {in_words(error)}") from without_secrets_in(
                error
            )

    def waiting(self, call: Callable[[], R]) -> R:
        """Return the result of a call, which can be interrupted if this writes to a connection.

        Raises:
            Aside.GivenUpError: interrupted meanwhile.
        """
        self._woken = 0.0
        return call() if self._aside is None else self._aside.call(call)

    def interrupt(self) -> None:
        """Give up on a peer that takes no data."""
        self._interrupted = True
        if self._aside is not None:
            self._aside.interrupt()

    def close(self, *, failed: bool, stopping: bool) -> None:
        """Write the trailer, and close it; call `leave()` afterwards.

        Args:
            failed: there is an error already, so no other is raised.
            stopping: a connection may take no more data, so its errors are left out.

        Raises:
            FFmpegError, OSError, ValueError: it cannot be finished.
        """
        output, self.output = self.output, None
        early = failed or (stopping and self._aside is not None)
        given_up = (Aside.GivenUpError,)
        expected = (*given_up, av.FFmpegError, OSError, ValueError) if early else given_up
        try:
            if output is not None:
                with self._soon() if early else nullcontext():
                    try:
                        with suppress(*expected):
                            self.waiting(output.flush)
                    finally:
                        with suppress(*expected):
                            self.waiting(output.close)
        finally:
            # What is written aside is a pipe, a device or a connection.
            self._made = output is not None and output.made and self._aside is None
            aside, self._aside = self._aside, None
            if aside is not None:
                if not aside.left:
                    self._close_pipe()
                    self._opened = None
                aside.close()

    def leave(self, *, remove: bool) -> None:
        """Leave the file to others, after close().

        Args:
            remove: delete it, if this has made it: one from before that is still whole stays.
        """
        if remove and self._made and self._path is not None:
            self._path.unlink(missing_ok=True)
        self._use = None

    @contextmanager
    def _soon(self) -> Iterator[None]:
        """Give up on a connection that takes too long in the block."""
        if self._aside is None:
            yield
            return
        timer = threading.Timer(_FINISHING, self._aside.interrupt)
        timer.daemon = True
        with suppress(RuntimeError):  # none can be started while the interpreter ends
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            if timer.is_alive():
                timer.join()

    def _open_pipe(self) -> None:
        # PyAV would open it without letting other threads run.
        assert self._path is not None, "open() asked"
        self._pipe = self._path.open("wb", buffering=0)

    def _end_wait(self) -> None:
        opened, now = self._opened, time.monotonic()
        self._woken = self._woken or now
        if opened is not None and opened.peer is not None and now - self._woken >= _GRACE:
            opened.peer.interrupt()

    def _leave(self) -> None:
        self._close_pipe()
        opened, self._opened = self._opened, None
        if opened is not None:
            with suppress(av.FFmpegError, OSError, ValueError):
                opened.close()

    def _close_pipe(self) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
