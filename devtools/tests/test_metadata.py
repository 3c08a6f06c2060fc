# SPDX-License-Identifier: Apache-2.0
"""The metadata of all distributions agrees, and their READMEs are right on a package page."""

import re
from pathlib import Path

import pytest

from devtools import metadata
from devtools.metadata import (
    complaints,
    folders_installed,
    relative,
)
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT


def test_no_distribution_has_a_complaint() -> None:
    assert complaints() == []


def test_both_tables_have_the_extras_and_what_all_leaves_out() -> None:
    extras: dict[str, list[str]] = metadata.read(CORE.path)["project"]["optional-dependencies"]
    (brought,) = re.findall(r"\[(.+)\]", extras["all"][0])
    for folder in (ROOT, CORE.path):
        table = (folder / "README.md").read_text().partition("| extra |")[2].partition("\n\n")[0]
        rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table, re.MULTILINE))
        assert rows.keys() == extras.keys()
        left_out = extras.keys() - {"all", *brought.split(",")}
        assert set(re.findall(r"`([\w-]+)`", rows["all"])) == left_out


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pyproject.toml and README.md of all distributions, in another folder."""
    for folder in (ROOT, *(d.path for d in DISTRIBUTIONS)):
        copy = tmp_path / folder.relative_to(ROOT)
        copy.mkdir(parents=True, exist_ok=True)
        for name in ("pyproject.toml", "README.md"):
            (copy / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setattr(metadata, "ROOT", tmp_path)
    monkeypatch.setattr("devtools.workspace.ROOT", tmp_path)
    assert CORE.path == tmp_path / "sdk"
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("demo/pyproject.toml", '"0.1.0"', '"0.2.0"', "version is '0.2.0', expected '0.1.0'"),
        ("demo/pyproject.toml", "project/samebytes/", "project/other/", "urls is "),
        ("demo/pyproject.toml", "samebytes authors", "authors of it", "authors is "),
        ("demo/pyproject.toml", ">=3.11", ">=3.12", "requires-python is "),
        ("demo/pyproject.toml", ' :: 3.14",', ' :: 3.10",', "the classifiers are not"),
        ("demo/pyproject.toml", "Topic :: Multimedia", "Topic :: Z", "the classifiers are not"),
        ("demo/README.md", "The `", "The [other](../sdk) `", "../sdk leads nowhere"),
        ("demo/README.md", "The `", "Not on PyPI yet. The `", "a package page cannot say so"),
        ("contrib/softdevices/README.md", "[gpu,npu]", "[gpu]", "does not name the extra npu"),
    ],
)
def test_what_is_wrong_is_named(
    copies: Path, file: str, old: str, new: str, complaint: str
) -> None:
    path = copies / file
    text = path.read_text()
    assert old in text
    changed = text.replace(old, new)
    # The extra's name in code would do as well.
    path.write_text(changed.replace("`npu`", "npu") if new == "[gpu]" else changed)
    folder = str(Path(file).parent)
    found = complaints()
    assert any(line.startswith(f"{folder}: ") and complaint in line for line in found), found


def test_links_that_work_in_the_repository_alone_are_found() -> None:
    page = """
[a](../docs/a.md) ![b](picture.png) [c](#heading) [d](https://example.org) [e](<f g.md>)
[ref]: docs/ref.md
<img src="logo.svg"> `[code](x.md)`

```
[fenced](y.md)
```
"""
    wrong = ["../docs/a.md", "picture.png", "#heading", "f", "docs/ref.md", "logo.svg"]
    assert relative(page) == wrong


def test_folders_that_a_readme_installs_are_enough() -> None:
    line = 'pip install ./sdk "./backends/opencv[headless]" ./mappers\n'
    assert folders_installed(line) == []
    assert folders_installed(line.replace("./sdk ", "")) == [
        "backends/opencv needs samebytes, which the line does not install",
        "mappers needs samebytes, which the line does not install",
    ]
    assert folders_installed("pip install ./sdk ./cv\n") == ["cv is not a distribution"]
    assert "pip install ./sdk " in (ROOT / "README.md").read_text()
