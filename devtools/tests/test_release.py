# SPDX-License-Identifier: Apache-2.0
"""A release: versions that agree, and files that are all there."""

from pathlib import Path

import pytest

from devtools import metadata
from devtools import wheels as release
from devtools.results import Result
from devtools.workspace import DISTRIBUTIONS, Distribution

ONE = Distribution("made-up", "made-up")


def test_versions_agree() -> None:
    assert release.same_versions() == []


def test_a_version_that_differs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = tmp_path / "made-up" / "src" / "made_up" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text('__version__ = "9.9.9"\n')
    monkeypatch.setattr(Distribution, "path", property(lambda d: tmp_path / d.folder))
    monkeypatch.setattr(release, "DISTRIBUTIONS", [ONE])
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("\n## [1.0]\n")
    core = {"project": {"version": "1.0"}}
    monkeypatch.setattr(metadata, "read", lambda _: core)
    monkeypatch.setattr(metadata, "complaints", lambda: ["a: version is '2'", "b: x"])
    assert release.same_versions() == [
        "a: version is '2'",
        "made-up/src/made_up/__init__.py: __version__ is 9.9.9, expected 1.0",
    ]


def test_what_others_need_is_uploaded_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for distribution in DISTRIBUTIONS:
        stem = distribution.name.replace("-", "_")
        for ending in ("-1.0-py3-none-any.whl", "-1.0.tar.gz"):
            (tmp_path / f"{stem}{ending}").write_text("")
    monkeypatch.setattr(release, "wheels", lambda _: Result("packages", True, "built"))
    assert [result.name for result in release.release(tmp_path)] == ["packages"]
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert lines[0] == str(tmp_path / "samebytes-1.0-py3-none-any.whl")
    assert len(lines) == 2 * len(DISTRIBUTIONS)


def test_a_version_without_an_entry_in_the_changelog_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(metadata, "read", lambda _: {"project": {"version": "99.0.0"}})
    monkeypatch.setattr(metadata, "complaints", list)
    (result,) = release.release(tmp_path)
    assert (result.ok, result.summary) == (False, "CHANGELOG.md has no section [99.0.0]")
