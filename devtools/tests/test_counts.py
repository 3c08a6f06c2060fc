# SPDX-License-Identifier: Apache-2.0
"""The counts, over a small checkout whose figures are known."""

import json
import re
from pathlib import Path

import pytest

from devtools import counts
from devtools.import_circles import circles
from devtools.workspace import ROOT

FILES = {
    "sdk/pyproject.toml": "",
    "sdk/src/samebytes/__init__.py": '"""What this is."""\n',
    "sdk/src/samebytes/plugins.py": '__all__ = [\n    "A",\n    "B",\n]\n',
    "sdk/src/samebytes/_core/__init__.py": "",
    "sdk/src/samebytes/_core/owner/storage.py": (
        '"""Owners."""\nfrom sys import getrefcount\n\n\ndef f(x):\n    return getrefcount(x)\n'
    ),
    "sdk/tests/test_storage.py": "from samebytes._core.owner import storage\n",
    "sdk/tests/test_public.py": "import samebytes\n",
    "tests/test_all.py": "from samebytes import Frame\n",
    "sdk/.venv/lib/other.py": "ignored\n",
    "devtools/lint.py": "a = 1\n",
    "devtools/tests/test_lint.py": "b = 1\n",
}


@pytest.fixture
def figures(tmp_path: Path) -> counts.Figures:
    """The counts of FILES."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
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
        ("source: getrefcount", 2),
        ("tests: getrefcount", 0),
        ("docstrings", 2),
        ("docstrings that open with What, Whether ... (5 words)", 1),
        ("the same in %", 50),
        ("circles with those for typing too", 0),
        ("test modules", 3),
        ("test modules that import private modules", 1),
    ],
)
def test_each_count(figures: counts.Figures, name: str, expected: float) -> None:
    assert figures[name] == expected


@pytest.mark.parametrize(
    ("line", "deferred", "typing", "found"),
    [
        ("from .a import f", False, False, True),
        ("from . import a", False, False, True),
        ("from p.a import f", False, False, True),
        ("import p.a", False, False, True),
        ("class C:\n    from .a import f", False, False, True),
        ("def g():\n    from .a import f", False, False, False),
        ("def g():\n    from .a import f", True, False, True),
        ("if TYPE_CHECKING:\n    from .a import f", True, False, False),
        ("if TYPE_CHECKING:\n    from .a import f", True, True, True),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from .a import f", False, False, True),
        ("from . import other", True, True, False),
    ],
)
def test_circles_of_two_modules(line: str, deferred: bool, typing: bool, found: bool) -> None:
    modules = {"p.__init__": "", "p.a": "from .b import g\n", "p.b": line}
    expected = [["p.a", "p.b"]] if found else []
    assert circles(modules, deferred=deferred, typing=typing) == expected


def test_circles_that_share_a_module_are_one() -> None:
    modules = {
        "a": "import b, c",
        "b": "import a",
        "c": "import a, d",
        "d": "",
        "e": "import a, f",
        "f": "import e",
    }
    assert circles(modules, deferred=True, typing=True) == [["a", "b", "c"], ["e", "f"]]


def test_the_table_shows_what_only_one_side_has() -> None:
    text = counts.table({"gone": 1234, "both": 2}, {"both": 1.5, "new": 3}, "abc")
    assert text.splitlines()[2:] == ["| gone | 1,234 |  |", "| both | 2 | 1.5 |", "| new |  | 3 |"]


def test_the_record_and_what_is_counted_today() -> None:
    record = json.loads(counts.RECORD.read_text("utf-8"))
    shown = counts.table(record["figures"], counts.count(ROOT), record["commit"])
    assert "| _core: lines | 5,130 |" in shown
    assert "| names of samebytes.plugins | 85 |" in shown
    rows = dict(re.findall(r"\| (circles .*?) \| .* \| (\d+) \|", shown))
    assert int(rows["circles at import time"]) == 0
    assert int(rows["circles with those for typing too"]) <= 6
    assert int(rows["circles with those for typing too: modules of the largest"]) <= 3


def test_the_core_can_be_read_in_an_hour() -> None:
    """Its modules beside the `__init__`s, and the lines of all."""
    modules = list((ROOT / "sdk/src/samebytes/_core").rglob("*.py"))
    assert len([module for module in modules if module.name != "__init__.py"]) <= 24
    assert sum(len(module.read_text("utf-8").splitlines()) for module in modules) <= 4000
