# SPDX-License-Identifier: Apache-2.0
"""Docstrings open with a noun or a verb, and not with a question word that leaves both out."""

import ast
from collections.abc import Iterator

from devtools.workspace import ROOT, source_files

__all__ = ["check_openings", "complaints_about_openings"]

_SAY_NOTHING = frozenset(
    ("How", "That", "Those", "What", "When", "Where", "Whether", "Which", "Who", "Why")
)
_INSTEAD = 'open it with a noun or a verb: "Return ...", "A ...", "True if ..."'
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def complaints_about_openings() -> list[str]:
    """Every such docstring of what is installed, as `path:line: what to write`."""
    return [
        f"{path.relative_to(ROOT)}:{complaint}"
        for path in source_files(".py")
        if "src" in path.relative_to(ROOT).parts
        for complaint in check_openings(path.read_text())
    ]


def check_openings(text: str) -> Iterator[str]:
    """The docstrings of one file that open so, as `line: what to write`."""
    for line, docstring in _docstrings(ast.parse(text)):
        word = next(iter(docstring.split()), "").strip(".,:")
        if word in _SAY_NOTHING:
            yield f"{line}: a docstring opens with {word!r}: {_INSTEAD}"


def _docstrings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines and texts of all docstrings, those of attributes included."""
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        documented = isinstance(node, _DOCUMENTED)
        for before, statement in zip([None, *body], body, strict=False):
            follows = isinstance(before, (ast.Assign, ast.AnnAssign))
            match statement:
                case ast.Expr(value=ast.Constant(value=str(docstring))) if follows or (
                    documented and before is None
                ):
                    yield statement.lineno, docstring
