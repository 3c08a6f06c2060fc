# SPDX-License-Identifier: Apache-2.0
"""Errors of remote contexts and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    NativeError,
    NotHostVisibleError,
)

__all__ = [
    "ForeignMemoryError",
    "OpenVINOError",
    "PropertyError",
    "RegionError",
    "last_line",
    "naming",
]


class PropertyError(LayoutError):
    """A remote property cannot have the value that it was given.

    Attributes:
        property: its key, as OpenVINO spells it ("MEM_HANDLE").
    """

    def __init__(self, property_: str, message: str) -> None:
        self.property = property_
        super().__init__(f"{property_}: {message}")


class ForeignMemoryError(DeviceMismatchError):
    """A remote property names an object of another native context.

    Attributes:
        property: its key, as OpenVINO spells it ("MEM_HANDLE").
    """

    def __init__(self, property_: str, message: str) -> None:
        self.property = property_
        super().__init__(f"{property_}: {message}")


class RegionError(LayoutError, NotHostVisibleError):
    """A remote tensor may be a region of another one, and then its start is unknown.

    OpenVINO gives a region (openvino.RemoteTensor(parent, begin, end)) the handle and the
    properties of the whole tensor. Inferences use its own bytes.
    """


class OpenVINOError(NativeError):
    """A call of OpenVINO's failed. It has messages and no codes: `code` is 0.

    Attributes:
        call: the method that failed.
    """

    def __init__(self, call: str, message: str) -> None:
        super().__init__(call, 0, message)
        self.args = (f"{call} failed: {message}",)


@contextmanager
def naming(call: str) -> Iterator[None]:
    """Turn OpenVINO's RuntimeError into one that names the call.

    OpenVINO's message ends with what went wrong; before that it lists places in its sources.
    """
    try:
        yield
    except NativeError:
        raise
    except RuntimeError as error:
        raise OpenVINOError(call, last_line(error)) from error


def last_line(error: Exception) -> str:
    """The cause of an error of OpenVINO's: the last line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
