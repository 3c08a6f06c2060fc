# SPDX-License-Identifier: Apache-2.0
"""Every handle key of the core is used by a distribution of this repository."""

from __future__ import annotations

import ast
from pathlib import Path

from devtools.workspace import CORE, DISTRIBUTIONS, source_files

KEYS = CORE.path / "src" / "samebytes" / "_core" / "handles.py"


def test_every_key_is_served_or_read() -> None:
    paths = [p for d in DISTRIBUTIONS for p in source_files(".py", below=d.path / "src")]
    used = {text for path in paths if path != KEYS for text in texts(path)}

    assert registered() - used == set()


def registered() -> set[object]:
    """The names in the table of the core."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(KEYS.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "HandleKey"
        if isinstance(node.args[0], ast.Constant)
    }


def texts(path: Path) -> set[object]:
    """The constants of a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {n.value for n in nodes if isinstance(n, ast.Constant)}
