# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no linter knows."""

import ast
from pathlib import Path

from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

_SPDX = "# SPDX-License-Identifier: Apache-2.0"


def complaints() -> list[str]:
    """Every broken rule in the repository, as `path:line: what is wrong`."""
    return [
        f"{path.relative_to(ROOT)}:{complaint}"
        for path in source_files(".py")
        for complaint in _check(path)
    ]


def _check(path: Path) -> list[str]:
    text = path.read_text()
    owner = next((_package(d.name) for d in DISTRIBUTIONS if path.is_relative_to(d.path)), None)
    return [*check_licence(text), *check_imports(text, owner)]


def check_licence(text: str) -> list[str]:
    """The licence line comes first, or right after a `#!` line."""
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        del lines[0]
    if lines and lines[0] == _SPDX:
        return []
    return [f"1: the first line must be `{_SPDX}`"]


def check_imports(text: str, owner: str | None) -> list[str]:
    """Only public names of other distributions are imported.

    `owner` is the import name of the distribution that the text belongs to, None for none.
    """
    packages = {_package(d.name) for d in DISTRIBUTIONS} - {owner}
    return [
        f"{line}: {module} is private to {module.split('.')[0]}"
        for line, module in _imports(text)
        if module.split(".")[0] in packages and _is_private(module)
    ]


def _imports(text: str) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.lineno, f"{node.module}.{name.name}") for name in node.names]
    return found


def _is_private(module: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in module.split("."))


def _package(name: str) -> str:
    return name.replace("-", "_")
