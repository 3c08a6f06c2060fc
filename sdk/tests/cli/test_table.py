# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of several widths."""

from __future__ import annotations

import re

import pytest

from samebytes._cli.table import print_table

HEADS = ("plugin", "state", "reason")
ROWS = [("alpha", "ready", ""), ("beta_of_many", "missing", " ".join(["word"] * 30))]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_nothing_is_cut_off(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEADS, ROWS)
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # its colours
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "beta_of_many" in text
    assert text.count("word") == 30
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    below = next((line for line in lines if line.strip().startswith("word")), "")
    assert below.startswith("    word word") == (columns < 80)


def test_a_pipe_gets_each_row_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEADS, ROWS)
    assert len(capsys.readouterr().out.splitlines()) == 3
