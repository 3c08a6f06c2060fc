# SPDX-License-Identifier: Apache-2.0
"""The installed distributions are those that importlib_metadata lists, and what they say is too."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import importlib_metadata
import pytest

from samebytes.plugins import entry_points

METADATA = "Metadata-Version: 2.1\nName: Made_Up.Thing\nVersion: 2.5\nProvides-Extra: one\n"
POINTS = "[made.up]\n# none = here\n one = a.b \ntwo=c\n\n[other]\nthree = d\n"


def written(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(METADATA)
    (folder / "entry_points.txt").write_text(POINTS)
    return folder


def test_the_same_as_importlib_metadata() -> None:
    everything = importlib_metadata.entry_points()
    assert {"console_scripts", "pytest11"} <= everything.groups
    for group in everything.groups:
        assert {(e.name, e.distribution, e.version) for e in entry_points(group)} == {
            (e.name, e.dist.name, e.dist.version)
            for e in everything.select(group=group)
            if e.dist is not None
        }


@pytest.mark.parametrize(
    "place", ["made_up_thing-2.5.dist-info", "made_up_thing.egg-info", "made_up_thing.egg/EGG-INFO"]
)
def test_folders_of_metadata(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / place)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(sys, "path", [*sys.path, None])  # as nobody should, and some do
    one, two = entry_points("made.up")
    assert (one.name, one.module, one.problem) == ("one", "a.b", None)
    assert (two.name, two.module, two.distribution, two.version) == (
        "two", "c", "Made_Up.Thing", "2.5",
    )  # fmt: skip
    assert [e.name for e in entry_points("other")] == ["three"]


def test_a_zip_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "things.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("made_up_thing-2.5.dist-info/METADATA", METADATA)
        made.writestr("made_up_thing-2.5.dist-info/entry_points.txt", POINTS)
        made.writestr("without_entry_points-1.dist-info/METADATA", METADATA)
    monkeypatch.syspath_prepend(archive)
    assert [e.name for e in entry_points("made.up")] == ["one", "two"]


def test_what_an_import_hook_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib_metadata.PathDistribution(written(tmp_path / "made_up_thing-2.5.dist-info"))

    class Hook:
        def find_distributions(self, _: object) -> list[importlib_metadata.Distribution]:
            return [there]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook()])
    assert [e.name for e in entry_points("made.up")] == ["one", "two"]
