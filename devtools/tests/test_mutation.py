# SPDX-License-Identifier: Apache-2.0
"""Mutants: which changes are made, and that one which breaks something is noticed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from devtools.mutated import CORE, PARTS, Package
from devtools.mutation import Mutant, drawn, mutants_of, survives
from devtools.workspace import DISTRIBUTIONS, ROOT

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
    return [*mutants_of(path, Package(tmp_path, ()))]


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


@pytest.mark.parametrize("part", ["_plugins", "dma"])
def test_draws_are_repeated_by_their_seed(part: str) -> None:
    first, again, other = drawn(part, 5, 1), drawn(part, 5, 1), drawn(part, 5, 2)
    assert first == again != other
    for mutant in first:
        assert mutant.package is PARTS[part].package
        changed = mutant.package.path / mutant.path
        assert changed.exists()
        assert changed.is_relative_to(PARTS[part].folder)


def test_every_backend_is_a_part_by_its_folder() -> None:
    backends = [
        d for d in DISTRIBUTIONS
        if d.folder.startswith(("backends/", "contrib/")) and d.name != "samebytes-softdevices"
    ]  # fmt: skip
    assert {d.path.name for d in backends} == {p for p in PARTS if not p.startswith("_")}
    for distribution in backends:
        package = PARTS[distribution.path.name].package
        assert package.path.name == distribution.brings[0]
        assert package.devices == distribution.devices
    for part in PARTS.values():
        assert (part.folder / "__init__.py").exists()
        assert all((ROOT / suite).exists() for suite in part.package.suites)


CASES = {
    "core": (
        CORE, "_core/edges/edge.py", "def check_access(*_):\n    return None\n",
        "from samebytes._core.edges.edge import check_access as call\n",
    ),
    "backend": (
        PARTS["dma"].package, "_cpu_access.py", "def sync_flags(*_):\n    return 0\n",
        "from samebytes_dma._cpu_access import sync_flags as call\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("noticed", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_what_is_noticed(tmp_path: Path, name: str, noticed: bool) -> None:
    """The tests run on the changed package, not on the installed one."""
    package, path, change, importing = CASES[name]
    source = (package.path / path).read_text()
    broken = f"{source}\n{change}" if noticed else source
    test = tmp_path / "test_module.py"
    test.write_text(
        f"import pytest\n{importing}"
        "def test_it():\n    with pytest.raises(Exception):\n        call('x')\n"
    )
    mutant = Mutant(Path(path), 1, change, broken, package)
    assert survives(mutant, [str(test)]) is not noticed
