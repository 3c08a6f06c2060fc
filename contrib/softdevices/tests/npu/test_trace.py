# SPDX-License-Identifier: Apache-2.0
"""Reading the trace of the software NPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from samebytes_softdevices import NpuTraceRecord, npu_trace


def test_lines_become_records(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(
        "a line of someone else\n"
        "softnpu mem_alloc pointer=0x7f00 size=4096 from=fresh fd=-1 device=(nil)\n"
        "softnpu graph_argument index=0 name=a%20b%3D%25\n"
        "softnpu graph_execute graph=0x10 arguments=0x7f00,0x8000 result=0x0\n"
        "softnpu profiling_refused\n",
        encoding="utf-8",
    )
    alloc, argument, execute, refused = npu_trace(path)
    assert (alloc.number("pointer"), alloc.number("size"), alloc.number("fd")) == (0x7F00, 4096, -1)
    assert alloc.number("device") == 0
    assert argument.fields["name"] == "a b=%"
    assert execute.pointers() == (0x7F00, 0x8000)
    assert refused == NpuTraceRecord("profiling_refused", {})
    assert npu_trace(path, "graph_execute") == [execute]
    with pytest.raises(KeyError):
        execute.number("pointer")


def test_a_trace_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        npu_trace(tmp_path / "none")
