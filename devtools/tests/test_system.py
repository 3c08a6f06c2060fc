# SPDX-License-Identifier: Apache-2.0
"""Tests of the requests for packages of the operating system."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools import system
from devtools.system import Wanted, prepare_system


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The packages that each run of apt-get is asked for; it refuses one that is called two."""
    log, apt = tmp_path / "apt.log", tmp_path / "apt-get"
    apt.write_text('#!/bin/sh\necho "$@"\ncase "$*" in *two*) exit 100;; esac\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(system, "LOG", log)

    def runs() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.split("recommends ")[1] for line in lines if line.startswith("install")]

    return runs


def want(monkeypatch: pytest.MonkeyPatch, *wanted: Wanted) -> None:
    monkeypatch.setattr(system, "_WANTED", wanted)


def test_nothing_is_asked_where_all_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Callable[[], list[str]]
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"))
    prepare_system()
    assert asked() == []


def test_root_gets_each_missing_package_though_apt_refuses_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"), *missing(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    prepare_system()
    assert asked() == ["one two", "one", "two"]
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("tests (one, two); the lab (one)")
    assert last == "on Debian: apt-get install --no-install-recommends one two"


def test_others_see_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    want(monkeypatch, *missing(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    prepare_system()
    assert asked() == []
    reasons, command = capsys.readouterr().out.splitlines()
    assert reasons.endswith("tests (one, two); the lab (one)")
    assert "sudo apt-get install --no-install-recommends one two" in command


def missing(folder: Path) -> tuple[Wanted, ...]:
    """Two packages of three files."""
    return (
        Wanted(str(folder / "a"), "one", "tests"),
        Wanted(str(folder / "b"), "one", "the lab"),
        Wanted(str(folder / "c"), "two", "tests"),
    )
