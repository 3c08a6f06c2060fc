# SPDX-License-Identifier: Apache-2.0
"""Mutants: which changes are made, and that one which breaks something is noticed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from devtools.mutation import Mutant, drawn, mutants_of, survives

SOURCE = """
def f(a, b):
    if a < b and not a:
        b.close()
        raise ValueError
    return a + 1 if b else True
"""


def _mutants(tmp_path: Path, source: str) -> list[Mutant]:
    path = tmp_path / "module.py"
    path.write_text(source)
    return [*mutants_of(path, tmp_path)]


def test_each_kind_of_change_is_made(tmp_path: Path) -> None:
    changes = {mutant.change for mutant in _mutants(tmp_path, SOURCE)}
    assert changes == {
        "a < b  ->  a <= b",
        "a < b and (not a)  ->  a < b or not a",
        "not a  ->  not not a",
        "b.close()  ->  (removed)",
        "raise ValueError  ->  (removed)",
        "return a + 1 if b else True  ->  return None",
        "a + 1  ->  a - 1",
        "1  ->  2",
        "True  ->  False",
        "a + 1 if b else True  ->  True if b else a + 1",
    }


def test_one_change_each_and_all_are_python(tmp_path: Path) -> None:
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in _mutants(tmp_path, SOURCE):
        lines = mutant.source.splitlines()
        assert sum(a != b for a, b in zip(original, lines, strict=True)) == 1


def test_draws_are_repeated_by_their_seed() -> None:
    first, again, other = drawn("_plugins", 5, 1), drawn("_plugins", 5, 1), drawn("_plugins", 5, 2)
    assert first == again != other


@pytest.mark.parametrize(("change", "noticed"), [("return None", True), ("pass", False)])
def test_what_is_noticed(tmp_path: Path, change: str, noticed: bool) -> None:
    """The tests run on the changed package, not on the installed one."""
    path = Path("_core/access.py")
    source = (Path(__file__).parents[2] / "sdk/src/samebytes" / path).read_text()
    broken = source + f"\ndef check_access(*_):\n    {change}\n" if noticed else source
    test = tmp_path / "test_access.py"
    test.write_text(
        "import pytest\nfrom samebytes._core.access import check_access\n"
        "from samebytes.errors import SamebytesError\n"
        "def test_it():\n    with pytest.raises(SamebytesError):\n        check_access('x')\n"
    )
    assert survives(Mutant(path, 1, change, broken), [str(test)]) is not noticed
