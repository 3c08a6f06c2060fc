# SPDX-License-Identifier: Apache-2.0
"""Values of metadata that JSON lacks: each is an object whose one key, a mark, says what it is."""

from __future__ import annotations

from base64 import b64decode, b64encode
from fractions import Fraction
from typing import Any

from .._errors import MessageError
from .message import shown

__all__ = ["mark_of", "marked", "restored"]

_FRACTION = "$fraction"
_BYTES = "$bytes"
_TUPLE = "$tuple"
_OBJECT = "$object"


def marked(value: Fraction | bytes | tuple[Any, ...] | dict[str, Any]) -> Any:
    """A value of plain data that stands for this one.

    A Fraction is {"$fraction": [numerator, denominator]}, bytes are {"$bytes": their base64}, a
    tuple is {"$tuple": the list}. A dict stands for itself, unless its one key is a mark: then it
    is {"$object": the dict}.
    """
    if isinstance(value, Fraction):
        return {_FRACTION: [value.numerator, value.denominator]}
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, tuple):
        return {_TUPLE: list(value)}
    return {_OBJECT: value} if mark_of(value) else value


def restored(value: Any, name: str) -> Any:
    """Return the value that received plain data stand for.

    Raises:
        MessageError: what follows a mark is not what the mark says.
    """
    if isinstance(value, list):
        return [restored(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    mark = mark_of(value)
    if mark == _FRACTION:
        return _fraction(value[mark], name)
    if mark == _BYTES:
        return _bytes(value[mark], name)
    held = value if mark is None else value[mark]
    if mark == _TUPLE:
        if not isinstance(held, list):
            raise MessageError(name, f"{mark} must hold a list, not {shown(held)}")
        return tuple(restored(held, name))
    if not isinstance(held, dict):
        raise MessageError(name, f"{mark} must hold an object, not {shown(held)}")
    return {key: restored(item, f"{name}[{shown(key)}]") for key, item in held.items()}


def mark_of(value: dict[Any, Any]) -> str | None:
    """The one key of an object, if that is a mark."""
    if len(value) != 1:
        return None
    (key,) = value
    return key if key in (_FRACTION, _BYTES, _TUPLE, _OBJECT) else None


def _fraction(parts: Any, name: str) -> Fraction:
    if not (
        isinstance(parts, list)
        and [type(part) for part in parts] == [int, int]  # True is an int as well
        and parts[1] > 0
    ):
        raise MessageError(
            name, f"{_FRACTION} must be [numerator, denominator above 0], not {shown(parts)}"
        )
    return Fraction(parts[0], parts[1])


def _bytes(text: Any, name: str) -> bytes:
    try:
        # ValueError too for text that is not ASCII.
        return b64decode(text, validate=True)
    except (TypeError, ValueError) as error:
        raise MessageError(name, f"{_BYTES} must be base64, not {shown(text)}") from error
