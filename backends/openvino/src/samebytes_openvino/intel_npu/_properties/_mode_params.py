# SPDX-License-Identifier: Apache-2.0
"""NPU_COMPILATION_MODE_PARAMS: the parameters of the compiler, which the plugin does not check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from samebytes.errors import UnknownNameError

from ._values import NpuPropertyError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["CompilationModeParams"]

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
