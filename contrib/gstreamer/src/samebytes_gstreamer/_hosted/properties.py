# SPDX-License-Identifier: Apache-2.0
"""The parameters of an element as properties of a GStreamer element.

Numbers and truth values are properties of their types; everything else is text, as on a command
line. Setting a property cannot fail, so an invalid value is reported when the element opens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from samebytes.elements import Parameter
from samebytes.errors import ParameterError, UnsupportedObjectError

from .._abi.gi import GObject

__all__ = ["COPY", "Values", "properties_of"]

COPY = "copy"
"""The property that allows copies."""

_READY = 1 << 10
"""gst/gstparamspec.h: GST_PARAM_MUTABLE_READY."""

_FLAGS = GObject.ParamFlags.READABLE | GObject.ParamFlags.WRITABLE
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class Values:
    """The values set for one element's properties.

    Args:
        owner: the element's name, for errors.
        declared: its parameters.
    """

    def __init__(self, owner: str, declared: Mapping[str, Parameter]) -> None:
        self._owner = owner
        self._declared = {_property(name): parameter for name, parameter in declared.items()}
        self._set: dict[str, Any] = {}
        self._wrong: dict[str, ParameterError] = {}
        own = declared.get(COPY)
        self.copy: bool = own is not None and _shown(own)

    def set(self, name: str, value: Any) -> None:
        """Keep a value; `read` raises the error if it is invalid."""
        if name == COPY:
            self.copy = value
            if COPY not in self._declared:
                return
        parameter = self._declared[name]
        self._wrong.pop(name, None)
        try:
            if _type_of(parameter) is str:
                self._set[name] = parameter.parse(self._owner, value or "")
            else:
                self._set[name] = parameter.check(self._owner, value)
        except ParameterError as error:
            self._wrong[name] = error.with_traceback(None)

    def get(self, name: str) -> Any:
        """The value in the form of the property."""
        if name == COPY:
            return self.copy
        parameter = self._declared[name]
        if name not in self._set:
            return _shown(parameter)
        return _plain(parameter, self._set[name])

    def read(self) -> dict[str, Any]:
        """The parameters that were set, for the element's constructor.

        Raises:
            ParameterError: a value was wrong.
        """
        for error in self._wrong.values():
            raise error
        return {self._declared[name].name: value for name, value in self._set.items()}


def properties_of(declared: Mapping[str, Parameter], base: Any, owner: str) -> dict[str, Any]:
    """The `__gproperties__` of a class.

    Args:
        declared: the parameters.
        base: the GStreamer class, which has properties of its own.
        owner: the element's name, for errors.

    Raises:
        UnsupportedObjectError: a parameter has the name of an existing property.
    """
    taken = {spec.name for spec in base.list_properties()} | {COPY}
    found: dict[str, Any] = {
        COPY: (
            bool,
            COPY,
            "copy, and count it, where others hold a buffer (a tee), or memory has no other route",
            Values(owner, declared).copy,
            _FLAGS | _READY,
        )
    }
    for name, parameter in declared.items():
        key = _property(name)
        if key == COPY and parameter.type is bool:
            continue  # one property says it to the element too
        if key in taken:
            raise UnsupportedObjectError(
                f"the parameter {name!r} of {owner!r} has the name of a property that GStreamer's "
                "elements have: rename it"
            )
        found[key] = (
            _type_of(parameter), key, _blurb(parameter), *_limits(parameter), _shown(parameter),
            _FLAGS | _READY,
        )  # fmt: skip
    return found


def _property(name: str) -> str:
    return name.replace("_", "-")


def _type_of(parameter: Parameter) -> Any:
    if parameter.choices is None:
        if parameter.type is int:
            return GObject.TYPE_INT64
        if parameter.type in (bool, float):
            return parameter.type
    return str


def _limits(parameter: Parameter) -> tuple[Any, ...]:
    kind = _type_of(parameter)
    low = high = None
    if parameter.range is not None:
        low, high = parameter.range.minimum, parameter.range.maximum
    if kind is GObject.TYPE_INT64:
        return (
            _LOWEST if low is None else math.ceil(low),
            _HIGHEST if high is None else math.floor(high),
        )
    if kind is float:
        biggest = 1.7976931348623157e308
        return -biggest if low is None else low, biggest if high is None else high
    return ()


def _shown(parameter: Parameter) -> Any:
    """The default of the property."""
    if not parameter.required:
        return _plain(parameter, parameter.default)
    limits = _limits(parameter)
    if limits:
        return min(max(type(limits[0])(0), limits[0]), limits[1])
    return False if _type_of(parameter) is bool else None


def _plain(parameter: Parameter, value: Any) -> Any:
    """A value in the form of the property."""
    if value is None or _type_of(parameter) is not str:
        return value
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value.name if isinstance(value, Enum) else str(value)


def _blurb(parameter: Parameter) -> str:
    notes = [parameter.description or parameter.name]
    if parameter.choices is not None or parameter.type not in (bool, int, float, str):
        notes.append(f"({parameter.expected})")
    if parameter.required:
        notes.append("(must be set)")
    return " ".join(notes)
