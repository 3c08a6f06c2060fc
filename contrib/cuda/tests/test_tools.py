# SPDX-License-Identifier: Apache-2.0
"""The tool that runs the tests on a machine with a GPU, which has to end in time."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ON_GPU = Path(__file__).resolve().parents[1] / "tools" / "on_gpu.py"
HANGS = "import time; print('begun', flush=True); time.sleep(600)"
# Deaf to the interrupt, with a child that is so too.
DEAF = (
    "import os, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); os.fork(); "
    "print('begun', flush=True); time.sleep(600)"
)

pytestmark = pytest.mark.skipif(
    not ON_GPU.exists(), reason="the tools lie in the repository, and this runs one"
)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The tool as a module, without wheels."""
    found = importlib.util.spec_from_file_location("on_gpu", ON_GPU)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "on_gpu", module)
    found.loader.exec_module(module)
    monkeypatch.setattr(module, "SITE", tmp_path / "site")
    monkeypatch.setattr(module, "WHEELS", tmp_path / "wheels")
    monkeypatch.setattr(module, "ENDING", 0.5)
    return module


_popen: Any = subprocess.Popen


def _started(*args: Any, stdout: int, **options: Any) -> subprocess.Popen[bytes]:
    """A process that has written or has ended: the time of its step is not for starting it."""
    before, deadline = os.fstat(stdout).st_size, time.monotonic() + 60
    process: subprocess.Popen[bytes] = _popen(*args, stdout=stdout, **options)
    while os.fstat(stdout).st_size == before and process.poll() is None:
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    return process


def _run(
    tool: Any, monkeypatch: pytest.MonkeyPatch, out: Path, steps: list[Any], seconds: float
) -> tuple[int, str]:
    monkeypatch.setattr(tool, "steps", lambda _: steps)
    monkeypatch.setattr(subprocess, "Popen", _started)
    monkeypatch.setattr(sys, "argv", ["on_gpu.py", str(out), "--seconds", str(seconds)])
    return tool.main(), (out / "report.txt").read_text()


def _step(tool: Any, name: str, program: str, *more: Any, **options: Any) -> Any:
    return tool.Step(name, [sys.executable, "-c", program], f"{name}.txt", *more, **options)


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("program", [HANGS, DEAF])
@pytest.mark.together
def test_a_step_that_hangs_is_ended_and_the_next_one_runs(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    steps = [
        _step(tool, "hangs", program, 3, 0),
        _step(tool, "next", "print('1 passed in 1s'); print('end')", 60, 30),
    ]
    status, report = _run(tool, monkeypatch, tmp_path, steps, 120)
    assert status == 1
    assert "hangs: ended after" in report
    assert re.search(r"next: ok, \d+ s: 1 passed in 1s; end", report)
    assert "begun" in (tmp_path / "hangs.txt").read_text()


@pytest.mark.together
def test_what_no_time_is_left_for(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only what is optional may be missing."""
    steps = [
        _step(tool, "first", "print('done')", 60, 0),
        _step(tool, "rest", HANGS, 3, 0, is_optional=True),
        _step(tool, "never", "", 0, 0, is_optional=True),
    ]
    status, report = _run(tool, monkeypatch, tmp_path, steps, 120)
    assert status == 0, report
    assert "rest: ended after" in report
    assert "never: not run" in report
    assert _run(tool, monkeypatch, tmp_path, [_step(tool, "needed", "", 0, 0)], 120)[0] == 1


def test_the_report_is_there_after_each_step(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    look = f"import pathlib; print(pathlib.Path({str(tmp_path / 'report.txt')!r}).read_text())"
    steps = [
        _step(tool, "fails", "print('FAILED test_a - why'); raise SystemExit(3)", 60, 0),
        _step(tool, "looks", look, 60, 0, is_shown=True),
    ]
    status, report = _run(tool, monkeypatch, tmp_path, steps, 120)
    assert status == 1
    assert report.count("fails: status 3") == 2
    assert "  FAILED test_a - why" in report


@pytest.mark.parametrize("video", [False, True])
def test_the_steps_fit_into_one_call(tool: Any, video: bool) -> None:
    """Their output too: what brings it back may take eight files."""
    steps = tool.steps_of_video() if video else tool.steps([])
    assert sum(step.least for step in steps) < 540
    assert len({step.file for step in steps}) < 8
    assert all(step.most >= step.least for step in steps)
