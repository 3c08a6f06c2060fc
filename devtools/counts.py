# SPDX-License-Identifier: Apache-2.0
"""Counts of the parts of the code, beside those of an earlier commit.

    .venv/bin/python -m devtools.counts    # a table: those of counts.json, and those of today

Each count is defined by the docstring of the function that makes it. All of them look at files
called `*.py` outside of hidden folders and of `build`; a *distribution* is a folder of at most two
names with a pyproject.toml, its *source* are the files in its `src`, its *tests* those in its
`tests`. Lines are physical lines, blank ones and comments included, so they are comparable only
with the same formatter and line length.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import median

import networkx

from devtools.house_rules import imports, is_private
from devtools.workspace import ROOT, source_files

RECORD = ROOT / "devtools" / "counts.json"
_CORE = "sdk/src/samebytes/_core"
_PLUGINS = "sdk/src/samebytes/plugins.py"
Figures = dict[str, float]


class Checkout:
    """The Python files of one checkout, by their paths in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts = {
            path.relative_to(root).as_posix(): path.read_text("utf-8")
            for path in sorted(source_files(".py", below=root))
        }
        projects = source_files("pyproject.toml", below=root)
        self.distributions = sorted(
            path.parent.relative_to(root).as_posix()
            for path in projects
            if len(path.relative_to(root).parts) <= 3 and (path.parent / "src").is_dir()
        )

    def under(self, *folders: str) -> dict[str, str]:
        """Return the files in these folders."""
        starts = tuple(f"{folder}/" for folder in folders)
        return {path: text for path, text in self.texts.items() if path.startswith(starts)}

    @property
    def source(self) -> dict[str, str]:
        """The files of all distributions' source."""
        return self.under(*(f"{name}/src" for name in self.distributions))

    @property
    def tests(self) -> dict[str, str]:
        """The files of all distributions' tests, and of the folder `tests`."""
        return self.under("tests", *(f"{name}/tests" for name in self.distributions))


def count(root: Path) -> Figures:
    """Return every count of the checkout at `root`, in the order of the table."""
    checkout = Checkout(root)
    figures: Figures = {}
    for counted in (core, interface, sizes, import_circles, private_tests):
        figures.update(counted(checkout))
    return figures


def core(checkout: Checkout) -> Figures:
    """Lines, AST statements and modules of `samebytes._core`.

    A statement is an `ast.stmt`, at any depth; a docstring is one. `__init__` is a module here.
    """
    files = checkout.under(_CORE)
    return {
        "_core: lines": lines(files.values()),
        "_core: AST statements": sum(map(statements, files.values())),
        "_core: modules": len(files),
    }


def interface(checkout: Checkout) -> Figures:
    """Names in `__all__` of samebytes.plugins."""
    for node in ast.parse(checkout.texts[_PLUGINS]).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return {"names of samebytes.plugins": len(ast.literal_eval(node.value))}
    raise LookupError(f"{_PLUGINS} has no __all__: say here where its names are now")


def sizes(checkout: Checkout) -> Figures:
    """Lines of source and tests, together and by distribution, of `tests`, and of devtools.

    Modules are the files of the source, `__init__` included; their median is of physical lines.
    Lines of devtools leave out its tests.
    """
    source, tests = checkout.source, checkout.tests
    figures: Figures = {
        "source: lines": lines(source.values()),
        "source: AST statements": sum(map(statements, source.values())),
        "source: modules": len(source),
        "source: median lines of a module": median(text.count("\n") for text in source.values()),
        "tests: lines": lines(tests.values()),
        "tests: AST statements": sum(map(statements, tests.values())),
    }
    for name in checkout.distributions:
        own = checkout.under(f"{name}/src")
        figures[f"{name}: modules"] = len(own)
        figures[f"{name}: lines of source"] = lines(own.values())
        figures[f"{name}: lines of tests"] = lines(checkout.under(f"{name}/tests").values())
    figures["tests/: lines"] = lines(checkout.under("tests").values())
    devtools = checkout.under("devtools")
    figures["devtools: lines"] = lines(
        text for path, text in devtools.items() if not path.startswith("devtools/tests/")
    )
    return figures


def import_circles(checkout: Checkout) -> Figures:
    """Circles of imports among the modules of the source, as `ruff analyze graph` finds imports.

    A circle is a strongly connected component of two or more modules: each of them reaches every
    other one by imports. Deferred imports stand in functions, those for typing under
    `if TYPE_CHECKING:`; the second line counts both.
    """
    folders = [f"{name}/src" for name in checkout.distributions]
    figures: Figures = {}
    for label, kinds in (
        ("with deferred imports", "--no-type-checking-imports"),
        ("with those for typing too", "--type-checking-imports"),
    ):
        command = [sys.executable, "-m", "ruff", "analyze", "graph", "--quiet", kinds, *folders]
        answer = subprocess.run(
            command, cwd=checkout.root, capture_output=True, text=True, check=True
        )
        graph = networkx.DiGraph(json.loads(answer.stdout))
        sizes = [len(part) for part in networkx.strongly_connected_components(graph)]
        found = [size for size in sizes if size > 1]
        figures[f"circles {label}"] = len(found)
        figures[f"circles {label}: modules of the largest"] = max(found, default=0)
    return figures


def private_tests(checkout: Checkout) -> Figures:
    """Share of test modules (`test_*.py`) that import a private module of a distribution.

    A module is private if a part of its name begins with one underscore. An imported name that
    is private counts as well.
    """
    tests = {
        path: text for path, text in checkout.tests.items() if Path(path).name.startswith("test_")
    }
    private = sum(
        any(n.startswith("samebytes") and is_private(n) for _, n in imports(text))
        for text in tests.values()
    )
    return {
        "test modules": len(tests),
        "test modules that import private modules": private,
        "the same share in %": round(100 * private / len(tests), 1),
    }


def lines(texts: Iterable[str]) -> int:
    """Return the number of physical lines of all these texts."""
    return sum(text.count("\n") for text in texts)


def statements(text: str) -> int:
    """Return the number of statements at any depth; 0 for a template that is not Python yet."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(_parsed(text)))


def table(recorded: Figures, now: Figures, commit: str) -> str:
    """Return two columns of figures as Markdown."""
    rows = [f"| | {commit} | now |", "|---|---:|---:|"]
    for name in dict.fromkeys([*recorded, *now]):
        cells = (f"{side[name]:,g}" if name in side else "" for side in (recorded, now))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


@cache
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


if __name__ == "__main__":
    record = json.loads(RECORD.read_text("utf-8"))
    print(table(record["figures"], count(ROOT), record["commit"]))
