# SPDX-License-Identifier: Apache-2.0
"""Circles of imports among modules, found in their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

Graph = dict[str, set[str]]


def circles(modules: Mapping[str, str], *, deferred: bool, typing: bool) -> list[list[str]]:
    """Return the circles among these modules, each sorted, the largest first.

    Args:
        modules: the text of each, by its full name; a package's ends with `.__init__`.
        deferred: count imports in functions too.
        typing: count imports under `if TYPE_CHECKING:` too.
    """
    graph: Graph = {}
    for name, text in modules.items():
        targets = set(_targets(name, text, modules, deferred=deferred, typing=typing))
        graph[name] = targets - {name}
    found = [sorted(part) for part in _components(graph) if len(part) > 1]
    return sorted(found, key=lambda part: (-len(part), part))


def _targets(
    name: str, text: str, modules: Mapping[str, str], *, deferred: bool, typing: bool
) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a template, which is not Python yet
        return
    for node in _imports(tree, deferred=deferred, typing=typing):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, "") for alias in node.names]
        else:
            base = _absolute(name, node)
            wanted = [(base, alias.name) for alias in node.names]
        for package, member in wanted:
            for target in (f"{package}.{member}", package):
                known = next((m for m in (target, f"{target}.__init__") if m in modules), None)
                if known is not None:
                    yield known
                    break


def _imports(
    node: ast.AST, *, deferred: bool, typing: bool
) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            if typing:
                yield from _imports(child, deferred=deferred, typing=typing)
            else:
                for other in child.orelse:
                    yield from _imports(ast.Module([other], []), deferred=deferred, typing=typing)
        elif deferred or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(child, deferred=deferred, typing=typing)


def _absolute(name: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = name.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _components(graph: Graph) -> list[set[str]]:
    """Return the strongly connected components: nodes that reach each other."""
    reached = {start: _reached(graph, start) for start in graph}
    found: list[set[str]] = []
    left = set(graph)
    while left:
        node = next(iter(left))
        part = {node} | {other for other in reached[node] if node in reached[other]}
        found.append(part)
        left -= part
    return found


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found
