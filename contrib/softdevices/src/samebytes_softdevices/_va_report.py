# SPDX-License-Identifier: Apache-2.0
"""Read the software VA-API driver's report of living objects (csrc/va/report.h)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from samebytes_softdevices._libraries import library
from samebytes_softdevices._plan import SoftDeviceError
from samebytes_softdevices._va import DRIVER

__all__ = ["VaObject", "va_live", "va_report"]

_PREFIX = "softva"
_END = "end"


@dataclass(frozen=True, slots=True)
class VaObject:
    """An object of the driver that lives, or lived when its display ended.

    Attributes:
        kind: "surface", "image", "buffer", "config", "context"; or "descriptor" for a descriptor
            that was exported and is still open.
        fields: Its known values, as text: "id", and more for some kinds.
    """

    kind: str
    fields: Mapping[str, str]

    def number(self, name: str) -> int:
        """Return a value that is a number.

        Args:
            name: the name of the value.

        Returns:
            The value.

        Raises:
            KeyError: there is no such value.
            ValueError: it is not a number.
        """
        return int(self.fields[name])


def _parse(text: str) -> list[VaObject]:
    found = []
    for line in text.splitlines():
        prefix, _, rest = line.partition(" ")
        if prefix != _PREFIX or not rest:
            continue
        kind, *pairs = rest.split()  # codes of formats may end in spaces
        split = (pair.partition("=") for pair in pairs)
        found.append(VaObject(kind, {name: value for name, _, value in split}))
    return found


@cache
def _driver() -> ctypes.CDLL:
    # The same file that libva loads, so that the process has it once.
    functions = ctypes.CDLL(str(library(DRIVER)))
    functions.softva_report_live.argtypes = []
    functions.softva_report_live.restype = ctypes.c_void_p
    functions.softva_report_free.argtypes = [ctypes.c_void_p]
    functions.softva_report_free.restype = None
    return functions


def va_live(kind: str | None = None) -> list[VaObject]:
    """Return the living objects of all displays of this process: all, or those of one `kind`.

    Args:
        kind: such as "surface"; None for all.

    Returns:
        One record for each object.

    Raises:
        SoftDeviceError: the driver was not built.
    """
    text = _driver().softva_report_live()
    if text is None:
        raise SoftDeviceError("there is not enough memory for the report")
    try:
        found = _parse(ctypes.string_at(text).decode())
    finally:
        _driver().softva_report_free(text)
    return [item for item in found if kind in (None, item.kind)]


def va_report(path: str | os.PathLike[str]) -> list[VaObject]:
    """Read the file that SOFTVA_REPORT named: the objects that were left when displays ended.

    Processes append to it. An empty list means that displays ended and nothing was left.

    Args:
        path: the path of the file.

    Returns:
        One record for each object that was left.

    Raises:
        OSError: the file cannot be read; it is not there if no display ended.
        SoftDeviceError: it has no record of the end of a display.
    """
    found = _parse(Path(path).read_text(encoding="utf-8", errors="replace"))
    if not any(item.kind == _END for item in found):
        raise SoftDeviceError(f"{os.fspath(path)} has no record of the end of a display")
    return [item for item in found if item.kind != _END]
