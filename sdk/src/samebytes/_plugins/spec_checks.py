# SPDX-License-Identifier: Apache-2.0
"""Checks of the data that plugins declare, including the types at run time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._core.edges.edge import ACCESS_MODES, Transfer
from ..errors import UnknownNameError
from .requirements import parse_requirement
from .specs import (
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    ProtocolSpec,
)

__all__ = ["problem_of_plugin", "problem_of_spec"]

_NODE = re.compile(r"[A-Za-z]\w*(:\w+)?")
_ELEMENT = re.compile(r"convert|[a-z][\w-]*(\.[a-z][\w-]*)+")  # the first is the core's


def problem_of_plugin(plugin: Plugin) -> str | None:
    """The first fault of a PLUGIN other than its API, or None."""
    if not isinstance(plugin.summary, str):
        return f"summary {plugin.summary!r} is not a string"
    packages = plugin.packages
    if not isinstance(packages, Mapping) or not _all_strings((*packages, *packages.values())):
        return f"packages {packages!r} is not a mapping from modules to commands"
    return None if plugin.probe is None else _bad_reference("probe", plugin.probe, "function")


def problem_of_spec(spec: Any) -> str | None:
    """The first fault of a spec, or None."""
    if isinstance(spec, NativeSpec):
        problems = _of_native(spec)
    elif isinstance(spec, ContextSpec):
        problems = _of_context(spec)
    elif isinstance(spec, ProtocolSpec):
        problems = _of_protocol(spec)
    elif isinstance(spec, ElementSpec):
        problems = _of_element(spec)
    elif isinstance(spec, ConverterSpec):
        problems = _of_converter(spec)
    else:
        problems = _of_mapper(spec)
    return next((p for p in problems if p is not None), None)


def _of_native(spec: NativeSpec) -> Iterator[str | None]:
    if not (isinstance(spec.native, str) and "." in spec.native and _is_dotted(spec.native)):
        yield f'native {spec.native!r} is not the full name of a type, "module.Name"'
    yield _bad_reference("wraps", spec.wraps, "Class")
    yield _bad_level(spec.level)


def _of_protocol(spec: ProtocolSpec) -> Iterator[str | None]:
    yield _bad_reference("wraps", spec.wraps, "Class")
    devices = spec.dlpack_devices
    if not isinstance(devices, tuple) or not all(type(d) is int and d > 1 for d in devices):
        yield f"dlpack_devices {devices!r} is not a tuple of device types above 1, the CPU's"
    if spec.attribute is not None and not (
        isinstance(spec.attribute, str) and spec.attribute.isidentifier()
    ):
        yield f"attribute {spec.attribute!r} is not the name of an attribute"
    if not devices and spec.attribute is None:
        yield "neither dlpack_devices nor attribute is given"


def _of_element(spec: ElementSpec) -> Iterator[str | None]:
    if not (isinstance(spec.name, str) and _ELEMENT.fullmatch(spec.name)):
        yield f'name {spec.name!r} is not the name of an element, "plugin.element"'
    yield _bad_reference("element", spec.element, "Class")
    if not isinstance(spec.summary, str):
        yield f"summary {spec.summary!r} is not a string"


def _of_converter(spec: ConverterSpec) -> Iterator[str | None]:
    yield _bad_node("node", spec.node)
    yield _bad_reference("converter", spec.converter, "Class")
    yield _bad_cost(spec.cost, spec.cost)
    if spec.gives not in ("cpu", spec.node):
        yield f'gives {spec.gives!r} is neither "cpu" nor its node, {spec.node!r}'
    if not isinstance(spec.summary, str):
        yield f"summary {spec.summary!r} is not a string"
    if spec.planes != "":
        yield _bad_reference("planes", spec.planes, "function")


def _of_context(spec: ContextSpec) -> Iterator[str | None]:
    yield _bad_node("node", spec.node)
    yield _bad_reference("context", spec.context, "Class")
    yield _bad_names("derives_from", spec.derives_from)
    yield _bad_names("allows_deriving", spec.allows_deriving)
    yield _bad_names("lends_to", spec.lends_to)
    if not isinstance(spec.transit, bool):
        yield f"transit {spec.transit!r} is not a bool"
    if spec.devices is not None:
        yield _bad_reference("devices", spec.devices, "function")
    yield _bad_level(spec.level)


def _of_mapper(spec: MapperSpec) -> Iterator[str | None]:
    yield _bad_node("source", spec.source)
    yield _bad_node("target", spec.target)
    yield _bad_reference("mapper", spec.mapper, "Class")
    yield _bad_level(spec.level)
    if not isinstance(spec.transfer, Transfer):
        yield f"transfer {spec.transfer!r} is not a Transfer"
    if not isinstance(spec.summary, str):
        yield f"summary {spec.summary!r} is not a string"
    if not (isinstance(spec.access, tuple) and spec.access and set(spec.access) <= {*ACCESS_MODES}):
        yield f"access {spec.access!r} is not a tuple of some of {ACCESS_MODES}"
    yield _bad_cost(spec.cost, spec.weight)
    if spec.formats is not None:
        yield _bad_names("formats", spec.formats) or _bad_formats(spec.formats)
    if not isinstance(spec.only, str):
        yield f"only {spec.only!r} is not a text"
    yield _bad_names("requires", spec.requires) or _bad_requirements(spec.requires)


def _bad_reference(field: str, text: object, what: str) -> str | None:
    if isinstance(text, str):
        module, _, name = text.partition(":")
        if _is_dotted(module) and name.isidentifier():
            return None
    return f'{field} {text!r} is not "module:{what}"'


def _is_dotted(name: str) -> bool:
    return all(map(str.isidentifier, name.split(".")))


def _bad_cost(cost: object, weight: object) -> str | None:
    if isinstance(weight, int | float) and 0 < weight < math.inf:
        return None
    return f"cost {cost!r} is not a positive number"


def _bad_level(level: object) -> str | None:
    return None if level in ("tensor", "frame") else f'level {level!r} is not "tensor" or "frame"'


def _bad_node(field: str, node: object) -> str | None:
    if isinstance(node, str) and _NODE.fullmatch(node):
        return None
    return f'{field} {node!r} is not a memory type, or "type:KIND"'


def _bad_names(field: str, names: object) -> str | None:
    # A tuple of one name without its comma is a string, and each letter of it is a string too.
    if isinstance(names, tuple) and _all_strings(names):
        return None
    return f"{field} {names!r} is not a tuple of strings"


def _all_strings(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, str) for value in values)


def _bad_formats(formats: tuple[str, ...]) -> str | None:
    """The fault of an alias, which routes would never match, or None. Unknown names may be new."""
    from ..formats import ImageFormat  # deferred until a plugin names a format

    for name in formats:
        try:
            own = ImageFormat.of(name).name
        except UnknownNameError:
            continue
        if own != name:
            return f"format {name!r} must be spelt {own!r}"
    return None


def _bad_requirements(requires: tuple[str, ...]) -> str | None:
    for text in requires:
        try:
            parse_requirement(text)
        except ValueError as error:
            return str(error)
    return None
