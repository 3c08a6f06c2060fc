# SPDX-License-Identifier: Apache-2.0
"""Property: one row of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._values import Kind

__all__ = ["Access", "Property", "Told"]

Access = Literal["RO", "RW", "WO"]


@dataclass(frozen=True, slots=True)
class Told:
    """What one source says of a property.

    Attributes:
        access: "RO" is only read, "WO" only written.
        values: what it can be.
        default: of a property that can be set; "" where the source tells none.
    """

    access: Access
    values: str = ""
    default: Any = ""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the NPU plugin.

    Attributes:
        key: as OpenVINO's maps spell it.
        name: of its C++ variable.
        kind: the type of its values.
        description: what it does.
        document: what the NPU plugin's document says, or None if it does not have it.
        observed: what the plugin of 2026.4.1 does, or None where it does not have it.
        listed: SUPPORTED_PROPERTIES of 2026.4.1 has it.
    """

    key: str
    name: str
    kind: Kind
    description: str
    document: Told | None = None
    observed: Told | None = None
    listed: bool = True

    @property
    def access(self) -> Access:
        """As observed, or else as documented."""
        told = self.observed or self.document
        return "RW" if told is None else told.access

    @property
    def default(self) -> Any:
        """As observed, or else as documented."""
        told = self.observed or self.document
        return "" if told is None else told.default

    @property
    def differs(self) -> bool:
        """Whether document and plugin say different things."""
        return self.document is not None and (self.document != self.observed or not self.listed)
