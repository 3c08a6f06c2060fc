# SPDX-License-Identifier: Apache-2.0
"""Typed parameters of elements: what their annotations say, and checking values against it."""

from __future__ import annotations

import collections.abc
import inspect
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParameterError

__all__ = ["MISSING", "Choices", "Doc", "Parameter", "Range", "of_class", "of_function"]

MISSING: Any = inspect.Parameter.empty
"""The default of a parameter that has none."""


@dataclass(frozen=True)
class Range:
    """The numbers that a parameter can be, both ends included; None where there is no end."""

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


@dataclass(frozen=True)
class Doc:
    """What a parameter means, in a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an element, as its annotation declares it.

        radius: Annotated[int, el.Range(1, 31), el.Doc("in pixels")] = 5

    Attributes:
        name: as it is written in Python.
        type: what follows the colon, without the notes of Annotated.
        default: MISSING where there is none.
        description: in a sentence, or "".
        range: of a number, or None.
        choices: the values that it can be, or None where there is no list.
    """

    name: str
    type: Any
    default: Any = MISSING
    description: str = ""
    range: Range | None = None
    choices: tuple[Any, ...] | None = None

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        if self.choices is not None:
            return str(Choices(*self.choices))
        text = _spelt(self.type)
        return text if self.range is None else f"{text}, {self.range}"

    def check(self, element: str, value: Any) -> Any:
        """The value as the parameter's type: a str becomes a Path, an int a float.

        Args:
            element: whose parameter it is, for the error.

        Raises:
            ParameterError: it is of another type, out of range or none of the choices.
        """
        try:
            found = _converted(value, self.type)
            if self.range is not None and found is not None:
                _check_range(found, self.range)
        except (TypeError, ValueError):
            raise ParameterError(element, self.name, value, self.expected) from None
        if self.choices is not None and found not in self.choices:
            raise ParameterError(element, self.name, value, self.expected)
        return found

    def parse(self, element: str, text: str) -> Any:
        """The value that a text says, as on a command line.

        Raises:
            ParameterError: it says none.
        """
        try:
            value = _parsed(text, self.type, self.choices)
        except (TypeError, ValueError):
            raise ParameterError(element, self.name, text, self.expected) from None
        return self.check(element, value)


def of_class(cls: type, base: type) -> dict[str, Parameter]:
    """The parameters that a class and its bases below `base` annotate, in their order.

    Raises:
        TypeError: an annotation names what is not there.
    """
    hints = _hints(cls)
    own = [name for name in inspect.get_annotations(cls) if get_origin(hints[name]) is not ClassVar]
    reserved = {"name", "takes", "gives"}.intersection(own)
    if reserved and cls.__module__ != base.__module__:
        raise TypeError(
            f"{cls.__qualname__}: no parameter can be called {min(reserved)!r}: rename it"
        )
    names = [
        name
        for part in reversed(cls.__mro__)
        if issubclass(part, base) and part is not base
        for name in inspect.get_annotations(part)
        if not name.startswith("_") and get_origin(hints[name]) is not ClassVar
    ]
    return {
        name: _parameter(name, hints[name], getattr(cls, name, MISSING))
        for name in dict.fromkeys(names)
    }


