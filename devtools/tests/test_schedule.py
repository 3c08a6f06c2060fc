# SPDX-License-Identifier: Apache-2.0
"""Parts of a run side by side: their output, their results, and their end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.results import Result
from devtools.schedule import Job, run_jobs
from devtools.workspace import CommandError, run

Runs = Callable[..., list[Result]]

# jax says so from the first use of it, in whichever test; these children use nothing of it.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


@pytest.fixture(params=[1, 2], ids=["in turn", "side by side"])
def run_all(request: pytest.FixtureRequest, tmp_path: Path) -> Runs:
    """Runs jobs, with one slot or two."""
    return lambda *jobs: run_jobs(jobs, request.param, logs=tmp_path / "logs")


def good(name: str) -> Job:
    """A job whose child writes two lines, with a wait between them."""

    def work() -> list[Result]:
        run(["sh", "-c", f"echo {name} one; sleep 0.2; echo {name} two >&2"])
        return [Result(name, True, "fine"), Result(f"{name}, more", True, "fine")]

    return Job(name, work)


def failing(name: str, error: Exception) -> Job:
    """A job that raises."""

    def work() -> list[Result]:
        raise error

    return Job(name, work)


def test_results_come_in_the_order_of_the_jobs(run_all: Runs) -> None:
    results = run_all(good("a"), good("b"), good("c"))
    assert [r.name for r in results] == ["a", "a, more", "b", "b, more", "c", "c, more"]
    assert all(result.ok for result in results)


def test_no_output_is_lost_or_mixed(run_all: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    run_all(good("a"), good("b"))
    output = capfd.readouterr()
    lines = [line for line in (output.out + output.err).splitlines() if line[2:] in ("one", "two")]
    both = [["a one", "a two", "b one", "b two"], ["b one", "b two", "a one", "a two"]]
    assert lines in both or (sorted(lines) == both[0] and output.err)  # in turn: two streams


def test_a_step_that_fails_is_a_failure(run_all: Runs) -> None:
    results = run_all(failing("a", CommandError("pip failed")), good("b"))
    assert [(r.name, r.ok) for r in results] == [("a", False), ("b", True), ("b, more", True)]
    assert "pip failed" in results[0].summary


def test_a_part_that_breaks_leaves_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = [failing("a", ZeroDivisionError("broken")), good("b")]
    results = run_jobs(jobs, 2, logs=tmp_path)
    assert [(r.name, r.ok) for r in results] == [("a", False), ("b", True), ("b, more", True)]
    assert "ZeroDivisionError: broken" in capfd.readouterr().out


def test_a_part_that_is_killed_is_a_failure(tmp_path: Path) -> None:
    def work() -> list[Result]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    killed, *_ = run_jobs([Job("a", work), good("b")], 2, logs=tmp_path)
    assert not killed.ok
    assert str(-signal.SIGKILL) in killed.summary


@pytest.mark.usefixtures("default_signals")
def test_a_part_does_not_ignore_ctrl_c(tmp_path: Path) -> None:
    """Even where the run does, as one that a shell has started in the background."""

    def work() -> list[Result]:
        return [Result("a", signal.getsignal(signal.SIGINT) == signal.default_int_handler, "")]

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, *_ = run_jobs([Job("a", work), good("b")], 2, logs=tmp_path)
    assert asked.ok


STOPPED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from devtools import schedule
from devtools.schedule import Job, run_jobs

signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

def work():
    child = subprocess.Popen(["sh", "-c", "trap '' INT TERM; echo $$ > PID; exec sleep 600"])
    child.wait()

NOW
run_jobs([Job("long", work), Job("short", lambda: [])], 2, logs=Path("logs"))
"""
# The signal comes before the process that was forked is known to anything else.
AT_THE_FORK = """
class Process(schedule._FORK.Process):
    def start(self):
        super().start()
        deadline = time.monotonic() + 60
        while not (Path("PID").exists() and Path("PID").read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(os.getpid(), NUMBER)

schedule._FORK.Process = Process
"""


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("when", ["", AT_THE_FORK], ids=["later", "at the fork"])
def test_nothing_outlives_a_stop(tmp_path: Path, number: signal.Signals, when: str) -> None:
    """Even a grandchild that ignores Ctrl-C."""
    program, pid_file = tmp_path / "program.py", tmp_path / "pid"
    text = STOPPED.replace("NOW", when.replace("NUMBER", str(int(number))))
    program.write_text(text.replace("PID", str(pid_file)))
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}
    )
    try:
        assert wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
        if not when:
            assert process.poll() is None
            process.send_signal(number)
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()  # one that has ended takes no harm
        process.wait()
    assert wait_until(lambda: is_gone(int(pid_file.read_text())))


def wait_until(true: Callable[[], object]) -> bool:
    """True if the condition comes true within a minute."""
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def is_gone(pid: int) -> bool:
    """True if a process has ended, even if no process has waited for it yet."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
