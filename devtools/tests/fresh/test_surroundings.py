# SPDX-License-Identifier: Apache-2.0
"""Tests of what a fresh machine gets of this one, and what it does not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.fresh import surroundings
from devtools.fresh.surroundings import copy_checkout, environment, pip_settings
from devtools.fresh.terminal import shown


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file that git knows, one that it does not, and two that it ignores."""
    folder = tmp_path / "checkout"
    (folder / "package").mkdir(parents=True)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "ignored").touch()
    (folder / ".gitignore").write_text(".venv/\n*.log\n")
    (folder / "package" / "known.py").write_text("1")
    (folder / "ignored.log").touch()
    for words in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "package" / "known.py").write_text("2")
    (folder / "new.py").touch()
    monkeypatch.setattr(surroundings, "ROOT", folder)
    return folder


def names(folder: Path) -> set[str]:
    """The files of a checkout, without git's own."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] != ".git"}


def test_the_checkout_goes_in_as_it_is_now(checkout: Path, tmp_path: Path) -> None:
    copy_checkout(tmp_path / "copy")
    assert names(tmp_path / "copy") == {".gitignore", "package/known.py", "new.py"}
    assert (tmp_path / "copy" / "package" / "known.py").read_text() == "2"
    assert "ignored.log" in names(checkout)


def test_an_unpacked_archive_will_do(checkout: Path, tmp_path: Path) -> None:
    shutil.rmtree(checkout / ".git")
    (checkout / ".git").write_text("gitdir: /nowhere\n")  # no repository further up counts
    copy_checkout(tmp_path / "copy")
    assert {"package/known.py", "new.py"} <= names(tmp_path / "copy")
    assert not (tmp_path / "copy" / ".venv").exists()


def test_nothing_of_the_environment_but_proxies_goes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    variables = environment("/home/new", "/usr/bin")
    assert variables.pop("HTTPS_PROXY") == "http://proxy:3128"
    others = [name for name in variables if name.lower().endswith("_proxy")]
    assert variables.keys() - set(others) == {"HOME", "PATH", "LANG", "TERM"}


def test_of_pips_settings_the_index_goes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = https://mirror.example/simple\nfind-links = /wheels\n"
        "extra-index-url = file:///disk\nuser = true\n[install]\ntrusted-host = mirror.example\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_INDEX_URL", "https://of-the-environment.example")
    found = pip_settings_with(monkeypatch, settings)
    assert found.splitlines() == [
        "[global]",
        "index-url = https://mirror.example/simple",
        "trusted-host = mirror.example",
    ]


def pip_settings_with(monkeypatch: pytest.MonkeyPatch, settings: Path) -> str:
    """The answer where this is the only file of settings."""
    home = settings.parent
    (home / ".config" / "pip").mkdir(parents=True)
    shutil.copy(settings, home / ".config" / "pip" / "pip.conf")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return pip_settings()


def test_what_is_shown_is_kept() -> None:
    ended = shown(["sh", "-c", "echo one; echo two >&2; echo; exit 3"])
    assert (ended.status, ended.lines, ended.last_line) == (3, ["one", "two", ""], "two")
    assert shown(["true"]).last_line == "no output"
