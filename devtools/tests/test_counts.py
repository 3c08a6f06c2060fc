# SPDX-License-Identifier: Apache-2.0
"""The counts, over a small checkout whose figures are known."""

import json
from pathlib import Path

import pytest

from devtools import counts
from devtools.workspace import ROOT

FILES = {
    "sdk/pyproject.toml": "",
    "sdk/src/samebytes/__init__.py": '"""The package."""\n',
    "sdk/src/samebytes/plugins.py": '__all__ = [\n    "A",\n    "B",\n]\n',
    "sdk/src/samebytes/_core/__init__.py": "",
    "sdk/src/samebytes/_core/owner/storage.py": (
        '"""Owners."""\nfrom os import getpid\n\n\ndef f():\n    return getpid()\n'
    ),
    "sdk/tests/test_storage.py": "from samebytes._core.owner import storage\n",
    "sdk/tests/test_public.py": "import samebytes\n",
    "tests/test_all.py": "from samebytes import Frame\n",
    "sdk/.venv/lib/other.py": "ignored\n",
    "devtools/lint.py": "a = 1\n",
    "devtools/tests/test_lint.py": "b = 1\n",
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Put files with these texts into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.fixture
def figures(tmp_path: Path) -> counts.Figures:
    """The counts of FILES."""
    write(tmp_path, FILES)
    return counts.count(tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_core: lines", 6),
        ("_core: AST statements", 4),
        ("_core: modules", 2),
        ("names of samebytes.plugins", 2),
        ("source: lines", 11),
        ("source: modules", 4),
        ("source: median lines of a module", 2.5),
        ("tests: lines", 3),
        ("sdk: lines of tests", 2),
        ("tests/: lines", 1),
        ("devtools: lines", 1),
        ("circles with those for typing too", 0),
        ("test modules", 3),
        ("test modules that import private modules", 1),
    ],
)
def test_each_count(figures: counts.Figures, name: str, expected: float) -> None:
    assert figures[name] == expected


@pytest.mark.parametrize(
    ("line", "deferred", "typing"),
    [
        ("from .a import f", 1, 1),
        ("from . import a", 1, 1),
        ("import p.a", 1, 1),
        ("def g():\n    from .a import f", 1, 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import f", 0, 1),
        ("from . import other", 0, 0),
    ],
)
def test_circles_of_two_modules(tmp_path: Path, line: str, deferred: int, typing: int) -> None:
    write(tmp_path, {
        "p/pyproject.toml": "",
        "p/src/p/__init__.py": "",
        "p/src/p/a.py": "from .b import g\n",
        "p/src/p/b.py": f"{line}\n",
    })  # fmt: skip
    assert counts.import_circles(counts.Checkout(tmp_path)) == {
        "circles with deferred imports": deferred,
        "circles with deferred imports: modules of the largest": 2 * deferred,
        "circles with those for typing too": typing,
        "circles with those for typing too: modules of the largest": 2 * typing,
    }


def test_the_table_shows_what_only_one_side_has() -> None:
    text = counts.table({"gone": 1234, "both": 2}, {"both": 1.5, "new": 3}, "abc")
    assert text.splitlines()[2:] == ["| gone | 1,234 |  |", "| both | 2 | 1.5 |", "| new |  | 3 |"]


def test_the_circles_of_today() -> None:
    found = counts.import_circles(counts.Checkout(ROOT))
    assert found["circles with deferred imports"] <= 5
    assert found["circles with those for typing too"] <= 6
    assert found["circles with those for typing too: modules of the largest"] <= 3


def test_the_record_has_what_is_counted(figures: counts.Figures) -> None:
    recorded = json.loads(counts.RECORD.read_text("utf-8"))["figures"]
    assert figures.keys() <= recorded.keys()


def test_the_core_can_be_read_in_an_hour() -> None:
    """Its modules beside the `__init__`s, and the lines of all."""
    modules = list((ROOT / "sdk/src/samebytes/_core").rglob("*.py"))
    assert len([module for module in modules if module.name != "__init__.py"]) <= 24
    assert sum(len(module.read_text("utf-8").splitlines()) for module in modules) <= 4000
