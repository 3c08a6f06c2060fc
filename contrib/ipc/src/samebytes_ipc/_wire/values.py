# SPDX-License-Identifier: Apache-2.0
"""Read the values of a description in JSON that may be forged, each by the type it must have."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any, NoReturn

from .._errors import MessageError
from .marked import mark_of, marked, restored
from .message import shown

__all__ = ["Value", "encoded", "parse", "plain"]

_WHOLE = "description"
_MAX_DEPTH = 16
_MAX_TEXT = 4096
_INT64 = -(1 << 63), (1 << 63) - 1


class Value:
    """One value, and where it is in the description.

    Every method that reads it raises MessageError if it is something else.
    """

    __slots__ = ("_inside", "_key", "_value")

    def __init__(self, value: Any, inside: Value | None = None, key: str | int = "") -> None:
        self._value = value
        self._inside = inside
        self._key = key

    @property
    def name(self) -> str:
        """The name in errors, such as "frame.planes[1].offset"; "" for the whole description."""
        if self._inside is None:
            return ""
        around = self._inside.name
        if isinstance(self._key, int):
            return f"{around}[{self._key}]"
        return f"{around}.{self._key}" if around else self._key

    def fail(self, what: str) -> NoReturn:
        """Raise the error about this value."""
        raise MessageError(self.name or _WHOLE, what)

    def _must_be(self, wanted: str) -> NoReturn:
        self.fail(f"must be {wanted}, not {shown(self._value)}")

    def keys(self) -> frozenset[str]:
        """The names of an object's members."""
        if type(self._value) is not dict:
            self._must_be("an object")
        return frozenset(self._value)

    def members(self, *names: str) -> list[Value]:
        """The members of an object that has exactly these."""
        value = self._value
        if type(value) is not dict or value.keys() != set(names):
            keys = self.keys()
            for name in names:
                if name not in keys:
                    self.fail(f"has no member {name!r}")
            for key in keys.difference(names):
                self.fail(f"has an unknown member {shown(key)}")
        return [Value(value[name], self, name) for name in names]

    def items(self, most: int) -> list[Value]:
        """The items of a list that has no more than `most`."""
        if type(self._value) is not list:
            self._must_be("a list")
        if len(self._value) > most:
            self.fail(f"has {len(self._value)} items, but at most {most} are allowed")
        return [Value(item, self, index) for index, item in enumerate(self._value)]

    def optional(self) -> Value | None:
        """None for null."""
        return None if self._value is None else self

    def whole(self, low: int = _INT64[0], high: int = _INT64[1]) -> int:
        """A whole number in a range, ends included."""
        value = self._value
        if type(value) is not int or not low <= value <= high:
            self._must_be(f"a whole number from {low} to {high}")
        return value

    def flag(self) -> bool:
        """True or false."""
        if type(self._value) is not bool:
            self._must_be("true or false")
        return self._value

    def text(self, longest: int = _MAX_TEXT) -> str:
        """A text of at most `longest` characters."""
        value = self._value
        if type(value) is not str or len(value) > longest or not _encodable(value):
            self._must_be(f"a text of up to {longest} characters")
        return value

    def number(self) -> float:
        """A finite number."""
        value = self._value
        if type(value) is int and _INT64[0] <= value <= _INT64[1]:
            value = float(value)
        if type(value) is not float or not math.isfinite(value):
            self._must_be("a finite number")
        return value

    def limited(self) -> Any:
        """Any value that a message can carry, without what marks stand for."""
        return _limited(self._value, self.name, 0, sent=False)

    def entries(self) -> dict[str, Any]:
        """An object of any values that a message can carry, as the sender had them."""
        self.keys()
        found = restored(_limited(self._value, self.name, 0, sent=False), self.name)
        if not isinstance(found, dict):
            self.fail("must be an object of entries, not one value")
        return found


def encoded(value: Any) -> bytes:
    """The JSON text of plain data, in UTF-8."""
    return _encoder.encode(value).encode()


def parse(body: bytes) -> Value:
    """The value of a JSON text in UTF-8.

    Raises:
        MessageError: it is not JSON, repeats a name in an object, or is nested too deep.
    """
    try:
        value = _decoder.decode(body.decode())
    except MessageError:
        raise
    except (ValueError, RecursionError) as error:
        raise MessageError(_WHOLE, f"is not valid JSON: {error}") from None
    return Value(value)


def plain(value: Any, name: str) -> Any:
    """The value as JSON has it: None, bool, int, float, str, list, or dict with texts for keys.

    Fractions, bytes and tuples are marked (see `marked`).

    Raises:
        MessageError: it is, or holds, something else.
    """
    return _limited(value, name, 0, sent=True)


def _limited(value: Any, name: str, depth: int, *, sent: bool) -> Any:
    """The value, checked; what is to be sent is marked, and marks count as levels."""
    if depth > _MAX_DEPTH:
        raise MessageError(name, f"is nested deeper than {_MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _INT64[0] <= value <= _INT64[1]:
            raise MessageError(name, "is an integer of more than 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise MessageError(name, f"is {value}: JSON has only finite numbers")
        return float(value)
    if isinstance(value, str):
        if not _encodable(value):
            raise MessageError(name, "contains half a surrogate pair")
        return str(value)
    if isinstance(value, list) or (isinstance(value, tuple) and sent):
        inner = depth + (1 if isinstance(value, list) else 2)
        items = [_limited(item, f"{name}[{i}]", inner, sent=sent) for i, item in enumerate(value)]
        return items if isinstance(value, list) else marked(tuple(items))
    if isinstance(value, dict):
        inner = depth + (2 if sent and mark_of(value) else 1)
        entries = {
            _key(key, name): _limited(item, f"{name}[{shown(key)}]", inner, sent=sent)
            for key, item in value.items()
        }
        return marked(entries) if sent else entries
    if isinstance(value, Fraction) and sent:
        for part in (value.numerator, value.denominator):
            _limited(part, name, depth + 2, sent=sent)
        return marked(value)
    if isinstance(value, bytes) and sent:
        return marked(value)
    kind = type(value)
    raise MessageError(
        name,
        f"is a {kind.__module__}.{kind.__qualname__}, and messages carry None, bool, int, float, "
        "Fraction, str, bytes, list, tuple and dict: pass tolist() of numpy's values, and tensors "
        "as InferenceResult entries",
    )


def _key(key: object, name: str) -> str:
    if not isinstance(key, str) or not _encodable(key):
        raise MessageError(name, f"has a key {shown(key)}, but keys must be strings")
    return str(key)


def _encodable(text: str) -> bool:
    # JSON's \ud800 stands for no character, and later users of the text would stumble over it.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MessageError(_WHOLE, "repeats a key")
    return found


def _no_number(text: str) -> NoReturn:
    raise MessageError(_WHOLE, f"has the number {text}: JSON has only finite numbers")


# Made once: json.dumps() and json.loads() would make one for each message.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
