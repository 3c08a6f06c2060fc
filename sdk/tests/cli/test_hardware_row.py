# SPDX-License-Identifier: Apache-2.0
"""The row of the hardware page that a report makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samebytes.__main__ import main

REPORT: dict[str, Any] = {
    "date": "2026-11-28",
    "samebytes": "0.1.0",
    "python": "3.12.3",
    "system": "ubuntu 24.04",
    "kernel": "6.8.0",
    "processor": "Intel(R) Core(TM) Ultra 7 258V",
    "versions": [{"plugin": "openvino", "of": "version", "version": "2026.4.1"}],
    "devices": [
        {"node": "opencl", "kind": "GPU", "name": "Intel(R) Arc(TM) 140V GPU"},
        {"node": "openvino:GPU", "kind": "GPU", "name": "Intel(R) Arc(TM) 140V GPU"},
    ],
    "checks": [
        {"node": "opencl", "check": "memory", "result": "passed", "by": "in place"},
        {"node": "opencl", "check": "to dma", "result": "refused", "by": "clGetMemObjectInfo -30"},
        {"node": "openvino:GPU", "check": "frame", "result": "hung", "by": ""},
    ],
    "benchmarks": [{"plugin": "opencl", "row": "opencl -> cpu", "ratio": 1.5}],
}


Printed = Callable[[Any], tuple[int, str]]


@pytest.fixture
def printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    """The status of `samebytes doctor --hardware-row` for a report or its text, and its output."""

    def of(report: Any) -> tuple[int, str]:
        file = tmp_path / "report.json"
        file.write_text(report if isinstance(report, str) else json.dumps(report))
        status = main(["doctor", "--hardware-row", str(file)])
        out, err = capsys.readouterr()
        return status, err or out

    return of


def test_a_row(printed: Printed) -> None:
    assert printed(REPORT) == (
        0,
        (
            "| GPU Intel(R) Arc(TM) 140V GPU; Intel(R) Core(TM) Ultra 7 258V "
            "| samebytes 0.1.0; openvino 2026.4.1; ubuntu 24.04, Linux 6.8.0, Python 3.12.3 "
            "| 1 passed, 1 refused, 1 hung; hung: openvino:GPU frame; refused: opencl to dma "
            "(clGetMemObjectInfo -30); 1 benchmark, 1.50 times as long as by hand in the middle, "
            "1.50 at most | `samebytes doctor --hardware-report FILE` | 2026-11-28 |\n"
        ),
    )


def test_what_a_sender_adds_is_not_in_the_row(printed: Printed) -> None:
    device = {"node": "opencl", "kind": "GPU", "name": "[x] | y"}
    link = {"node": "opencl", "check": "memory", "result": "passed", "by": "https://example.org"}
    status, made = printed(REPORT | {"devices": [device], "checks": [link], "note": "https://a"})
    assert status == 0
    assert "http" not in made
    assert made.count("|") == 6  # a name with a bar is none


@pytest.mark.parametrize("report", [{}, [], {"devices": "all"}])
def test_no_device_no_row(printed: Printed, report: Any) -> None:
    status, said = printed(report)
    assert status == 1
    assert "names no device" in said


def test_a_file_that_is_broken(printed: Printed) -> None:
    status, said = printed("{")
    assert status == 1
    assert "cannot be read as a report" in said
