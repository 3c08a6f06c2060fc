# SPDX-License-Identifier: Apache-2.0
"""Check that a NativeSpec names a type that exists.

A wrong name shows late: the plugin's objects are just not known, and the user reads that no plugin
wraps them. `without_importing` finds the faults that show in the files of the framework;
only check-plugin imports frameworks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

__all__ = ["misspelt", "without_importing"]

# The way most modules bind a name: parsing a file takes a hundred times as long as searching it.
_BINDS = (
    rb"^(?:class|def|async def) (?:%b|__getattr__)\b"
    rb"|^from [\w.]+ import (?:\*|[^#\n]*\b%b\b(?! as\b))"
)


def misspelt(native: str, found: Any) -> str | None:
    """The fault of a name under which `found` was found; None if it is the type's own name."""
    if not isinstance(found, type):
        return f"{native} is not a type"
    real = f"{found.__module__}.{found.__qualname__}"
    return None if real == native else f"the type calls itself {real}"


def without_importing(native: str) -> str | None:
    """The reason why no type can have that name; None if one has it or only an import can show it.

    The answer is None for an absent framework too: the name may be right.
    """
    parts = native.split(".")
    spec = _spec(parts[0], None)
    if spec is None:
        return None
    module = parts[0]
    for count in range(1, len(parts) - 1):
        folders = spec.submodule_search_locations
        inner = _spec(parts[count], list(folders)) if folders is not None else None
        if inner is None:
            break
        spec, module = inner, f"{module}.{parts[count]}"
    names = parts[module.count(".") + 1 :]
    if module in sys.modules:
        wrong = _in_module(native, sys.modules[module], names)
        # A package's import hook may know modules that it has not made yet, as gi.repository's.
        later = len(names) > 1 and names[0] not in vars(sys.modules[module])
        return wrong if not later else wrong and _in_source(native, spec, module, names[0])
    return _in_source(native, spec, module, names[0])


def _spec(name: str, folders: list[str] | None) -> ModuleSpec | None:
    with suppress(Exception):  # for an import hook or a broken installation, nothing is known
        return PathFinder.find_spec(name, folders)
    return None


def _in_module(native: str, module: Any, names: list[str]) -> str | None:
    found = module
    for name in names:
        inside = vars(found) if hasattr(found, "__dict__") else {}
        if name not in inside:
            # Asking a lazy module for the name would import the module that defines it. A module
            # that is an object of a class, as gi's are, is lazy by a method of that class.
            lazy = "__getattr__" in inside or hasattr(type(found), "__getattr__")
            return None if lazy else _no_such(native, module.__name__, inside)
        found = inside[name]
    return misspelt(native, found)


def _no_such(native: str, module: str, names: Iterable[str]) -> str:
    last = native.rpartition(".")[2].lower()
    alike = next((name for name in names if name.lower() == last), None)
    meant = f": it has {alike}" if alike else ""
    return f"there is no such type: {module} does not define that name{meant}"


def _in_source(native: str, spec: ModuleSpec, module: str, name: str) -> str | None:
    """Look the name up in the source of a module, if it has one."""
    if not spec.origin or not spec.origin.endswith(".py"):
        return None
    from pathlib import Path  # a tenth of the time of importing samebytes, and seldom needed

    try:
        source = Path(spec.origin).read_bytes()
        if re.search(_BINDS % ((re.escape(name.encode()),) * 2), source, re.MULTILINE):
            return None
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return None
    bound = set(_bound(tree.body))
    if name in bound or bound & {"*", "__getattr__"}:
        return None
    return _no_such(native, module, bound)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements of a module bind; "*" if only running them would show these."""
    for statement in body:
        match statement:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield statement.name
            case ast.Import() | ast.ImportFrom():
                for alias in statement.names:
                    yield (alias.asname or alias.name).partition(".")[0]
            case ast.Assign() | ast.AnnAssign():
                yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name))
            case ast.Pass() | ast.Raise() | ast.Assert() | ast.Expr(value=ast.Constant()):
                pass
            case ast.If() | ast.Try() | ast.With():
                for inner in ast.iter_child_nodes(statement):
                    if isinstance(inner, ast.stmt):
                        yield from _bound([inner])
                    elif isinstance(inner, ast.ExceptHandler):
                        yield from _bound(inner.body)
            case _:
                yield "*"  # a call, a loop: it may bind anything
