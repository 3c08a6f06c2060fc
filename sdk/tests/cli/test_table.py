# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of several widths: that of the elements, with one that has much to say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import samebytes.elements as el
from samebytes.__main__ import main

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

pytestmark = pytest.mark.usefixtures("talkative")


@pytest.fixture
def talkative(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin with an element of many words, beside those of the core."""
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu,beta")
    summary = " ".join(["word"] * 30)
    site.plugin(
        "beta",
        f"""
@hookimpl
def samebytes_elements():
    return [ElementSpec(name="beta.of_many", element="beta_elements:Many", summary={summary!r})]
""",
    )


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_nothing_is_cut_off(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["elements"]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # its colours
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "beta.of_many" in text
    assert text.count("word") == 30
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    below = next((line for line in lines if line.strip().startswith("word")), "")
    assert below.startswith("    word word") == (columns < 60)


def test_a_pipe_gets_each_row_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["elements"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(el.available())
