# SPDX-License-Identifier: Apache-2.0
"""The row of the hardware page that a report makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from samebytes.__main__ import main
from samebytes._hardware.row import row_of
from samebytes.errors import UnsupportedObjectError

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


def row(tmp_path: Path, report: Any) -> str:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report))
    return row_of(file)


def test_a_row(tmp_path: Path) -> None:
    assert row(tmp_path, REPORT) == (
        "| GPU Intel(R) Arc(TM) 140V GPU; Intel(R) Core(TM) Ultra 7 258V "
        "| samebytes 0.1.0; openvino 2026.4.1; ubuntu 24.04, Linux 6.8.0, Python 3.12.3 "
        "| 1 passed, 1 refused, 1 hung; hung: openvino:GPU frame; refused: opencl to dma "
        "(clGetMemObjectInfo -30); 1 benchmark, 1.50 times as long as by hand in the middle, "
        "1.50 at most | `samebytes doctor --hardware-report FILE` | 2026-11-28 |"
    )


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = row(tmp_path, REPORT)
    assert main(["doctor", "--hardware-row", str(tmp_path / "report.json")]) == 0
    assert capsys.readouterr().out == expected + "\n"


def test_what_a_sender_adds_is_not_in_the_row(tmp_path: Path) -> None:
    device = {"node": "opencl", "kind": "GPU", "name": "[x] | y"}
    link = {"node": "opencl", "check": "memory", "result": "passed", "by": "https://example.org"}
    made = row(tmp_path, REPORT | {"devices": [device], "checks": [link], "note": "https://a"})
    assert "http" not in made
    assert made.count("|") == 6  # a name with a bar is none


@pytest.mark.parametrize("report", [{}, [], {"devices": "all"}])
def test_no_device_no_row(tmp_path: Path, report: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match="names no device"):
        row(tmp_path, report)


def test_a_file_that_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("{")
    with pytest.raises(UnsupportedObjectError, match="cannot be read as a report"):
        row_of(file)
