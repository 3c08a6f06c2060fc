# SPDX-License-Identifier: Apache-2.0
"""The types of the properties' values: what they accept, and how OpenVINO takes and gives them.

The plugin does not check NPU_COMPILATION_MODE_PARAMS, the parameters of the compiler.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any, Literal

from samebytes.errors import SamebytesError, UnknownNameError

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "Choice",
    "CompilationModeParams",
    "Flag",
    "Kind",
    "NpuPropertyError",
    "NpuPropertyWarning",
    "Number",
    "Params",
    "Path",
    "Text",
    "Unchecked",
    "plain",
]


class NpuPropertyError(SamebytesError, ValueError):
    """A property of the NPU plugin cannot be given that value.

    Attributes:
        property: its key ("NPU_TILES").
        value: what it was given.
    """

    def __init__(self, property_: str, value: Any, reason: str) -> None:
        self.property = property_
        self.value = value
        super().__init__(f"{property_}: {reason}")


class NpuPropertyWarning(UserWarning):
    """A property of the NPU plugin that will have no effect, or hardly the one that was meant."""


class Kind:
    """A type of values. `checked` returns a value as OpenVINO takes it, or raises ValueError."""

    name = "any"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return "any"

    def checked(self, value: Any) -> Any:
        """The value for OpenVINO."""
        return value


@dataclass(frozen=True, slots=True)
class Unchecked(Kind):
    """Values that are only read, or that OpenVINO checks well enough.

    Attributes:
        name: of the type.
    """

    name: str = "str"


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """Yes or no."""

    name = "bool"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return "YES, NO"

    def checked(self, value: Any) -> bool:
        """True or False, of a bool or of the texts YES and NO."""
        if isinstance(value, bool):
            return value
        if value in ("YES", "NO"):
            return bool(value == "YES")
        raise ValueError("it takes True or False, or the texts YES and NO")


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """Whole numbers.

    Attributes:
        minimum: the least one.
        words: names of numbers.
    """

    minimum: int
    words: Mapping[str, int] = field(default_factory=dict)
    name = "int"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return ", ".join((*self.words, f"{self.minimum} and above"))

    def checked(self, value: Any) -> int:
        """The number."""
        if isinstance(value, str) and value in self.words:
            return self.words[value]
        try:
            number = int(value) if isinstance(value, str) else index(value)
        except (TypeError, ValueError):
            number = None
        if number is None or isinstance(value, bool):
            raise ValueError("it takes a whole number")
        if number < self.minimum:
            raise ValueError(f"it takes numbers from {self.minimum} on")
        return number


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of several names.

    Attributes:
        names: what OpenVINO takes.
        spellings: how its own enumerations and types call some of them.
    """

    names: tuple[str, ...]
    spellings: Mapping[str, str] = field(default_factory=dict)
    name = "str"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return ", ".join(self.names)

    def checked(self, value: Any) -> str:
        """The name."""
        text = plain(value)
        text = self.spellings.get(text, text) if isinstance(text, str) else None
        if text not in self.names:
            raise ValueError(f"it takes {', '.join(self.names)}")
        return text


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Any text."""

    name = "str"

    def checked(self, value: Any) -> str:
        """The text."""
        if isinstance(value, str):
            return value
        raise ValueError("it takes text")


@dataclass(frozen=True, slots=True)
class Path(Kind):
    """The path of a folder or file; empty for none."""

    name = "str"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return "a path, or empty"

    def checked(self, value: Any) -> str:
        """The path as text."""
        try:
            return os.fsdecode(value)
        except TypeError:
            raise ValueError("it takes a path, or an empty text") from None


@dataclass(frozen=True, slots=True)
class Params(Kind):
    """Parameters of the compiler: see `CompilationModeParams`."""

    name = "str"

    @property
    def values(self) -> str:
        """The accepted values, as text for documents."""
        return "name=value ..."

    def checked(self, value: Any) -> str:
        """The text, whose keys and values are checked."""
        if isinstance(value, str):
            value = CompilationModeParams.parse(value)
        if not isinstance(value, CompilationModeParams):
            raise ValueError("it takes text or CompilationModeParams")
        return str(value)


def plain(value: Any) -> Any:
    """A value that OpenVINO gave, as a Python value: enumerations and types become their names."""
    if isinstance(value, str | bool | int | float | None):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list | set):
        return [plain(v) for v in value] if not isinstance(value, tuple) else tuple(value)
    if hasattr(value, "get_type_name"):  # openvino.Type
        return value.get_type_name()
    if hasattr(value, "name"):  # an enumeration of the bindings
        return value.name
    if hasattr(value, "domain"):  # openvino.properties.device.PCIInfo
        return f"{value.domain:04x}:{value.bus:02x}:{value.device:02x}.{value.function:x}"
    return value


_KEY = "NPU_COMPILATION_MODE_PARAMS"
_FIELDS = {
    "optimization-level": "optimization_level",
    "performance-hint-override": "performance_hint_override",
}


@dataclass(frozen=True, slots=True)
class CompilationModeParams:
    """The optimisation settings of the compiler. `str()` gives the text for the property.

    Attributes:
        optimization_level: 0 compiles fast with fewer passes; 1, the default, balances; 2 prefers
            performance, and may compile long.
        performance_hint_override: "efficiency", the default, or "latency", which prefers
            performance over power. Only with PERFORMANCE_HINT: LATENCY.

    Raises:
        NpuPropertyError: a value that the compiler does not have.
    """

    optimization_level: Literal[0, 1, 2] | None = None
    performance_hint_override: Literal["efficiency", "latency"] | None = None

    def __post_init__(self) -> None:
        self._check("optimization-level", self.optimization_level, (0, 1, 2))
        self._check(
            "performance-hint-override",
            self.performance_hint_override,
            ("efficiency", "latency"),
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """The parameters of a text like "optimization-level=1 performance-hint-override=latency".

        Args:
            text: keys and values with "=" between, separated by spaces.

        Raises:
            UnknownNameError: a key that the document does not have.
            NpuPropertyError: it is not a text of keys and values, or a key comes twice.
        """
        found: dict[str, str | int] = {}
        for item in text.split():
            key, equals, value = item.partition("=")
            if not equals or not value:
                raise NpuPropertyError(_KEY, text, f"{item!r} is not name=value")
            if key not in _FIELDS:
                raise UnknownNameError("parameter of the NPU compiler", key, _FIELDS)
            if _FIELDS[key] in found:
                raise NpuPropertyError(_KEY, text, f"{key} is given twice")
            is_number = key == "optimization-level" and value.isdecimal()
            found[_FIELDS[key]] = int(value) if is_number else value
        return cls(**found)  # type: ignore[arg-type]  # checked by __post_init__

    def _check(self, key: str, value: object, allowed: tuple[object, ...]) -> None:
        if value is not None and (isinstance(value, bool) or value not in allowed):
            choices = ", ".join(map(str, allowed))
            raise NpuPropertyError(_KEY, value, f"{key} takes {choices}, not {value!r}")

    def __str__(self) -> str:
        pairs = ((key, getattr(self, name)) for key, name in _FIELDS.items())
        return " ".join(f"{key}={value}" for key, value in pairs if value is not None)
