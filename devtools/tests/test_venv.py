# SPDX-License-Identifier: Apache-2.0
"""A Python that cannot make a venv, and one that runs in the venv that is made again."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.venv import create_venv, require_ensurepip
from devtools.workspace import CommandError

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(("user", "sudo"), [(0, ""), (1000, "sudo ")], ids=["root", "ordinary"])
def test_without_ensurepip_the_one_command_is_the_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, sudo: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(CommandError) as caught:
        create_venv(tmp_path)
    assert str(caught.value).splitlines()[-1] == f"{sudo}apt-get install python{VERSION}-venv"


def test_elsewhere_no_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(CommandError, match="has no module ensurepip") as caught:
        require_ensurepip()
    assert "apt-get" not in str(caught.value)


def test_a_venv_can_be_made_again_by_its_own_python(tmp_path: Path) -> None:
    """As by `make demo` in a shell where .venv is active."""
    folder, root = tmp_path / "venv", Path(__file__).parents[2]
    create_venv(folder, with_pip=False)
    code = (
        "import sys, pathlib, devtools.venv as v\n"
        "v.create_venv(pathlib.Path(sys.argv[1]), with_pip=False)"
    )
    (folder / "left").touch()
    subprocess.run([folder / "bin" / "python", "-c", code, folder], cwd=root, check=True)
    assert not (folder / "left").exists()
    subprocess.run([folder / "bin" / "python", "-c", "import sys"], check=True)
