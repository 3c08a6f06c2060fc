# SPDX-License-Identifier: Apache-2.0
"""Writing the package of a new backend."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from string import Template

from .._version import __version__
from .names import Names, NewBackendError, names_of

__all__ = ["new_package"]

# The oldest plugin API that has all that the package declares.
_API = (1, 0)

# The place of each file in the package, and its template.
_FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    ".github/workflows/test.yml": "workflow.yml",
    "src/{package}/__init__.py": "init.py",
    "src/{package}/_plugin.py": "plugin.py",
    "src/{package}/_probe.py": "probe.py",
    "src/{package}/_memory.py": "memory.py",
    "src/{package}/_mappers.py": "mappers.py",
    "src/{package}/blocks.py": "blocks.py",
    "src/{package}/py.typed": "py.typed",
    "tests/test_conformance.py": "test_conformance.py",
    "tests/test_blocks.py": "test_blocks.py",
}


def new_package(name: str, into: Path) -> Path:
    """Write a backend for the memory type `name` into a new folder in `into`; that folder.

    Raises:
        NewBackendError: the name is invalid or taken; the folder is there already, or cannot be
            written.
    """
    names = names_of(name)
    folder = into / names.distribution
    if folder.exists() or folder.is_symlink():
        raise NewBackendError(f"{folder} is there already: choose another name or --into")
    texts = {place: _filled(template, names) for place, template in _FILES.items()}
    try:
        for place, text in texts.items():
            path = folder / place.format(package=names.package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NewBackendError(f"{folder} cannot be written: {error}") from error
    return folder


def _filled(template: str, names: Names) -> str:
    text = (files(__package__) / "template" / f"{template}.tmpl").read_text(encoding="utf-8")
    return Template(text).substitute(asdict(names), samebytes=_pinned(__version__), api=_API)


def _pinned(version: str) -> str:
    """The releases that keep what `version` has: before 1.0, a new minor version may break."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"
