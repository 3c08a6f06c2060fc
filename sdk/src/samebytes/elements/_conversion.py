# SPDX-License-Identifier: Apache-2.0
"""Values and the types that annotations declare: conversion, limits, and both in words."""

from __future__ import annotations

import collections.abc
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

__all__ = ["NOT_ONE", "Choices", "Range", "check_range", "converted", "parsed", "spelt"]

NOT_ONE = (TypeError, ValueError, ArithmeticError)
"""The errors that converting a wrong value raises; infinity and "1/0" raise the last one."""

_FINEST = 1_000_000
"""The denominator that a float's fraction has at most: 29.97 is 2997/100, and 1 / 3 is 1/3."""


@dataclass(frozen=True)
class Range:
    """The numbers that a parameter can be.

    Attributes:
        minimum, maximum: the ends, which are included; None where there is no end.
    """

    minimum: float | None = None
    maximum: float | None = None

    def __str__(self) -> str:
        if self.minimum is None or self.maximum is None:
            return f">= {self.minimum}" if self.maximum is None else f"<= {self.maximum}"
        return f"{self.minimum} to {self.maximum}"


@dataclass(frozen=True, init=False)
class Choices:
    """The values that a parameter can be."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.values))


def spelt(kind: Any) -> str:
    """A type in words."""
    if kind is Any:
        return "anything"
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("None" if part is type(None) else spelt(part) for part in get_args(kind))
    if origin is Annotated:
        inner, *notes = get_args(kind)
        limits = [str(note) for note in notes if isinstance(note, Range | Choices)]
        return ", ".join([spelt(inner), *limits])
    if origin is Literal:
        return str(Choices(*get_args(kind)))
    if isinstance(kind, type) and origin is None:
        names = {str: "a str", int: "an int", float: "a number", bool: "True or False"}
        return names.get(kind, f"a {kind.__name__}")
    return str(kind).replace("typing.", "").replace("collections.abc.", "")


def converted(value: Any, kind: Any) -> Any:
    """The value as `kind`; raises one of NOT_ONE if it is none."""
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin is Annotated:
        return _annotated(value, kind)
    if origin is Literal:
        if value not in get_args(kind):
            raise ValueError(value)
        return value
    if origin in (Union, types.UnionType):
        return _one_of(value, get_args(kind))
    if kind is type(None) or kind is None:
        return _instance(value, type(None))
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple(value)
    if origin in (list, tuple, collections.abc.Sequence):
        return _items(value, origin, get_args(kind))
    if origin in (dict, collections.abc.Mapping):
        return _entries(value, origin, get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        return kind[value] if value in kind.__members__ else kind(value)
    wanted = origin or kind
    return _instance(value, wanted) if isinstance(wanted, type) else value


def _annotated(value: Any, kind: Any) -> Any:
    """The value as a union's member with notes of its own: `Annotated[int, Range(1, 9)] | None`."""
    inner, *notes = get_args(kind)
    found = converted(value, inner)
    for note in notes:
        if isinstance(note, Range):
            check_range(found, note)
        if isinstance(note, Choices) and found not in note.values:
            raise ValueError(value)
    return found


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    # A type that the value has already comes before those that it could become.
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    for kind in kinds:
        try:
            return converted(value, kind)
        except NOT_ONE:
            continue
    raise TypeError(value)


def _items(value: Any, origin: Any, kinds: tuple[Any, ...]) -> Any:
    if isinstance(value, str | bytes) or not isinstance(value, collections.abc.Iterable):
        raise TypeError(value)
    items = list(value)
    if origin is tuple and kinds and kinds[-1] is not Ellipsis:
        if len(items) != len(kinds):
            raise ValueError(value)
        return tuple(map(converted, items, kinds))
    kind, wanted = kinds[0] if kinds else Any, tuple if origin is tuple else list
    made = wanted(converted(item, kind) for item in items)
    # The user's own list, if nothing in it had to change: items added to it later are seen.
    same = isinstance(value, wanted) and all(map(operator.is_, made, value))
    return value if same else made


def _entries(value: Any, origin: Any, kinds: tuple[Any, ...]) -> Any:
    found = _instance(value, origin)
    for key, one in found.items():
        if converted(key, kinds[0]) is not key or converted(one, kinds[1]) is not one:
            raise TypeError(one)
    return found


def _instance(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(value)
    return operator.index(value)  # numpy's too


def _number(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise TypeError(value)
    number = float(value)
    if number != number:  # NaN is in no range
        raise ValueError(value)
    return number


def _path(value: Any) -> Path:
    return Path(_instance(value, str | Path))  # type: ignore[arg-type]  # isinstance takes unions


def _fraction(value: Any) -> Fraction:
    if isinstance(value, bool):
        raise TypeError(value)
    if isinstance(value, str | Decimal | Rational) and not hasattr(value, "__index__"):
        return Fraction(value)
    try:
        return Fraction(operator.index(value))  # numpy's too
    except TypeError:
        return Fraction(float(value)).limit_denominator(_FINEST)


_SIMPLE: Mapping[Any, Callable[[Any], Any]] = {
    bool: lambda value: _instance(value, bool),
    int: _integer,
    float: _number,
    str: lambda value: _instance(value, str),
    Path: _path,
    Fraction: _fraction,
}


def check_range(value: Any, limits: Range) -> None:
    """Raise ValueError if a number, or one of several, is out of range."""
    for number in value if isinstance(value, list | tuple) else (value,):
        if limits.minimum is not None and number < limits.minimum:
            raise ValueError(value)
        if limits.maximum is not None and number > limits.maximum:
            raise ValueError(value)


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def parsed(text: str, kind: Any, choices: tuple[Any, ...] | None) -> Any:
    """The value of type `kind` that a text spells; raises one of NOT_ONE if it spells none."""
    if choices is not None:
        return next(choice for choice in (*choices, text) if str(choice) == text)
    if get_origin(kind) is Annotated:
        return parsed(text, get_args(kind)[0], None)
    if get_origin(kind) is Literal:
        return parsed(text, str, get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        kinds = get_args(kind)
        if type(None) in kinds and text.lower() in ("", "none"):
            return None
        for one in kinds:
            try:
                return parsed(text, one, None)
            except NOT_ONE:
                continue
        raise ValueError(text)
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    if get_origin(kind) in (list, tuple, collections.abc.Sequence):
        inner = [one for one in get_args(kind) if one is not Ellipsis] or [str]
        parts = [part.strip() for part in text.split(",")] if text else []
        return [parsed(p, inner[min(n, len(inner) - 1)], None) for n, p in enumerate(parts)]
    return kind(text) if kind in (int, float, Fraction) else text
