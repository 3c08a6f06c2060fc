# SPDX-License-Identifier: Apache-2.0
"""What is asked of the operating system's packages."""

import os
from pathlib import Path

import pytest

from devtools import system
from devtools.system import Wanted, apt_command, prepare_system


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the set-up asks apt for; nothing is installed."""
    asked: list[str] = []
    monkeypatch.setattr(system, "_install", asked.extend)
    return asked


def want(monkeypatch: pytest.MonkeyPatch, *wanted: Wanted) -> None:
    monkeypatch.setattr(system, "_WANTED", wanted)


def test_nothing_is_asked_where_all_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str]
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"))
    prepare_system()
    assert installed == []


def test_root_gets_each_missing_package_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str]
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"), *missing(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    prepare_system()
    assert installed == ["one", "two"]


def test_others_are_told_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installed: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    want(monkeypatch, *missing(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    prepare_system()
    assert installed == []
    output = capsys.readouterr().out
    assert "not installed: one, for tests, the lab" in output
    assert "sudo apt-get install one two\n" in output


def missing(folder: Path) -> tuple[Wanted, ...]:
    """Two packages of three files."""
    return (
        Wanted(str(folder / "a"), "one", "tests"),
        Wanted(str(folder / "b"), "one", "the lab"),
        Wanted(str(folder / "c"), "two", "tests"),
    )


def test_the_command_is_one_line(tmp_path: Path) -> None:
    assert apt_command(missing(tmp_path)).endswith("apt-get install one two")
