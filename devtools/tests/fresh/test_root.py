# SPDX-License-Identifier: Apache-2.0
"""Tests of what a fresh machine gets of this one, and what it does not."""

import subprocess
from pathlib import Path

import pytest

from devtools.fresh.root import Root, shown, surroundings


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
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
    return folder


def names(folder: Path) -> set[str]:
    """The files of a checkout, without git's own."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] != ".git"}


def test_the_checkout_goes_in_as_it_is_now(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """chown is left out: there is no such user here."""
    monkeypatch.setattr(Root, "_must", lambda *_: None)
    root = Root(tmp_path / "debian", "ordinary")
    root.home.mkdir(parents=True)
    root.put_checkout(checkout)
    copy = root.home / "samebytes"
    assert names(copy) == {".gitignore", "package/known.py", "new.py"}
    assert (copy / "package" / "known.py").read_text() == "2"
    assert "ignored.log" in names(checkout)


def test_of_the_environment_proxies_go_in_and_of_pips_settings_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        "[global]\nindex-url = https://mirror.example/simple\nfind-links = /wheels\n"
        "extra-index-url = file:///disk\nuser = true\n[install]\ntrusted-host = mirror.example\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://of-the-environment.example")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    found = {k: v for k, v in surroundings().items() if not k.lower().endswith("_proxy")}
    assert surroundings()["HTTPS_PROXY"] == "http://proxy:3128"
    assert found.keys() == {"PIP_INDEX_URL", "PIP_TRUSTED_HOST", "LANG", "TERM"}
    assert found["PIP_INDEX_URL"] == "https://mirror.example/simple"


def test_what_is_shown_is_kept() -> None:
    ended = shown(["sh", "-c", "echo one; echo two >&2; echo; exit 3"])
    assert (ended.status, ended.lines, ended.last_line) == (3, ["one", "two", ""], "two")
    assert shown(["true"]).last_line == "no output"
