# SPDX-License-Identifier: Apache-2.0
"""Copies of an interpreter: each is one of its own, and how it ends is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from samebytes.testing import _forked

LIMIT_S = 60.0


def copy(program: str, limit: float = LIMIT_S) -> tuple[int, str, str]:
    """Run a program in a copy of an interpreter that has imported `queue`."""
    return _forked.run(["queue"], "builtins:exec", [program], limit)


def test_what_it_writes_and_how_it_ends() -> None:
    program = "import os; print('well', flush=True); os.write(2, b'ill')"
    assert copy(program) == (0, "well\n", "ill")
    assert copy("raise SystemExit(7)")[0] == 7


def test_an_exception_is_reported() -> None:
    status, output, errors = copy("raise KeyError('no key')")
    assert (status, output) == (1, "")
    assert errors.endswith("KeyError: 'no key'\n")


def test_a_crash_is_seen_and_harms_no_other() -> None:
    status, _, errors = copy("import os; os.kill(os.getpid(), 11)")
    assert status == -signal.SIGSEGV
    assert "Segmentation fault" in errors  # by faulthandler
    assert copy("")[0] == 0


def test_it_ends_as_an_interpreter_does() -> None:
    at_exit = "import atexit; atexit.register(print, 'at exit')"
    living = "class Living:\n    def __del__(self): print('ended')\nimport queue\n"
    assert copy(f"{living}queue.left = Living()\n{at_exit}") == (0, "at exit\nended\n", "")
    assert copy("import atexit, os; atexit.register(os.abort)")[0] == -signal.SIGABRT


def test_a_copy_sees_nothing_of_another() -> None:
    assert copy("import queue; print(hasattr(queue, 'left')); queue.left = 1")[1] == "False\n"
    assert copy("import queue; print(hasattr(queue, 'left'))")[1] == "False\n"


def test_it_has_imported_what_was_named_and_no_framework() -> None:
    names = "import sys; print('queue' in sys.modules, 'numpy' in sys.modules)"
    assert copy(names)[1] == "True False\n"


def test_it_is_where_who_asks_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = "import os; print(os.getcwd(), os.environ.get('SOME_VARIABLE'))"
    assert copy(where)[1] == f"{Path.cwd()} None\n"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_VARIABLE", "its value")
    assert copy(where)[1] == f"{tmp_path} its value\n"


def test_what_is_read_as_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_there.py").write_text("print('found')")
    assert "No module named 'only_there'" in copy("import only_there")[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *_python_path()]))
    assert copy("import only_there")[1] == "found\n"


def _python_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def test_one_that_hangs_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        copy("import time; time.sleep(600)", limit=0.2)
    assert copy("print('the next')")[1] == "the next\n"


def test_the_next_gets_its_own_status_after_an_exception() -> None:
    def stop(*_: object) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(InterruptedError):
            copy(f"import os; os.kill({os.getpid()}, {signal.SIGUSR1:d})")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert copy("raise SystemExit(7)")[0] == 7


def test_threads_get_their_own_statuses() -> None:
    with ThreadPoolExecutor(4) as threads:
        statuses = threads.map(lambda n: copy(f"raise SystemExit({n})")[0], range(12))
    assert list(statuses) == list(range(12))


def test_another_is_copied_where_one_was_killed() -> None:
    with pytest.raises(RuntimeError, match="copied ended: -9"):
        copy("import os; os.kill(os.getppid(), 9)")
    assert copy("print('the next')")[1] == "the next\n"


def test_one_that_cannot_be_copied() -> None:
    with pytest.raises(RuntimeError, match="copied ended: 1"):
        _forked.run(["not_there"], "builtins:exec", [""], LIMIT_S)


def test_a_large_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ABC":
        monkeypatch.setenv(f"LARGE_{name}", name * 100_000)
    assert copy("import os; print(len(os.environ['LARGE_C']))")[1] == "100000\n"


FORKS = """
import os, sys
from samebytes.testing import _forked

_forked.run(["queue"], "builtins:exec", [""], 60)
if not os.fork():
    sys.stdin.read()
    os._exit(0)
"""


def test_a_process_ends_while_one_that_it_forked_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE) as process:
        assert process.wait(LIMIT_S) == 0


def test_it_takes_ctrl_c_as_an_interpreter_that_starts_here_does() -> None:
    program = "import signal; print(signal.getsignal(2) is signal.default_int_handler)"
    started = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert copy(program)[1] == started.stdout
