# SPDX-License-Identifier: Apache-2.0
"""The tables that plugins fill: native types, contexts, edges, and what became of each plugin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import PluginConflictError, PluginError
from .specs import ContextSpec, MapperSpec, NativeSpec, Plugin

__all__ = ["Declarations", "Edge", "PluginRecord", "Tables"]


@dataclass(frozen=True, slots=True)
class Declarations:
    """What the hooks of one plugin returned."""

    natives: tuple[NativeSpec, ...] = ()
    contexts: tuple[ContextSpec, ...] = ()
    mappers: tuple[MapperSpec, ...] = ()


@dataclass(slots=True)
class PluginRecord:
    """One plugin that was found, loaded or not.

    Attributes:
        name: of its entry point.
        distribution, version: what it came with; "" if unknown.
        plugin: what it says of itself; None if it could not be loaded.
        error: why it was set aside; None if it was not.
        disabled: chosen away by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE.
    """

    name: str
    distribution: str = ""
    version: str = ""
    module: str = ""
    plugin: Plugin | None = None
    declared: Declarations = field(default_factory=Declarations)
    error: PluginError | None = None
    disabled: bool = False

    @property
    def active(self) -> bool:
        """Whether its declarations are in the tables."""
        return self.plugin is not None and self.error is None and not self.disabled


@dataclass(frozen=True, slots=True)
class Edge:
    """A mapper as declared, and by whom.

    Attributes:
        missing: why it cannot be used (a required plugin is not there), or None.
    """

    spec: MapperSpec
    plugin: str
    missing: str | None = None


@dataclass(slots=True)
class Tables:
    """Filled once by discovery, then only read."""

    plugins: dict[str, PluginRecord] = field(default_factory=dict)
    set_aside: list[PluginRecord] = field(default_factory=list)
    natives: dict[str, NativeSpec] = field(default_factory=dict)
    contexts: dict[str, ContextSpec] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    # Which plugin declared a node, or wraps with a class: for errors that name the culprit.
    owner_of_node: dict[str, str] = field(default_factory=dict)
    owner_of_native: dict[str, str] = field(default_factory=dict)

    def add(self, record: PluginRecord) -> None:
        """Enter a plugin's declarations, all of them or, on a conflict, none.

        Raises:
            PluginConflictError: a name of it is taken.
        """
        for native in record.declared.natives:
            self._check_free(record, "native type", native.native, self.owner_of_native)
        for context in record.declared.contexts:
            self._check_free(record, "context", context.node, self.owner_of_node)
        for native in record.declared.natives:
            self.natives[native.native] = native
            self.owner_of_native[native.native] = record.name
        for context in record.declared.contexts:
            self.contexts[context.node] = context
            self.owner_of_node[context.node] = record.name
        self.plugins[record.name] = record

    def link(self) -> None:
        """Enter the edges, once every plugin is known, since they may require others."""
        self.edges = [
            Edge(spec, record.name, self._unmet(spec.requires))
            for record in self.plugins.values()
            for spec in record.declared.mappers
        ]

    def memory_types(self) -> list[str]:
        """The names of all memory types."""
        return sorted({node.partition(":")[0] for node in self.contexts})

    def _check_free(
        self, record: PluginRecord, kind: str, name: str, owners: dict[str, str]
    ) -> None:
        owner = owners.get(name)
        if owner is not None:
            raise PluginConflictError(
                record.name, f"it declares the {kind} {name!r}, which plugin {owner!r} holds"
            )

    def _unmet(self, requires: Iterable[str]) -> str | None:
        for requirement in requires:
            name, conditions = parse_requirement(requirement)
            record = self.plugins.get(name)
            if record is None:
                return f'it needs plugin {name!r}: pip install "samebytes[{name}]"'
            if record.version and not satisfies(record.version, conditions):
                return f"it needs {requirement}, and {record.distribution} {record.version} is here"
        return None


_COMPARE = {
    ">=": lambda have, want: have >= want,
    "<=": lambda have, want: have <= want,
    "==": lambda have, want: have == want,
    ">": lambda have, want: have > want,
    "<": lambda have, want: have < want,
}


def parse_requirement(text: str) -> tuple[str, list[tuple[str, tuple[int, ...]]]]:
    """ "opencl>=1,<2" as ("opencl", [(">=", (1,)), ("<", (2,))]).

    Raises:
        ValueError: it is not of that form.
    """
    cut = next((i for i, c in enumerate(text) if c in "<>="), len(text))
    name, conditions = text[:cut].strip(), []
    for part in filter(None, (p.strip() for p in text[cut:].split(","))):
        sign = next((s for s in _COMPARE if part.startswith(s)), None)
        digits = part[len(sign) :].strip() if sign else ""
        if sign is None or not all(d.isdigit() for d in digits.split(".")):
            raise ValueError(f"{text!r} is not a requirement such as 'opencl>=1,<2'")
        conditions.append((sign, tuple(int(d) for d in digits.split("."))))
    if not name:
        raise ValueError(f"{text!r} names no plugin")
    return name, conditions


def satisfies(version: str, conditions: Iterable[tuple[str, tuple[int, ...]]]) -> bool:
    """Whether the release part of `version` meets every condition."""
    have: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        have.append(int(part))

    def padded(numbers: Iterable[int]) -> tuple[int, ...]:
        return (*numbers, 0, 0, 0, 0)[:4]

    return all(_COMPARE[sign](padded(have), padded(want)) for sign, want in conditions)
