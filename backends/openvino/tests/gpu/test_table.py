# SPDX-License-Identifier: Apache-2.0
"""The table of C++ and Python calls names tests that exist. No GPU is needed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[4] / "docs/reference/openvino-gpu.md"


def named_tests(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"(test_\w+)::(test_\w+)", text))


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


if DOCUMENT.exists():  # it does in the repository, and not in a source distribution

    def test_every_row_names_a_test_that_exists() -> None:
        text = DOCUMENT.read_text()
        rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
        rows = [row for row in rows if not row.endswith("| test |")]
        assert len(rows) > 50
        for row in rows:
            names = named_tests(row.rpartition(" | ")[2])
            assert names, row
            for module, name in names:
                assert name in functions_of(Path(__file__).parent / f"{module}.py"), (module, name)

    def test_names_in_the_text_exist_too() -> None:
        for module, name in named_tests(DOCUMENT.read_text()):
            assert name in functions_of(Path(__file__).parent / f"{module}.py"), (module, name)
