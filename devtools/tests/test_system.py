# SPDX-License-Identifier: Apache-2.0
"""Tests of the requests for packages of the operating system."""

import os
import subprocess
from pathlib import Path

import pytest

from devtools import system
from devtools.system import Wanted, apt_command, prepare_system


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages that the set-up asks apt for; nothing is installed."""
    asked: list[str] = []
    monkeypatch.setattr(system, "_install", asked.extend)
    return asked


def apt(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
    """The output of apt-get when it is asked how much there is to download."""
    packages = command[command.index("install") + 1 :] if "install" in command else []
    output = "".join(f"'http://mirror/{p}.deb' {p}.deb 1500000 MD5Sum:0\n" for p in packages)
    return subprocess.CompletedProcess(command, 0, output)


def want(monkeypatch: pytest.MonkeyPatch, *wanted: Wanted) -> None:
    monkeypatch.setattr(system, "_WANTED", wanted)


def test_nothing_is_asked_where_all_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str]
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"))
    prepare_system()
    assert installed == []


def test_root_gets_each_missing_package_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installed: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    want(monkeypatch, Wanted(str(tmp_path), "here", "tests"), *missing(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", apt)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    assert prepare_system() == ["one", "two"]
    assert installed == ["one", "two"]
    assert "(2 packages, 3 MB to download)" in capsys.readouterr().out.splitlines()[0]
    installed.clear()
    # An archive that lacks them is not asked each time.
    assert prepare_system(["two", "one"]) == ["one", "two"]
    assert installed == []


def test_others_see_the_command(
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
    reasons, command = output.splitlines()
    assert reasons.endswith("tests (one, two); the lab (one)")
    assert "sudo apt-get install --no-install-recommends one two" in command


def missing(folder: Path) -> tuple[Wanted, ...]:
    """Two packages of three files."""
    return (
        Wanted(str(folder / "a"), "one", "tests"),
        Wanted(str(folder / "b"), "one", "the lab"),
        Wanted(str(folder / "c"), "two", "tests"),
    )


def test_one_package_that_apt_refuses_does_not_take_the_others_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, apt = tmp_path / "apt.log", tmp_path / "apt-get"
    apt.write_text('#!/bin/sh\necho "$@"\ncase "$*" in *two*) exit 100;; esac\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(system, "LOG", log)
    system._install(["one", "two", "three"])
    asked = [line.split("recommends ")[1] for line in log.read_text().splitlines()]
    assert asked == ["one two three", "one", "two", "three"]
    assert "  apt-get cannot install two\n" in capsys.readouterr().out


def test_the_command_is_one_line(tmp_path: Path) -> None:
    command = apt_command(missing(tmp_path))
    assert command.endswith("apt-get install --no-install-recommends one two")
