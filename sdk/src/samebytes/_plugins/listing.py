# SPDX-License-Identifier: Apache-2.0
"""The list of installed plugins, for users and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal

from .._seen.text import table_as_html, table_lines
from .discovery import listed
from .installing import working
from .native_names import without_importing
from .specs import MapperSpec
from .tables import PluginRecord, Tables

__all__ = ["HEADS", "PluginInfo", "cells", "installed_plugins"]


State = Literal["ready", "incomplete", "set aside", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One installed plugin.

    Attributes:
        name: the name of its entry point.
        distribution, version: those that it came with; "" if unknown.
        summary: one line; "" unless it is ready.
        state: "ready"; "incomplete", because a package that it needs is not installed; "set aside",
            because something is wrong with it; or "disabled" by SAMEBYTES_PLUGINS or
            SAMEBYTES_DISABLE.
        missing: the packages that are not installed, each with the command that installs it.
        error: the reason why it was set aside; "" if it was not.
        memory_types: the memory types that it adds.
        edges: the mappings that it adds and that can be used.
        unmet: mappings that need another plugin, or another version of it, each with the reason.
        natives: the names of the native types that it wraps.
    """

    name: str
    distribution: str
    version: str
    summary: str
    state: State
    error: str
    memory_types: tuple[str, ...]
    edges: tuple[MapperSpec, ...]
    unmet: tuple[tuple[MapperSpec, str], ...]
    natives: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults of a plugin that is in use all the same: native types that do not exist.

        Each access reads the sources of frameworks to find them; nothing is imported.
        """
        wrong = ((name, without_importing(name)) for name in self.natives)
        return tuple(f"native type {name!r}: {why}" for name, why in wrong if why is not None)


HEADS = ("plugin", "version", "state", "memory types", "summary")


def cells(plugin: PluginInfo) -> tuple[str, ...]:
    """The cells of a plugin in a table with those heads."""
    types = ", ".join(plugin.memory_types)
    return plugin.name, plugin.version, plugin.state, types, plugin.summary


class _Plugins(list[PluginInfo]):
    """Plugins; printed as a table."""

    def __repr__(self) -> str:
        return "\n".join(table_lines(HEADS, [cells(plugin) for plugin in self]))

    def _repr_html_(self) -> str:
        return table_as_html(HEADS, [cells(plugin) for plugin in self])


def installed_plugins() -> list[PluginInfo]:
    """Every plugin that was found, by name. It imports no framework, and no plugin makes it raise.

    Returns:
        A list, which is printed as a table.
    """
    tables = listed()
    records = [*tables.plugins.values(), *tables.set_aside]
    return _Plugins(_info(record, tables) for record in sorted(records, key=lambda r: r.name))


def _state(record: PluginRecord, ready: bool, missing: Mapping[str, str]) -> State:
    if ready:
        return "incomplete" if missing else "ready"
    return "disabled" if record.disabled else "set aside"


def _info(record: PluginRecord, tables: Tables) -> PluginInfo:
    ready = tables.plugins.get(record.name) is record
    edges = [e for e in tables.edges if ready and e.plugin == record.name]
    types = {c.node.partition(":")[0] for c in record.declared.contexts} if ready else ()
    natives = record.declared.natives if ready else ()
    packages = record.plugin.packages if ready and record.plugin else {}
    missing = {n: working(hint) for n, hint in packages.items() if not _is_installed(n)}
    return PluginInfo(
        name=record.name,
        distribution=record.distribution,
        version=record.version,
        summary=record.plugin.summary if ready and record.plugin else "",
        state=_state(record, ready, missing),
        error=str(record.error or "") if not record.disabled else "",
        memory_types=tuple(sorted(types)),
        edges=tuple(e.spec for e in edges if e.missing is None),
        unmet=tuple((e.spec, working(e.missing)) for e in edges if e.missing is not None),
        natives=tuple(n.native for n in natives),
        missing=missing,
    )


def _is_installed(package: str) -> bool:
    """True if a package is there. It is not imported, so its import may still fail."""
    try:
        return find_spec(package.partition(".")[0]) is not None
    except ValueError:  # it is present, but was not imported in the usual way
        return True
