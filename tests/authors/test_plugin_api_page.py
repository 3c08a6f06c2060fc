# SPDX-License-Identifier: Apache-2.0
"""The reference of the plugin API names all that there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from samebytes import plugins

DOCS = Path(__file__).parents[2] / "docs"


def test_every_public_name_is_listed() -> None:
    text = (DOCS / "reference" / "plugin-api.md").read_text()
    table = text.split("These are the names of `samebytes.plugins`:")[1].split("## ")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(plugins.__all__)
    assert f"now {plugins.API}" in text


@pytest.mark.parametrize("page", ["reference/plugin-api.md", "how-to/write-a-backend.md"])
def test_the_constant_shown_is_one_of_this_api(page: str) -> None:
    """The oldest that has what the page shows, which no newer minor version changes."""
    shown = re.findall(r"api=\((\d+), (\d+)\)", (DOCS / page).read_text())
    assert shown
    for major, minor in shown:
        assert (plugins.API[0], 0) <= (int(major), int(minor)) <= plugins.API


def test_every_command_is_described() -> None:
    text = (DOCS / "reference" / "cli.md").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "samebytes", "--help"], capture_output=True, text=True, check=True
    )
    commands = re.findall(r"^    ([\w-]+)", done.stdout.split("COMMAND")[-1], re.MULTILINE)
    assert {"list", "new-backend", "check-plugin"} <= set(commands)
    for name in commands:
        assert f"samebytes {name}" in text, name
