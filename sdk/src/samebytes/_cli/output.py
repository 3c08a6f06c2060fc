# SPDX-License-Identifier: Apache-2.0
"""Standard output and standard error that are closed, full, or whose reader is gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Output", "checked_output", "empty", "open_closed_streams"]


def open_closed_streams() -> None:
    """Discard what is written to a closed stream (`>&-`), as `>/dev/null` does.

    Python has None for such a stream, which rich and argparse do not expect. And the next file that
    is opened would get the stream's number, so that libraries which print would write into it.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is not None:
            continue
        null = os.open(os.devnull, os.O_WRONLY)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        stream = io.FileIO(number, "w", closefd=False)
        setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(stream), encoding="utf-8"))


class Output:
    """The state of standard output: `error` is the error of the first failed write, or None."""

    def __init__(self) -> None:
        self.error: OSError | None = None


@contextmanager
def checked_output() -> Iterator[Output]:
    """Record whether standard output took everything that was written to it.

    A writer may not notice a failure: argparse ignores errors, and a buffer is written out later. A
    stream that replaces the process's own is left alone.
    """
    output = Output()
    ours = sys.stdout
    if ours is not sys.__stdout__ or not isinstance(ours, io.TextIOWrapper):
        yield output
        return
    ours.flush()
    checked = io.TextIOWrapper(
        io.BufferedWriter(_Recording(ours.fileno(), output)),
        encoding=ours.encoding,
        errors=ours.errors,
        line_buffering=ours.line_buffering,
    )
    sys.stdout = checked
    try:
        yield output
    finally:
        sys.stdout = ours
        empty(checked)


def empty(stream: TextIO) -> None:
    """Write out what a stream still holds, or discard it if that fails.

    Otherwise the interpreter would try again at its exit, complain, and end with its own status.
    """
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()


class _Recording(io.FileIO):
    """A file that records the first error of a write, and raises it too."""

    def __init__(self, number: int, output: Output) -> None:
        super().__init__(number, "w", closefd=False)
        self._output = output

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer
        except OSError as error:
            self._output.error = self._output.error or error
            raise
