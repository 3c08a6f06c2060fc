# SPDX-License-Identifier: Apache-2.0
"""Interpreters made by fork() from one that has already imported what all of them need.

The imports take longer than most of the work that needs its own process. The interpreter that is
copied imports only the named modules, and runs no code of a framework. A copy ends like any
interpreter: its objects die in the same order, and a crash at its end is seen.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import IO

from .._core.owner.locks import Lock

__all__ = ["run", "serve"]

_START = "import sys; from samebytes.testing import _forked; _forked.serve(*sys.argv[1:])"
_MESSAGE_BYTES = 32
# Prefixes of the variables that a process or a library reads when it starts. A copy gets all others
# from the process that asks for it.
_READ_AT_START = ("GLIBC_", "LD_", "MALLOC_", "OMP_", "OPENBLAS_", "PYTHON")


def run(
    modules: Sequence[str], function: str, arguments: Sequence[str], timeout: float
) -> tuple[int, str, str]:
    """Call a function in a copy of an interpreter that has imported some modules.

    The copy has this process's environment and current folder, and the same `sys.path` as an
    interpreter that starts here.

    Args:
        modules: the names of the modules that it has imported.
        function: "module:name".
        arguments: the arguments of the call.
        timeout: in seconds; the copy is killed after it.

    Returns:
        The exit status, or the negative number of the signal that ended the copy; and what it wrote
        to stdout and to stderr.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    request = {
        "function": function,
        "arguments": [*arguments],
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 - a string
    }
    with ExitStack() as stack:
        asked, output, errors = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        # In a file, since a message has a maximum length that an environment can exceed.
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        with _turns:
            server = _server(tuple(modules))
            try:
                status = server.run((asked, output, errors), timeout)
            except TimeoutError:
                raise subprocess.TimeoutExpired(function, timeout) from None
            except ConnectionError:
                raise RuntimeError(f"the interpreter that is copied {server.ended()}") from None
            finally:
                if not server.is_idle:  # its late answer would be taken for that of another call
                    _servers.pop(tuple(modules)).end()
        return status, _text(output), _text(errors)


class _Server:
    """The interpreter that is copied, as its parent sees it."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.surroundings = _surroundings()
        self.is_idle = True
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-c", _START, str(theirs.fileno()),
                 *modules],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
            )  # fmt: skip

    def run(self, files: Sequence[IO[bytes]], timeout: float) -> int:
        self._asking.settimeout(timeout)
        self.is_idle = False
        socket.send_fds(self._asking, [b"\0"], [file.fileno() for file in files])
        pid = self._answer()
        try:
            status = self._answer()
        except BaseException:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise
        self.is_idle = True
        return status

    def _answer(self) -> int:
        answer = self._asking.recv(_MESSAGE_BYTES)
        if not answer:
            raise ConnectionResetError
        return int(answer)

    def ended(self) -> str:
        """A message about the end of a server that no longer answers."""
        return f"ended: {self._process.wait()}"

    def end(self) -> None:
        """End it. Closing the socket would not, if a process forked from this one holds it too."""
        self._process.kill()
        self._process.wait()
        self._asking.close()


_servers: dict[tuple[str, ...], _Server] = {}
_turns = Lock()


def _server(modules: tuple[str, ...]) -> _Server:
    """The server for these modules; a new one if a variable that it read at its start changed."""
    found = _servers.get(modules)
    if found is not None and found.surroundings != _surroundings():
        _servers.pop(modules).end()
        found = None
    if found is None:
        found = _servers[modules] = _Server(modules)
    return found


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_READ_AT_START)}


@atexit.register
def _end_all() -> None:
    while _servers:
        _servers.popitem()[1].end()


def serve(descriptor: str, *modules: str) -> None:
    """Answer requests in the interpreter that is copied; in a copy, carry out one and return."""
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(descriptor)) as asked:
        while True:
            message, files, _, _ = socket.recv_fds(asked, _MESSAGE_BYTES, 3)
            if not message:
                return
            pid = os.fork()
            if not pid:
                break
            for file in files:
                os.close(file)
            asked.send(b"%d" % pid)
            _, status = os.waitpid(pid, 0)
            with suppress(BrokenPipeError):  # nobody waits for it any more
                asked.send(b"%d" % os.waitstatus_to_exitcode(status))
    signal.signal(signal.SIGINT, interrupted)
    with os.fdopen(files[0], "rb") as text:
        request = json.load(text)
    for number, file in enumerate(files[1:], 1):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    module, _, name = request["function"].partition(":")
    getattr(importlib.import_module(module), name)(*request["arguments"])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
