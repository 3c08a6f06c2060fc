# SPDX-License-Identifier: Apache-2.0
"""Checks of the values that make up metadata, which turn numpy's scalars into Python's."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any

from ..errors import MetadataError

__all__ = ["optional_real", "optional_whole", "real", "sequence", "shown", "text", "texts", "whole"]

_INT64 = 1 << 63
_UNORDERED = (str, bytes, bytearray, Mapping, Set)


def shown(value: object) -> str:
    """A value in an error message, cut short: it may come from an untrusted sender."""
    return reprlib.repr(value)


def whole(value: Any, field: str, low: int = -_INT64) -> int:
    """The value as an int of 64 bits, not below `low`.

    Raises:
        MetadataError: it is something else, such as True or False.
    """
    if type(value) is int and low <= value < _INT64:
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if low <= number < _INT64:
            return number
    wanted = "an integer of 64 bits" if low == -_INT64 else f"an integer from {low} on"
    raise MetadataError(field, f"must be {wanted}, not {shown(value)}")


def optional_whole(value: Any, field: str, low: int = -_INT64) -> int | None:
    """As `whole`, and None stays None."""
    return None if value is None else whole(value, field, low)


def real(value: Any, field: str) -> float:
    """The value as a finite float.

    Raises:
        MetadataError: it is something else.
    """
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise MetadataError(field, f"must be a finite number, not {shown(value)}")


def optional_real(value: Any, field: str) -> float | None:
    """As `real`, and None stays None."""
    return None if value is None else real(value, field)


def text(value: Any, field: str) -> str:
    """The value as a str.

    Raises:
        MetadataError: it is something else.
    """
    if not isinstance(value, str):
        raise MetadataError(field, f"must be a text, not {shown(value)}")
    return str(value)


def sequence(value: Any, field: str) -> tuple[Any, ...]:
    """The value as a tuple.

    Raises:
        MetadataError: it is not a sequence, or is a text.
    """
    if type(value) is tuple:
        return value
    if isinstance(value, Sequence) and not isinstance(value, _UNORDERED):
        return tuple(value)
    if hasattr(value, "tolist"):  # a numpy array is not a Sequence
        items = value.tolist()
        if isinstance(items, list):
            return tuple(items)
    raise MetadataError(field, f"must be a sequence, not {shown(value)}")


def texts(value: Any, field: str) -> tuple[str, ...]:
    """The value as a tuple of texts.

    Raises:
        MetadataError: it is something else.
    """
    items = enumerate(sequence(value, field))
    return tuple([text(item, f"{field}[{i}]") for i, item in items])
