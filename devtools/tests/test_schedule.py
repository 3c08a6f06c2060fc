# SPDX-License-Identifier: Apache-2.0
"""Parts of a run side by side: their output, their results, and their end."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools import schedule
from devtools.schedule import run_parts
from devtools.workspace import CommandError

_ROOT = Path(__file__).parents[2]
# What a part does, by its name.
PART = """
import subprocess, sys
from pathlib import Path
from devtools.results import Result
from devtools.schedule import write_results

logs, name = Path(sys.argv[1]), sys.argv[2]
print(name, "one", flush=True)
if name == "broken":
    1 / 0
if name == "stuck":
    subprocess.Popen(["sh", "-c", "trap '' INT TERM; echo $$ > pid; exec sleep 600"]).wait()
print(name, "two", file=sys.stderr)
results = [Result(name, name != "bad", "fine"), Result(f"{name}, more", True, "fine")]
write_results(name, results, logs=logs)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """The command that runs a part."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    program = tmp_path / "part.py"
    program.write_text(PART.replace("> pid", f"> {tmp_path / 'pid'}"))
    return [sys.executable, program, tmp_path]


def test_results_come_in_the_order_of_the_parts_and_no_output_is_mixed(
    tmp_path: Path, command: list[str | Path], capfd: pytest.CaptureFixture[str]
) -> None:
    results = run_parts(["a", "bad", "c d"], 2, command, logs=tmp_path)
    names = ["a", "a, more", "bad", "bad, more", "c d", "c d, more"]
    assert [(r.name, r.ok) for r in results] == [(name, name != "bad") for name in names]
    output = capfd.readouterr().out
    for name in ("a", "bad", "c d"):
        assert f" s ========\n{name} one\n{name} two\n" in output


def test_a_part_that_breaks_leaves_the_others(
    tmp_path: Path, command: list[str | Path], capfd: pytest.CaptureFixture[str]
) -> None:
    results = run_parts(["broken", "b"], 2, command, logs=tmp_path)
    assert [(r.name, r.ok) for r in results] == [("broken", False), ("b", True), ("b, more", True)]
    assert "ended with status 1" in results[0].summary
    assert "ZeroDivisionError" in capfd.readouterr().out
    # What an earlier run has left is not taken for its results.
    command[1:2] = ["-c", "import os; os.kill(os.getpid(), 9)"]
    assert [r.ok for r in run_parts(["b", "c"], 2, command, logs=tmp_path)] == [False, False]


def test_what_needs_no_set_up_begins_before_it(
    tmp_path: Path, command: list[str | Path], capfd: pytest.CaptureFixture[str]
) -> None:
    def set_up() -> None:
        assert wait_until((tmp_path / "b.json").exists)
        assert not (tmp_path / "a.log").exists()
        print("set up", flush=True)

    results = run_parts(["a", "b"], 2, command, set_up=set_up, meanwhile=["b"], logs=tmp_path)
    assert [r.name for r in results] == ["a", "a, more", "b", "b, more"], "in their order"
    output = capfd.readouterr().out
    assert output.index("started b") < output.index("set up") < output.index("started a")


def test_a_set_up_that_fails_ends_what_has_begun(
    tmp_path: Path, command: list[str | Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def set_up() -> None:
        assert wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
        raise CommandError("no network")

    # What is stuck ignores Ctrl-C, so it is waited for in vain.
    monkeypatch.setattr(schedule, "_SECONDS_TO_END", 0.5)
    pid_file = tmp_path / "pid"
    with pytest.raises(CommandError, match="no network"):
        run_parts(["a", "stuck"], 2, command, set_up=set_up, meanwhile=["stuck"], logs=tmp_path)
    assert wait_until(lambda: is_gone(int(pid_file.read_text())))
    assert not (tmp_path / "a.log").exists()


STOPPED = """
import signal, sys
from pathlib import Path
from devtools import schedule
from devtools.schedule import run_parts

schedule._SECONDS_TO_END = 0.5
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
run_parts(["stuck", "b"], 2, [sys.executable, "part.py", "."], logs=Path("."))
"""


@pytest.mark.usefixtures("default_signals", "command")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_nothing_outlives_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Even a grandchild that ignores Ctrl-C."""
    monkeypatch.chdir(tmp_path)
    program, pid_file = STOPPED.replace('"."', f"{str(tmp_path)!r}"), tmp_path / "pid"
    program = program.replace('"part.py"', f"{str(tmp_path / 'part.py')!r}")
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        assert wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
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
