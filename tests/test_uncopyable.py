# SPDX-License-Identifier: Apache-2.0
"""Objects that users hold and that end with their last holder refuse to be copied."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BASES = {"Uncopyable", "Storage.Uncopied", "sb.Storage.Uncopied", "Storage"}


def held_by_users(tree: ast.Module) -> Iterator[ast.ClassDef]:
    """Classes of objects for a `with` that have a finalizer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            if {"__del__", "__enter__"} <= methods:
                yield node


def found() -> Iterator[tuple[str, set[str]]]:
    for path in sorted(ROOT.glob("*/src/**/*.py")) + sorted(ROOT.glob("*/*/src/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if "__del__" in text:
            for node in held_by_users(ast.parse(text)):
                yield f"{path.stem}.{node.name}", {ast.unparse(base) for base in node.bases}


CLASSES = dict(found())


def test_they_are_found() -> None:
    assert {"_running.Running", "reader.RingReader", "_request.InferRequest"} <= CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_its_class_refuses_copies(name: str) -> None:
    assert CLASSES[name] & BASES, "a copy would end the original: derive from Storage.Uncopied"
