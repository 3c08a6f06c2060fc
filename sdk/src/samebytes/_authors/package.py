# SPDX-License-Identifier: Apache-2.0
"""Writing the package of a new backend, or of a new element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from string import Template

from .._version import __version__
from .names import Names, NewBackendError, names_of

__all__ = ["new_package"]

# The place of each file in a package, and its template.
_ALL = {
    "pyproject.toml": "pyproject.toml",
    ".gitignore": "gitignore",
    ".github/workflows/test.yml": "workflow.yml",
    "src/{package}/py.typed": "py.typed",
}
_BACKEND = {
    **_ALL,
    "README.md": "README.md",
    "src/{package}/__init__.py": "init.py",
    "src/{package}/_plugin.py": "plugin.py",
    "src/{package}/_probe.py": "probe.py",
    "src/{package}/_memory.py": "memory.py",
    "src/{package}/_mappers.py": "mappers.py",
    "src/{package}/blocks.py": "blocks.py",
    "tests/test_conformance.py": "test_conformance.py",
    "tests/test_blocks.py": "test_blocks.py",
}
_ELEMENT = {
    **_ALL,
    "README.md": "element/README.md",
    "src/{package}/__init__.py": "element/init.py",
    "src/{package}/_plugin.py": "element/plugin.py",
    "src/{package}/brighten.py": "element/brighten.py",
    "tests/test_conformance.py": "element/test_conformance.py",
    "tests/test_brighten.py": "element/test_brighten.py",
}


def new_package(name: str, into: Path, *, element: bool = False) -> Path:
    """Write a package into a new folder in `into`; that folder.

    Args:
        name: the memory type of a backend; of an element, the name of its plugin.
        element: an element of pipelines, and not a backend.

    Raises:
        NewBackendError: the name is invalid or taken; the folder is there already, or cannot be
            written.
    """
    names = names_of(name, "a plugin" if element else "a memory type")
    words = _element_words(names) if element else _backend_words(names)
    folder = into / names.distribution
    if folder.exists() or folder.is_symlink():
        raise NewBackendError(f"{folder} already exists: choose another name or --into")
    places = _ELEMENT if element else _BACKEND
    texts = {place: _filled(template, words) for place, template in places.items()}
    try:
        for place, text in texts.items():
            path = folder / place.format(package=names.package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NewBackendError(f"{folder} cannot be written: {error}") from error
    return folder


# `api` is the oldest plugin API that has all that the package declares.


def _backend_words(names: Names) -> dict[str, object]:
    return {**_words(names), "api": (1, 0), "description": f"{names.classes} memory for samebytes"}


def _element_words(names: Names) -> dict[str, object]:
    description = f"{names.classes}: elements for pipelines of samebytes"
    return {**_words(names), "api": (1, 1), "description": description}


def _words(names: Names) -> dict[str, object]:
    return {**asdict(names), "samebytes": _pinned(__version__)}


def _filled(template: str, words: Mapping[str, object]) -> str:
    text = (files(__package__) / "template" / f"{template}.tmpl").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _pinned(version: str) -> str:
    """The releases that keep what `version` has: before 1.0, a new minor version may break."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"
