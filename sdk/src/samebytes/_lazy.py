# SPDX-License-Identifier: Apache-2.0
"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose modules import a framework (PEP 562).

        if TYPE_CHECKING:
            from ._context import ToyContext

        __all__ = ["ToyContext"]

        if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
            __getattr__, __dir__ = lazy_exports(__name__, {"ToyContext": "._context"})

    Importing the package then imports none of its modules. A name is set in the package when it
    was found, so that it is looked for once.

    Args:
        package: its `__name__`.
        homes: the module of each name, relative to the package: "._context". A module that is a
            name itself has its own: {"errors": ".errors"}.
    """

    def find(name: str) -> Any:
        try:
            home = homes[name]
        except KeyError:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
            ) from None
        module = import_module(home, package)
        found = module if home == f".{name}" else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        there = vars(sys.modules[package])
        return sorted({*homes, *there.get("__all__", ()), *there.keys() & {"__version__"}})

    return find, names