def of_function(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The keyword-only parameters of a function.

    Raises:
        TypeError: an annotation names what is not there, or a parameter takes any keyword.
    """
    hints = _hints(function)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise TypeError(
                f"{function.__qualname__}(): **{name} has no types: name each parameter"
            )
        if parameter.kind is parameter.KEYWORD_ONLY:
            found[name] = _parameter(name, hints.get(name, Any), parameter.default)
    return found


def _hints(annotated: Any) -> dict[str, Any]:
    try:
        return get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{annotated.__qualname__}: an annotation names {error.name!r}, which is not there; "
            "elements need their annotations when they run: import it outside of TYPE_CHECKING, "
            "and at the top of the module"
        ) from None


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    notes: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        notes = tuple(rest)
    texts = [note.text if isinstance(note, Doc) else note for note in notes
             if isinstance(note, Doc | str)]  # fmt: skip
    choices = [note.values for note in notes if isinstance(note, Choices)]
    if get_origin(annotation) is Literal:
        choices.append(get_args(annotation))
    return Parameter(
        name, annotation, default,
        description=" ".join(texts),
        range=next((note for note in notes if isinstance(note, Range)), None),
        choices=choices[0] if choices else None,
    )  # fmt: skip


def _spelt(kind: Any) -> str:
    if kind is Any:
        return "anything"
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(
            "None" if part is type(None) else _spelt(part) for part in get_args(kind)
        )
    if origin is Annotated:
        inner, *notes = get_args(kind)
        limits = [str(note) for note in notes if isinstance(note, Range | Choices)]
        return ", ".join([_spelt(inner), *limits])
    if origin is Literal:
        return str(Choices(*get_args(kind)))
    if isinstance(kind, type) and origin is None:
        names = {str: "a str", int: "an int", float: "a number", bool: "True or False"}
        return names.get(kind, f"a {kind.__name__}")
    return str(kind).replace("typing.", "").replace("collections.abc.", "")


def _converted(value: Any, kind: Any) -> Any:
    """The value as `kind`; raises TypeError or ValueError where it is not one."""
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
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        return kind[value] if value in kind.__members__ else kind(value)
    wanted = origin or kind
    return _instance(value, wanted) if isinstance(wanted, type) else value


def _annotated(value: Any, kind: Any) -> Any:
    """A part of a union that has notes of its own: `Annotated[int, Range(1, 9)] | None`."""
    inner, *notes = get_args(kind)
    found = _converted(value, inner)
    for note in notes:
        if isinstance(note, Range):
            _check_range(found, note)
        if isinstance(note, Choices) and found not in note.values:
            raise ValueError(value)
    return found


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    # What it is already comes before what it could become.
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    for kind in kinds:
        try:
            return _converted(value, kind)
        except (TypeError, ValueError):
            continue
    raise TypeError(value)


def _items(value: Any, origin: Any, kinds: tuple[Any, ...]) -> Any:
    if isinstance(value, str | bytes) or not isinstance(value, collections.abc.Iterable):
        raise TypeError(value)
    items = list(value)
    if origin is tuple and kinds and kinds[-1] is not Ellipsis:
        if len(items) != len(kinds):
            raise ValueError(value)
        return tuple(map(_converted, items, kinds))
    kind, wanted = kinds[0] if kinds else Any, tuple if origin is tuple else list
    made = wanted(_converted(item, kind) for item in items)
    # The user's own list, if nothing in it had to change: what is added to it later is seen.
    same = isinstance(value, wanted) and all(map(operator.is_, made, value))
    return value if same else made


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
    return Fraction(value)


_SIMPLE: Mapping[Any, Callable[[Any], Any]] = {
    bool: lambda value: _instance(value, bool),
    int: _integer,
    float: _number,
    str: lambda value: _instance(value, str),
    Path: _path,
    Fraction: _fraction,
}


def _check_range(value: Any, limits: Range) -> None:
    for number in value if isinstance(value, list | tuple) else (value,):
        if limits.minimum is not None and number < limits.minimum:
            raise ValueError(value)
        if limits.maximum is not None and number > limits.maximum:
            raise ValueError(value)


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _parsed(text: str, kind: Any, choices: tuple[Any, ...] | None) -> Any:
    if choices is not None:
        return next(choice for choice in (*choices, text) if str(choice) == text)
    if get_origin(kind) is Annotated:
        return _parsed(text, get_args(kind)[0], None)
    if get_origin(kind) is Literal:
        return _parsed(text, str, get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        kinds = get_args(kind)
        if type(None) in kinds and text.lower() in ("", "none"):
            return None
        for one in kinds:
            try:
                return _parsed(text, one, None)
            except (TypeError, ValueError):
                continue
        raise ValueError(text)
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    if get_origin(kind) in (list, tuple, collections.abc.Sequence):
        inner = [one for one in get_args(kind) if one is not Ellipsis] or [str]
        parts = [part.strip() for part in text.split(",")] if text else []
        return [_parsed(p, inner[min(n, len(inner) - 1)], None) for n, p in enumerate(parts)]
    return kind(text) if kind in (int, float, Fraction) else text
