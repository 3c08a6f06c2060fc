# SPDX-License-Identifier: Apache-2.0
"""The tables that plugins fill: native types, contexts, edges, and each plugin's state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from ..errors import PluginConflictError, PluginError
from .distributions import install_hint, published_hint
from .requirements import parse_requirement, satisfies
from .specs import (
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    ProtocolSpec,
)

_Name = TypeVar("_Name", str, int | str)

__all__ = ["Declarations", "Edge", "PluginRecord", "Tables"]


class Declarations(NamedTuple):
    """The declarations that the hooks of one plugin returned."""

    natives: tuple[NativeSpec, ...] = ()
    contexts: tuple[ContextSpec, ...] = ()
    mappers: tuple[MapperSpec, ...] = ()
    protocols: tuple[ProtocolSpec, ...] = ()
    elements: tuple[ElementSpec, ...] = ()
    converters: tuple[ConverterSpec, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class PluginRecord:
    """One plugin that was found, loaded or not.

    Attributes:
        name: the name of its entry point.
        distribution, version: those that it came with; "" if unknown.
        module: the module that its entry point names; "" if there is no entry point.
        plugin: its PLUGIN; None if it could not be loaded.
        error: the reason why it was set aside; None if it was not.
        disabled: True if SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE excludes it.
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
    def reason(self) -> str:
        """The reason why its declarations are not in the tables; "" if they are."""
        if self.disabled:
            return "it is disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE"
        return str(self.error or "")


class Edge(NamedTuple):
    """A mapper as declared, and the plugin that declares it.

    Attributes:
        missing: the reason why it cannot be used (a required plugin is missing), or None. Pass it
            through `working` before a user reads it, so that the commands in it work.
    """

    spec: MapperSpec
    plugin: str
    missing: str | None = None


class Tables:
    """The tables, which discovery fills once and which are then only read."""

    def __init__(self) -> None:
        self.plugins: dict[str, PluginRecord] = {}
        self.set_aside: list[PluginRecord] = []
        self.natives: dict[str, NativeSpec] = {}
        # By the DLPack device, or by the attribute.
        self.protocols: dict[int | str, ProtocolSpec] = {}
        self.contexts: dict[str, ContextSpec] = {}
        self.elements: dict[str, ElementSpec] = {}
        self.edges: list[Edge] = []
        # By the name of their plugin.
        self.converters: list[tuple[str, ConverterSpec]] = []
        # The plugin that declares a node, or wraps with a class: for errors that name the culprit.
        self.owner_of_node: dict[str, str] = {}
        self.owner_of_native: dict[str, str] = {}
        self.owner_of_protocol: dict[int | str, str] = {}
        self.owner_of_element: dict[str, str] = {}

    def add(self, record: PluginRecord) -> None:
        """Enter a plugin's declarations: all of them, or none on a conflict.

        Raises:
            PluginConflictError: one of its names is taken.
        """
        natives = [native.native for native in record.declared.natives]
        nodes = [context.node for context in record.declared.contexts]
        self._check_free(record, "native type", natives, self.owner_of_native)
        protocols = [(key, spec) for spec in record.declared.protocols for key in _keys(spec)]
        self._check_free(record, "context", nodes, self.owner_of_node)
        elements = [element.name for element in record.declared.elements]
        self._check_free(record, "element", elements, self.owner_of_element)
        self._check_free(record, "protocol", [key for key, _ in protocols], self.owner_of_protocol)
        for native in record.declared.natives:
            self.natives[native.native] = native
            self.owner_of_native[native.native] = record.name
        for key, protocol in protocols:
            self.protocols[key] = protocol
            self.owner_of_protocol[key] = record.name
        for context in record.declared.contexts:
            self.contexts[context.node] = context
            self.owner_of_node[context.node] = record.name
        for element in record.declared.elements:
            self.elements[element.name] = element
            self.owner_of_element[element.name] = record.name
        self.converters += [(record.name, spec) for spec in record.declared.converters]
        self.plugins[record.name] = record

    def link(self) -> None:
        """Enter what joins plugins once all are known: edges, and which nodes derive from which."""
        for node, spec in self._declared_contexts():
            bases = (
                n
                for n, s in self._declared_contexts()
                if node in s.allows_deriving or node in s.lends_to
            )
            sources = dict.fromkeys((*spec.derives_from, *bases))
            # `link` has read it: a copy with it would warn again.
            self.contexts[node] = replace(spec, derives_from=tuple(sources), lends_to=())
        self.edges = [
            Edge(spec, record.name, self._unmet(spec.requires) or self._without_node(spec))
            for record in self.plugins.values()
            for spec in record.declared.mappers
        ]

    def _declared_contexts(self) -> Iterator[tuple[str, ContextSpec]]:
        for record in self.plugins.values():
            for spec in record.declared.contexts:
                yield spec.node, spec

    def _check_free(
        self, record: PluginRecord, kind: str, names: list[_Name], owners: dict[_Name, str]
    ) -> None:
        for index, name in enumerate(names):
            owner = owners.get(name)
            if owner is not None or name in names[:index]:
                held = f"that plugin {owner!r} holds" if owner else "twice"
                raise PluginConflictError(record.name, f"it declares the {kind} {name!r} {held}")

    def absence(self, name: str) -> str:
        """The reason why there is no plugin of that name: "is not installed: pip install ..."."""
        return self._absence(name, install_hint)

    def _absence(self, name: str, hint_for: Callable[[str], str]) -> str:
        for record in self.set_aside:
            if record.name == name:
                return f"was set aside: {record.reason}"
        hint = hint_for(name)
        return f"is not installed{': ' + hint if hint else ''}"

    def _unmet(self, requires: Iterable[str]) -> str | None:
        for requirement in requires:
            name, conditions = parse_requirement(requirement)
            record = self.plugins.get(name)
            if record is None:
                return f"it needs plugin {name!r}, which {self._absence(name, published_hint)}"
            if record.version and not satisfies(record.version, conditions):
                return f"it needs {requirement}, and {record.distribution} {record.version} is here"
        return None

    def _without_node(self, spec: MapperSpec) -> str | None:
        """The complaint about an edge from or to a node that no plugin declares, or None."""
        for node in (spec.source, spec.target):
            if node not in self.contexts:
                hint = published_hint(node.partition(":")[0])
                return f"no installed plugin declares {node!r}{': ' + hint if hint else ''}"
        return None


def _keys(spec: ProtocolSpec) -> list[int | str]:
    """The keys by which a protocol is looked up: its DLPack devices and its attribute."""
    return [*spec.dlpack_devices, *([] if spec.attribute is None else [spec.attribute])]
