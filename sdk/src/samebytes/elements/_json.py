# SPDX-License-Identifier: Apache-2.0
"""json.sink: the metadata of frames, a line of JSON for each."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any, TextIO
from weakref import WeakKeyDictionary

from .._core.owner.locks import KeyLocks, Lock, in_forked_child
from ..errors import ElementError
from ..metadata import to_json
from ._element import Sink
from ._media import Media
from ._parameters import Doc
from ._per_stream import StreamName, stream_of

__all__ = ["JsonSink"]

_NAP = 0.02
"""Seconds between two checks for a reader of a pipe, or for room in it."""
_FINISHING = 0.7
"""Seconds for a reader to take the rest of a line when the pipeline ends in the middle of it."""

_entering = Lock()
_written: WeakKeyDictionary[TextIO, tuple[os.stat_result, bool]] = WeakKeyDictionary()
"""Files that sinks of this process write, and whether they append: none is emptied meanwhile."""
in_forked_child(_written.clear)
_turns = KeyLocks()  # by pipe, socket or terminal: sinks of one write a line after another


class JsonSink(Sink):
    """Writes the metadata of each frame as a line of JSON, in the form of gvametaconvert.

    Each line is written before the frame goes on, so that another program can follow the file. With
    "{stream}" in its `path` it writes a file for each stream: see `StreamName`.
    """

    path: Annotated[
        Path | None,
        Doc(
            'the file, which is replaced; with "{stream}" in it, one for each stream; None: '
            "standard output"
        ),
    ] = None
    append: Annotated[bool, Doc("keep what is in the file")] = False
    add_tensor_data: Annotated[bool, Doc("with the numbers of the tensors of results")] = False
    add_empty_results: Annotated[bool, Doc("a line also for frames without results")] = False
    takes = Media()

    _stopping = False

    def open(self, context: Any) -> None:
        """Open the file; of several files, each is opened with the first frame of its stream."""
        self._name = StreamName(str(self.path))
        self._stopping = False
        self._files: dict[int, TextIO] = {}
        if not self._name.varies:
            self._file_of(0)

    def write(self, frame: Any) -> None:
        """Write one line, or none for a frame without results."""
        file = self._file_of(stream_of(frame) if self._name.varies else 0)
        line = to_json(
            frame,
            add_tensor_data=self.add_tensor_data,
            add_empty_results=self.add_empty_results,
        )
        if line:
            self._put(line + "\n", file)

    def interrupt(self) -> None:
        """Stop waiting for the reader of a pipe, to come or to take data."""
        self._stopping = True

    def close(self) -> None:
        """Close the files."""
        with ExitStack() as closing:  # all of them, whatever one raises
            for file in vars(self).pop("_files", {}).values():
                if file is not sys.stdout:
                    closing.callback(file.close)

    def _file_of(self, stream: int) -> TextIO:
        file = self._files.get(stream)
        if file is None:
            path = None if self.path is None else Path(self._name.of(stream))
            file = sys.stdout if path is None else self._opened(path)
            self._files[stream] = file
        return file

    def _put(self, text: str, file: TextIO) -> None:
        """Write a line, after those that other sinks write into the same pipe.

        The buffer of the file stays empty, since close() would wait until it is written.
        """
        file.flush()
        raw = _taken_elsewhere(file)
        if raw is None:
            file.write(text)
            file.flush()
            return
        status = os.fstat(raw.fileno())
        turn = _turns.of((status.st_dev, status.st_ino))
        try:
            while not turn.acquire(timeout=_NAP):
                self._go_on_waiting()
            self._put_whole(text.encode(file.encoding, file.errors or "strict"), raw)
        finally:
            with suppress(RuntimeError):  # the turn was not ours yet
                turn.release()

    def _put_whole(self, line: bytes, raw: io.FileIO) -> None:
        """Write a line; interrupt() ends the wait for a reader that takes no data.

        It is written in pieces of PIPE_BUF bytes: a pipe that has room has room for that many. A
        reader that is only slow gets whole lines, also if an exception of a signal handler ends
        the wait.
        """
        room = select.poll()
        room.register(raw, select.POLLOUT)
        whole = left = memoryview(line)
        try:
            while left:
                if room.poll(_NAP * 1000):
                    left = left[raw.write(left[: select.PIPE_BUF]) or 0 :]
                else:
                    self._go_on_waiting()
        finally:
            until = time.monotonic() + _FINISHING
            while 0 < len(left) < len(whole) and room.poll(max(until - time.monotonic(), 0) * 1000):
                left = left[raw.write(left[: select.PIPE_BUF]) or 0 :]

    def _go_on_waiting(self) -> None:
        if self._stopping:
            raise ElementError(
                self.name, "stopped while the other side takes no data",
                parameters=self.changed_parameters,
            )  # fmt: skip

    def _opened(self, path: Path) -> TextIO:
        # Emptied only when it is known which file this is, and that nobody else writes it. No lock
        # is held meanwhile: a pipe waits here for its reader.
        file: TextIO = open(  # noqa: SIM115 - closed by close(); Path's has no opener
            path, "a", encoding="utf-8", opener=self._with_its_reader
        )
        try:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):  # a device or a pipe has as many users as it likes
                if not _entered(file, status, self.append):
                    raise ElementError(
                        self.name,
                        f"{path} is being written already: each sink needs a file of its own, or "
                        "all append=True",
                        parameters=self.changed_parameters,
                    )
                if not self.append:
                    file.truncate(0)
        except BaseException:
            file.close()
            raise
        return file

    def _with_its_reader(self, path: str, flags: int) -> int:
        """Open a file; a pipe once it has a reader, unless interrupt() comes before that.

        Only a signal ends the system's own wait for the reader, and only in the main thread.
        """
        if not Path(path).is_fifo():
            return os.open(path, flags, 0o666)
        while not self._stopping:
            try:
                number = os.open(path, flags | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                time.sleep(_NAP)
                continue
            os.set_blocking(number, True)
            return number
        raise ElementError(
            self.name, f"it was interrupted before anybody read {path}",
            parameters=self.changed_parameters,
        )  # fmt: skip


def _taken_elsewhere(file: TextIO) -> io.FileIO | None:
    """The raw file of a pipe, socket or terminal; None for an ordinary file.

    Also None for what stands in for standard output, as in a notebook, and writes in its own way.
    """
    buffer = file.buffer if type(file) is io.TextIOWrapper else None
    raw = getattr(buffer, "raw", buffer)  # there is no buffer with python -u
    if not isinstance(raw, io.FileIO) or not hasattr(select, "poll"):  # Windows
        return None
    return None if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else raw


def _entered(file: TextIO, status: os.stat_result, append: bool) -> bool:
    """Enter a file that is written from now on; False if another sink writes it.

    Several sinks may append lines to one file.
    """
    with _entering:
        for reference in _written.keyrefs():
            other = reference()
            if other is None or other.closed:
                continue
            its, appends = _written[other]
            if os.path.samestat(its, status) and not (append and appends):
                return False
        _written[file] = (status, append)
    return True
