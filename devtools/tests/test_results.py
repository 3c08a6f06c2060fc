# SPDX-License-Identifier: Apache-2.0
"""Tests of what a run of pytest says in short, and of the table of that."""

import subprocess
import sys
from pathlib import Path

import pytest

from devtools.pytest_run import pytest_run
from devtools.results import Result, not_run, summary, table

TESTS = """
import pytest

def test_good(): pass
def test_bad(): assert False
def test_skipped(): pytest.skip("no GPU on this computer")

@pytest.fixture
def broken(): raise RuntimeError

def test_error(broken): pass
"""
CRASH = """
import faulthandler

def test_good(): pass

def test_bad():
    faulthandler._sigsegv()
"""


def report_of(tmp_path: Path, tests: str) -> tuple[Path, int]:
    """The report and the exit status of a pytest run."""
    (tmp_path / "test_it.py").write_text(tests)
    report = tmp_path / "junit.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    answer = subprocess.run(
        [*command, f"--junitxml={report}"], cwd=tmp_path, capture_output=True, check=False
    )
    return report, answer.returncode


def test_every_outcome_is_counted_and_failures_are_named(tmp_path: Path) -> None:
    text, bad, broken = summary(*report_of(tmp_path, TESTS)).splitlines()
    assert text.startswith("1 passed, 2 failed, 1 skipped in ")
    assert bad.strip() == "test_it::test_bad: 'assert False'"
    assert broken.strip().startswith("test_it::test_error: 'failed on setup with")


def test_what_also_fails_afterwards_is_not_taken_from_those_that_passed(tmp_path: Path) -> None:
    again = TESTS + "\n@pytest.fixture\ndef leaks():\n    yield\n    raise RuntimeError\n"
    again += "\ndef test_twice(leaks): pytest.skip('no GPU on this computer')\n"
    text = summary(*report_of(tmp_path, again))
    assert text.startswith("1 passed, 3 failed, 2 skipped in ")


def test_a_run_without_tests_says_so(tmp_path: Path) -> None:
    report, status = report_of(tmp_path, "")
    assert status != 0
    assert summary(report, status) == "no tests were found"


def test_a_run_without_a_report_says_so(tmp_path: Path) -> None:
    text = summary(tmp_path / "none.xml", 4)
    assert text == "pytest ended with 4 without a report: its output says where it was"


def test_a_signal_that_ends_a_run_is_named_and_the_stacks_are_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_it.py").write_text(CRASH)
    arguments = ["--rootdir=.", "."]
    result = pytest_run("crash", Path(sys.executable), arguments, cwd=tmp_path, strict=True)
    assert not result.ok
    assert result.summary.startswith("pytest was ended by SIGSEGV in test_it.py::test_bad: ")
    assert "line 7 in test_bad" in capfd.readouterr().err


def test_what_did_not_run_is_seen() -> None:
    results = [not_run("lab", "no way to the archive"), Result("lint", True, "no complaints")]
    assert table(results, 61.7).splitlines() == [
        "ok      lint: no complaints",
        "not run lab: no way to the archive",
        "62 s in all",
    ]
