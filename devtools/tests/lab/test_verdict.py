# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of the lab's tests, and of the verdict on the guest's end."""

from pathlib import Path

import pytest

from devtools.lab.machine import Ended, Size
from devtools.lab.tests_in_lab import chosen, judged, marked_files

JUNIT = '<testsuites><testsuite time="2">{}</testsuite></testsuites>'
GOOD = '<testcase classname="tests.test_it" name="test_good"/>'
BAD = '<testcase classname="tests.test_it" name="test_bad"><failure message="1 != 2"/></testcase>'
LINE = "4096\t0\t0\t1\tudmabuf\t{}\tcamera\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as a good run of two tests leaves it."""
    (tmp_path / "junit.xml").write_text(JUNIT.format(GOOD + GOOD))
    (tmp_path / "buffers-before").write_text(LINE.format(1))
    (tmp_path / "buffers-after").write_text(LINE.format(1))
    (tmp_path / "leftovers").write_text("")
    return tmp_path


def ended(folder: Path, status: int | None = 0, *, timed_out: bool = False) -> Ended:
    return Ended(status, timed_out, folder, "Kernel panic")


def test_a_good_run(folder: Path) -> None:
    result = judged(ended(folder), Size())
    assert result.ok
    assert result.summary == "2 passed, 0 failed, 0 skipped in 2 s"


def test_failed_tests(folder: Path) -> None:
    (folder / "junit.xml").write_text(JUNIT.format(GOOD + BAD))
    result = judged(ended(folder, 1), Size())
    assert not result.ok
    first, second = result.summary.splitlines()
    assert first == "1 passed, 1 failed, 0 skipped in 2 s"
    assert second.strip() == "tests.test_it::test_bad: '1 != 2'"


def test_no_tests_are_a_failure(folder: Path) -> None:
    (folder / "junit.xml").write_text(JUNIT.format(""))
    result = judged(ended(folder, int(pytest.ExitCode.NO_TESTS_COLLECTED)), Size())
    assert (result.ok, result.summary) == (False, "no tests were found")


def test_a_buffer_that_outlives_pytest(folder: Path) -> None:
    (folder / "buffers-after").write_text(LINE.format(1) + LINE.format(2))
    result = judged(ended(folder), Size())
    assert not result.ok
    assert "1 DMA-BUFs left over: DMA-BUF 2 of udmabuf, 4096 bytes, camera" in result.summary


def test_a_buffer_that_outlives_the_tests(folder: Path) -> None:
    (folder / "leftovers").write_text("DMA-BUF 3 of udmabuf, 4096 bytes, since test_it\n")
    result = judged(ended(folder, 1), Size())
    assert not result.ok
    assert "since test_it" in result.summary


def test_a_guest_that_never_came_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = judged(ended(tmp_path, None), Size())
    assert not result.ok
    assert "Kernel panic" in capsys.readouterr().out


def test_a_guest_whose_time_was_up(tmp_path: Path) -> None:
    result = judged(ended(tmp_path, None, timed_out=True), Size(timeout=7))
    assert (result.ok, result.summary) == (False, "stopped after 7 s (--timeout)")


def test_what_runs_by_default() -> None:
    words = chosen([])
    assert words[:3] == ["-m", "dmabuf", "--softdevices=vaapi"]
    assert words[3:] == marked_files()
    assert "backends/dma/tests/test_dma_bufs.py" in words
    assert not any(word.startswith("devtools") for word in words)


def test_what_is_given_is_not_given_twice() -> None:
    given = ["-m", "dmabuf and not slow", "--softdevices=gpu", "backends/dma/tests"]
    assert chosen(given) == given
    assert chosen(["-k", "heap", "devtools/results.py::x"])[:2] == ["-k", "heap"]
    assert chosen(["-k", "heap", "devtools/results.py::x"])[-1] == "--softdevices=vaapi"
