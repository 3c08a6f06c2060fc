# SPDX-License-Identifier: Apache-2.0
"""The installed distributions are those that importlib_metadata lists, and what they say is too."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import importlib_metadata
import pytest

from samebytes._plugins.distributions import entries
from samebytes._plugins.installed import find_distribution, installed_distributions, normalized

METADATA = "Metadata-Version: 2.1\nName: Made_Up.Thing\nVersion: 2.5\nProvides-Extra: one\n"
POINTS = "[made.up]\n# none = here\n one = a.b \ntwo=c\n\n[other]\nthree = d\n"


def written(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(METADATA)
    (folder / "entry_points.txt").write_text(POINTS)
    return folder


def test_the_same_as_importlib_metadata() -> None:
    listed = importlib_metadata.distributions()
    assert {d.name for d in installed_distributions()} == {normalized(d.name) for d in listed}
    for group in ("console_scripts", "samebytes.plugins"):
        theirs = importlib_metadata.entry_points(group=group)
        assert {(e.name, e.distribution) for e in entries(group)} == {
            (e.name, e.dist.name) for e in theirs if e.dist is not None
        }


@pytest.mark.parametrize(
    "place", ["made_up_thing-2.5.dist-info", "made_up_thing.egg-info", "made_up_thing.egg/EGG-INFO"]
)
def test_folders_of_metadata(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / place)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(sys, "path", [*sys.path, None])  # as nobody should, and some do
    one, two = entries("made.up")
    assert (one.name, one.module, one.problem) == ("one", "a.b", None)
    assert (two.name, two.module, two.distribution, two.version) == (
        "two", "c", "Made_Up.Thing", "2.5",
    )  # fmt: skip
    assert [e.name for e in entries("other")] == ["three"]
    if "-info" in place:
        found = find_distribution("made-up-thing")
        assert found is not None
        assert ("provides-extra", "one") in found.fields()


def test_a_zip_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "things.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("made_up_thing-2.5.dist-info/METADATA", METADATA)
        made.writestr("made_up_thing-2.5.dist-info/entry_points.txt", POINTS)
    monkeypatch.syspath_prepend(archive)
    assert [e.name for e in entries("made.up")] == ["one", "two"]
    found = find_distribution("made-up-thing")
    assert found is not None
    assert found.read("no.txt") == ""


def test_what_an_import_hook_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib_metadata.PathDistribution(written(tmp_path / "made_up_thing-2.5.dist-info"))

    class Hook:
        def find_distributions(self, _: object) -> list[importlib_metadata.Distribution]:
            return [there]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook()])
    assert [e.name for e in entries("made.up")] == ["one", "two"]
