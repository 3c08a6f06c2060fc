# SPDX-License-Identifier: Apache-2.0
"""Tests of the newer tier: its choice of Python, its installs, and its message if it cannot run."""

import sys
from pathlib import Path

import pytest

from devtools import newer
from devtools.workspace import DISTRIBUTIONS, ROOT, CommandError


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an empty PATH and an empty pyenv; its folder."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def _python(path: Path, status: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


def _in_pyenv(folder: Path, version: str) -> Path:
    name = f"python{version.rpartition('.')[0]}"
    return _python(folder / "pyenv" / "versions" / version / "bin" / name)


class TestFindingAPython:
    def test_there_is_none(self, nothing_installed: Path) -> None:
        _in_pyenv(nothing_installed, "3.11.7")
        assert newer.find_python() is None

    def test_the_highest_series_is_taken(self, nothing_installed: Path) -> None:
        _in_pyenv(nothing_installed, "3.12.1")
        highest = _in_pyenv(nothing_installed, "3.13.0")
        _python(nothing_installed / "bin" / "python3.12")
        assert newer.find_python() == highest

    def test_path_comes_before_pyenv(self, nothing_installed: Path) -> None:
        _in_pyenv(nothing_installed, "3.13.0")
        on_path = _python(nothing_installed / "bin" / "python3.13")
        assert newer.find_python() == on_path

    def test_one_that_cannot_make_venvs_is_passed_over(self, nothing_installed: Path) -> None:
        """Debian's without python3-venv, and a pyenv shim of a version that is not installed."""
        _python(nothing_installed / "bin" / "python3.13", 1)
        usable = _in_pyenv(nothing_installed, "3.12.1")
        assert newer.find_python() == usable

    def test_the_question_is_answered_by_this_python(self) -> None:
        assert newer._makes_venvs(Path(sys.executable))
        assert not newer._makes_venvs(Path("/nowhere/python"))


@pytest.mark.parametrize("strict", [False, True])
def test_without_a_newer_python_it_is_not_run(
    monkeypatch: pytest.MonkeyPatch, nothing_installed: Path, *, strict: bool
) -> None:
    monkeypatch.setattr(newer, "NEWEST_PYAV_NEEDS", (99, 0))
    assert not any(nothing_installed.joinpath("bin").iterdir())
    result = newer.newer(strict=strict, may_miss=[], quick=True)
    assert not result.ran
    assert "python3.12" in result.summary
    assert "newest PyAV was not tested" in result.summary


def test_on_a_newer_python_there_is_nothing_more_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newer, "NEWEST_PYAV_NEEDS", sys.version_info[:2])
    result = newer.newer(strict=True, may_miss=[], quick=True)
    assert not result.ran
    assert ".venv" in result.summary


def test_a_venv_that_cannot_be_filled_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise CommandError("no space left")

    monkeypatch.setattr(newer, "NEWEST_PYAV_NEEDS", (99, 0))
    monkeypatch.setattr(newer, "find_python", lambda: Path(sys.executable))
    monkeypatch.setattr(newer, "must", fails)
    result = newer.newer(strict=False, may_miss=[], quick=True)
    assert (result.ok, result.ran, result.summary) == (False, True, "no space left")


def test_requirements_come_first_and_as_wheels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(newer, "must", lambda words: commands.append([str(w) for w in words]))
    newer._fill(Path("/found/python"), tmp_path / "venv" / "bin" / "python", newer.with_company())
    made, others, ours = commands
    assert made == ["/found/python", "-m", "venv", "--without-pip", str(tmp_path / "venv")]
    assert "--only-binary=:all:" in others
    assert any(word.startswith("av>=") for word in others)
    assert any(word.startswith("hatchling") for word in others)
    assert not any(str(ROOT) in word for word in others[1:] if str(tmp_path) not in word)
    assert {"--no-build-isolation", "--no-deps"} <= set(ours)
    assert [word for word in ours[1:] if word.startswith(str(ROOT))] == [
        str(d.path) for d in newer.with_company()
    ]


def test_what_is_installed_is_all_that_the_tests_need() -> None:
    chosen = {d.name for d in newer.with_company()}
    assert {"samebytes", "samebytes-ffmpeg", "samebytes-mappers", "samebytes-demo"} <= chosen
    assert "samebytes-gstreamer" not in chosen
    missing = newer.missing_modules(newer.with_company())
    assert "gi" in missing
    assert "av" not in missing
    assert chosen <= {d.name for d in DISTRIBUTIONS}


def test_the_table_says_what_was_tested() -> None:
    av = pytest.importorskip("av", reason="missing package av: pip install av")
    assert newer.versions(Path(sys.executable)) == (
        f"Python {sys.version_info[0]}.{sys.version_info[1]}, PyAV {av.__version__}"
    )
    assert newer.versions(Path("/bin/false")) == "PyAV does not import"
