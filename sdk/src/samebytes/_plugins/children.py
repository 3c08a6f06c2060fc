# SPDX-License-Identifier: Apache-2.0
"""Child processes for code that may hang or crash; they answer in lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import IO

__all__ = ["Child", "answering", "run_child", "started_child"]


@dataclass(frozen=True, slots=True)
class Child:
    """A child process that has ended.

    Attributes:
        status: the exit status (negative for a signal); None if the time was up.
        answers: the lines of its answer.
        noise: everything else that it printed.
    """

    status: int | None
    answers: tuple[str, ...]
    noise: str

    def ending(self, timeout: float) -> str:
        """A phrase about its end, to follow a noun: "ended the process: SIGSEGV"."""
        if self.status is None:
            return f"took more than {timeout:g} s"
        if self.status < 0:
            text = f"ended the process: {_signal_name(-self.status)}"
        else:
            text = f"ended the process with status {self.status} and no result"
        lines = (line.strip() for line in reversed(self.noise.splitlines()))
        last = next(filter(None, lines), "")
        return f"{text}; its last words: {last}" if last else text


def run_child(module: str, arguments: Sequence[str], timeout: float) -> Child:
    """Run a module of samebytes in a process that finds the same plugins as this one.

    Raises:
        OSError: no process could be started.
    """
    with started_child(module, arguments, timeout) as wait:
        return wait()


@contextmanager
def started_child(
    module: str, arguments: Sequence[str], timeout: float
) -> Iterator[Callable[[], Child]]:
    """The same, beside other work: the function that it yields waits for the end of the child.

    The child and its own children are killed when the block ends, or earlier if `timeout` seconds
    have passed since its start while the function waits.
    """
    # Files, not pipes: a process that the child left behind would hold a pipe open.
    with _scratch_file() as answers, _scratch_file() as noise, ExitStack() as end:
        # Also for plugins on paths that this process has added.
        paths = os.pathsep.join(os.path.abspath(p) for p in sys.path)  # noqa: PTH100  ("": the cwd)
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=answers,
            stderr=noise,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        end.callback(_end, child)
        latest = time.monotonic() + timeout

        def wait() -> Child:
            with end:
                try:
                    status: int | None = child.wait(max(0.0, latest - time.monotonic()))
                except subprocess.TimeoutExpired:
                    status = None
            return Child(status, tuple(_text(answers).splitlines()), _text(noise))

        yield wait


def answering() -> Callable[[object], None]:
    """In the child: the function that answers. All other output goes elsewhere from now on."""
    with suppress(ImportError):  # only POSIX has it
        import resource

        # A crash is an answer and needs no core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Native libraries print to descriptor 1, so the answers go to a descriptor of their own.
    answers = os.dup(1)
    os.dup2(2, 1)

    def answer(value: object) -> None:
        os.write(answers, json.dumps(value).encode() + b"\n")

    return answer


def _scratch_file() -> IO[bytes]:
    """A file without a name: in memory if possible, since there may be no writable folder."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("samebytes"), "w+b")
    return tempfile.TemporaryFile()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and its own children."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
