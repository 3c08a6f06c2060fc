# SPDX-License-Identifier: Apache-2.0
"""Every name that a public module exports is there, also one that is imported when it is used.

The reference shows it under the name by which it is exported.
"""

import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

from devtools.workspace import DISTRIBUTIONS, ROOT


def public_modules() -> Iterator[str]:
    """The modules with an `__all__`, of all distributions, that a user may import."""
    for distribution in DISTRIBUTIONS:
        source = distribution.path / "src"
        for file in sorted(source.rglob("*.py")):
            parts = file.relative_to(source).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            private = any(part.startswith("_") for part in parts)
            if not private and re.search(r"^ *__all__ = ", file.read_text(), re.MULTILINE):
                yield ".".join(parts)


@pytest.mark.parametrize("module", list(public_modules()))
def test_what_is_exported_is_there(module: str) -> None:
    try:
        found = importlib.import_module(module)
        names = getattr(found, "__all__", dir(found))  # samebytes has one for type checkers alone
        missing = [name for name in names if not hasattr(found, name)]
    except ModuleNotFoundError as error:
        # A module of ours that is not there is the fault that this test is for; a distribution
        # that is not installed is none.
        if error.name is None or "." in error.name:
            raise
        pytest.skip(f"missing package {error.name}")
    assert missing == []


def shown() -> Iterator[str]:
    """Yield the names that the pages of the reference describe, as "samebytes.plugins.Storage"."""
    for page in sorted((ROOT / "docs" / "reference" / "api").glob("*.md")):
        yield from re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", list(shown()))
def test_the_reference_has_the_name_that_is_exported(path: str) -> None:
    """The heading is the name by which it was defined, whatever it was imported as."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or "." in error.name:
            raise
        pytest.skip(f"missing package {error.name}")
    # Another name for a method (image_format = ImageFormat.of) is shown as the assignment it is.
    if (inspect.isfunction(found) or inspect.isclass(found)) and "." not in found.__qualname__:
        assert found.__name__ == name
