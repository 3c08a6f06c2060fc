# SPDX-License-Identifier: Apache-2.0
"""Mutation tests: small faults put into the core or a backend, and whether the tests notice them.

A mutant that the tests pass which run its line shows a line that nothing watches. Mutants are drawn
by a seed, so that a run can be repeated, and kept out of the checkout: each one is a changed copy
of the package, found before the installed one.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from devtools.mutated import CORE, CORE_PARTS, PARTS, Package
from devtools.tests_of_lines import measure
from devtools.venv import PYTHON
from devtools.workspace import ROOT

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.Mod: ast.Mult,
}  # fmt: skip
_SECONDS = 300.0


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        path: the module, below the package.
        line: where.
        change: the line before and after.
        source: the whole module with the change.
        package: what the module is in.
    """

    path: Path
    line: int
    change: str
    source: str
    package: Package = CORE

    def __str__(self) -> str:
        return f"{self.package.path.name}/{self.path}:{self.line}: {self.change}"


def mutants_of(path: Path, package: Package = CORE) -> Iterator[Mutant]:
    """Every change of a module that this tool can make."""
    source = path.read_text()
    for number in range(_count(source)):
        mutant = _mutant(path, package, source, number)
        if mutant is not None:
            yield mutant


def _count(source: str) -> int:
    return sum(1 for _ in _changes(ast.parse(source)))


def _mutant(path: Path, package: Package, source: str, number: int) -> Mutant | None:
    """The module with its change of that number; None if that is none that a test could notice."""
    tree = ast.parse(source)
    change = [*_changes(tree)][number]
    before = ast.unparse(change.shown)
    change.apply()
    after = "(removed)" if change.removed else ast.unparse(change.shown)
    # What only type checkers read.
    if before == after or any(w in before for w in ("TYPE_CHECKING", "TypeVar", "__all__")):
        return None
    text = f"{_short(before)}  ->  {_short(after)}"
    return Mutant(path.relative_to(package.path), change.line, text, ast.unparse(tree), package)


@dataclass
class _Change:
    """A change of a tree that has not been made: `apply` makes it."""

    shown: ast.AST
    line: int
    make: "list[tuple[object, object, object]]"
    removed: bool = False

    def apply(self) -> None:
        for owner, place, value in self.make:
            if isinstance(owner, list):
                assert isinstance(place, int)
                owner[place] = value
            else:
                assert isinstance(place, str)
                setattr(owner, place, value)


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for node in _walk(tree):
        yield from _of_expression(node)
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(body, list):
                yield from _of_statements(body)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations, and aliases of types, which only type checkers read."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        if name == "value" and isinstance(node, ast.Assign) and _is_type(value):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_type(node: ast.expr) -> bool:
    """True if an expression can only be a type: Callable[...], or with None in a union."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return name in ("Callable", "tuple", "dict", "list", "type")
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return any(_is_type(n) or _is_none(n) for n in (left, right))
    return False


def _of_expression(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield _Change(node, node.lineno, [(node, "ops", [_COMPARISONS[type(op)]()])])
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _Change(node, node.lineno, [(node, "op", other)])
        case ast.UnaryOp(op=ast.Not()):
            # What `not` stands before, twice negated, as an expression cannot leave its parent.
            inner = ast.UnaryOp(ast.Not(), node.operand)
            yield _Change(node, node.lineno, [(node, "operand", inner)])
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield _Change(node, node.lineno, [(node, "op", _OPERATORS[type(node.op)]())])
        case ast.Constant(value=bool(value)):
            yield _Change(node, node.lineno, [(node, "value", not value)])
        case ast.Constant(value=int(number)):
            yield _Change(node, node.lineno, [(node, "value", number + 1)])
        case ast.IfExp():
            swapped = [(node, "body", node.orelse), (node, "orelse", node.body)]
            yield _Change(node, node.lineno, [*swapped])


def _of_statements(body: list[ast.stmt]) -> Iterator[_Change]:
    for place, statement in enumerate(body):
        match statement:
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                change = [(body, place, ast.copy_location(ast.Pass(), statement))]
                yield _Change(statement, statement.lineno, [*change], removed=True)
            case ast.Return(value=value) if value is not None and not _is_none(value):
                nothing = ast.Return(ast.Constant(None))
                yield _Change(statement, statement.lineno, [(statement, "value", nothing.value)])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) < 80 else f"{line[:77]}..."


def drawn(part: str, count: int, seed: int) -> list[Mutant]:
    """A random sample of `count` mutants of a part, each change as likely as another."""
    package, folder = PARTS[part].package, PARTS[part].folder
    sources = {path: path.read_text() for path in sorted(folder.rglob("*.py"))}
    every = [(path, n) for path, source in sources.items() for n in range(_count(source))]
    random.Random(seed).shuffle(every)
    made = (_mutant(path, package, sources[path], number) for path, number in every)
    return [*islice((mutant for mutant in made if mutant is not None), count)]


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """True if the tests pass with the mutant. One that makes them hang does not survive."""
    if not tests:
        return True
    with tempfile.TemporaryDirectory(prefix="samebytes-mutant-") as folder:
        package = mutant.package
        copy = Path(folder, package.path.name)
        shutil.copytree(package.path, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / mutant.path).write_text(mutant.source)
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        options = ("-x", "-q", "-p", "no:cacheprovider", *package.options)
        command: list[str | Path] = [PYTHON, "-m", "pytest", *options, *tests]
        try:
            ended = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=_SECONDS, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode == 0


def mutate(arguments: Sequence[str]) -> int:
    """The command: draw mutants, run the tests on each, and name those that survive."""
    parser = argparse.ArgumentParser(prog="dev.py mutate", description=__doc__)
    parser.add_argument(
        "part", nargs="*", help=f"of {', '.join(PARTS)} (default: {', '.join(CORE_PARTS)})"
    )
    parser.add_argument("--count", type=int, default=20, help="mutants of each part (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn (default 1)")
    parser.add_argument("--seconds", type=float, help="try no more after that time")
    options = parser.parse_args(arguments)
    unknown = set(options.part) - set(PARTS)
    if unknown:
        parser.error(f"not a part: {', '.join(sorted(unknown))}")
    began = time.monotonic()
    parts = options.part or CORE_PARTS
    tests = {package.path: measure(package) for package in {PARTS[p].package for p in parts}}
    print(f"which test runs which line is known ({time.monotonic() - began:.0f} s)", flush=True)
    began = time.monotonic()
    drawn_mutants = [drawn(part, options.count, options.seed) for part in parts]
    tally = {part: [0, 0] for part in parts}
    # One of each part in turn, so that a time limit leaves none of them out.
    for mutants in zip_longest(*drawn_mutants):
        for part, mutant in zip(parts, mutants, strict=True):
            if mutant is None or (options.seconds and time.monotonic() - began > options.seconds):
                continue
            tally[part][1] += 1
            if survives(mutant, tests[mutant.package.path].of(mutant.path, mutant.line)):
                tally[part][0] += 1
                print(f"survives  {mutant}", flush=True)
    for part, (left, tried) in tally.items():
        print(f"{part}: {left} of {tried} mutants survive", flush=True)
    left, tried = map(sum, zip(*tally.values(), strict=True))
    seconds = time.monotonic() - began
    print(f"{left} of {tried} mutants survive, seed {options.seed} ({seconds:.0f} s)", flush=True)
    return 0
