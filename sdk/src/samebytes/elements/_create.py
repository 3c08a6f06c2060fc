# SPDX-License-Identifier: Apache-2.0
"""Elements by name, from the installed plugins."""

from __future__ import annotations

from typing import Any

from .._plugins.discovery import tables
from .._plugins.distributions import install_hint
from .._plugins.loading import load_class
from .._plugins.specs import ElementSpec
from .._seen.text import table_as_html, table_lines
from ..errors import UnknownNameError
from ._element import Element

__all__ = ["available", "create", "element_class"]

_HEADS = ("element", "what it does")


def create(name: str, *values: Any, **parameters: Any) -> Element:
    """An element by its name: `create("ffmpeg.source", "in.mp4", threads=2)`.

    Args:
        name: as `available` lists it.
        values, parameters: the element's parameters, in their order or by name.

    Raises:
        UnknownNameError: no installed plugin declares it; the message names what to install.
        MissingDependencyError: a package of its plugin is missing.
        ParameterError: a parameter is missing, unknown, of the wrong type or out of range.
    """
    return element_class(name)(*values, **parameters)


def element_class(name: str) -> type[Element]:
    """The class of the elements of that name.

    Args:
        name: as for `create`, such as "ffmpeg.source".

    Raises:
        UnknownNameError: no installed plugin declares it.
        MissingDependencyError: a package of its plugin is missing.
    """
    found = tables()
    spec = found.elements.get(name)
    if spec is None:
        plugin = str(name).partition(".")[0]
        known = install_hint(plugin) or any(one.name == plugin for one in found.set_aside)
        missing = known and plugin not in found.plugins
        text = f"(plugin {plugin!r} {found.absence(plugin)})" if missing else ""
        raise UnknownNameError("element", name, found.elements, text)
    cls = load_class(spec.element, found.owner_of_element[name], Element)
    if cls.name != name:
        cls.name = name
    return cls


class _Elements(dict[str, ElementSpec]):
    """Elements by name; printed as a table."""

    def __repr__(self) -> str:
        return "\n".join(table_lines(_HEADS, self._rows()))

    def _repr_html_(self) -> str:
        return table_as_html(_HEADS, self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """The cells of each element, in the order of the column heads."""
        return [(name, spec.summary) for name, spec in self.items()]


def available() -> dict[str, ElementSpec]:
    """The elements that `create` can make, by name: a dict, which is printed as a table."""
    return _Elements(sorted(tables().elements.items()))
