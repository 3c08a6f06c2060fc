# SPDX-License-Identifier: Apache-2.0
"""Typed parameters of elements, as their annotations declare them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from .._numbers import counted
from ..errors import ParameterError
from ._conversion import NOT_ONE, Choices, Range, check_range, converted, parsed, spelt

__all__ = [
    "MISSING",
    "Doc",
    "Parameter",
    "by_name",
    "equal",
    "missing",
    "nearest",
    "of_class",
    "of_function",
]

MISSING: Any = inspect.Parameter.empty
"""The default of a parameter that has none."""


@dataclass(frozen=True)
class Doc:
    """The description of a parameter.

    Attributes:
        text: a sentence.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an element, as its annotation declares it.

        radius: Annotated[int, el.Range(1, 31), el.Doc("in pixels")] = 5

    Attributes:
        name: its name in Python.
        type: the type after the colon, without the notes of Annotated.
        default: the default; MISSING if there is none.
        description: a sentence, or "".
        range: the limits of a number, or None.
        choices: the values that it can be, or None if there is no list.
    """

    name: str
    type: Any
    default: Any = MISSING
    description: str = ""
    range: Range | None = None
    choices: tuple[Any, ...] | None = None

    @property
    def required(self) -> bool:
        """True if it has no default."""
        return self.default is MISSING

    @property
    def expected(self) -> str:
        """The values that are accepted, in words."""
        if self.choices is not None:
            return str(Choices(*self.choices))
        text = spelt(self.type)
        return text if self.range is None else f"{text}, {self.range}"

    def check(self, element: str, value: Any) -> Any:
        """The value as the parameter's type: a str becomes a Path, an int a float.

        Args:
            value: the value that was given.
            element: the name of its element, for the error.

        Raises:
            ParameterError: it is of another type, out of range or none of the choices.
        """
        try:
            found = converted(value, self.type)
            if self.range is not None and found is not None:
                check_range(found, self.range)
            if self.choices is not None and found not in self.choices:
                raise ValueError(value)
            return found
        except NOT_ONE:
            pass  # its error shows the value as it was written, with secrets
        raise ParameterError(element, self.name, value, self._expected(value))

    def _expected(self, value: Any) -> str:
        """The accepted values, with the choice that a misspelt value probably meant."""
        near = nearest(value, [choice for choice in self.choices or () if isinstance(choice, str)])
        return f"{self.expected} (did you mean {near!r}?)" if near else self.expected

    def parse(self, element: str, text: str) -> Any:
        """The value that a text spells, as on a command line.

        Args:
            element: the name of its element, for the error.
            text: the text.

        Raises:
            ParameterError: it spells no value of the parameter.
        """
        try:
            value = parsed(text, self.type, self.choices)
        except NOT_ONE:
            value = NOT_ONE
        if value is NOT_ONE:
            raise ParameterError(element, self.name, text, self._expected(text))
        return self.check(element, value)


def missing(element: str, parameter: Parameter) -> ParameterError:
    """The error for a parameter of that element that has no default and was not given."""
    return ParameterError(
        element, parameter.name, None, parameter.expected,
        says=f"parameter {parameter.name!r} is missing: it must be {parameter.expected}",
    )  # fmt: skip


def equal(value: Any, default: Any) -> bool:
    """True if a value equals the default. Arrays, which compare element by element, never do."""
    try:
        return value is default or bool(value == default)
    except Exception:  # the == of a user's class may raise anything
        return False


def nearest(word: Any, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one was probably meant to be, or None."""
    if not isinstance(word, str):
        return None
    from difflib import get_close_matches  # only errors need it

    return next(iter(get_close_matches(word, known, n=1)), None)


def by_name(
    element: str,
    known: Mapping[str, Parameter],
    values: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[str, Any]:
    """The arguments of a constructor, all of them by name.

    Args:
        element: the name of the element, for the error.
        known: its parameters.
        values: the positional arguments.
        named: the keyword arguments.

    Raises:
        ParameterError: there are too many values, or a name is unknown or given twice.
    """
    names = ", ".join(known)
    if len(values) > len(known):
        raise ParameterError(
            element, "", values, f"at most {counted(len(known), 'value')}",
            says=f"too many values: {len(values)} for {counted(len(known), 'parameter')} "
            f"({names or 'none'})",
        )  # fmt: skip
    found = dict(zip(known, values, strict=False))
    for name, value in named.items():
        if name in found:
            raise ParameterError(
                element, name, value, known[name].expected,
                says=f"parameter {name!r} was passed twice: by position and by name",
            )  # fmt: skip
        if name not in known:
            near = nearest(name, known)
            meant = f"did you mean {near!r}? " if near else ""
            raise ParameterError(
                element, name, value, f"one of {names}" if names else "none",
                says=f"it has no parameter {name!r}: {meant}it has {names or 'none'}",
            )  # fmt: skip
        found[name] = value
    return found


def of_class(cls: type, base: type) -> dict[str, Parameter]:
    """The parameters that a class and its bases below `base` annotate, in their order.

    Raises:
        TypeError: an annotation names something that does not exist.
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
        TypeError: an annotation names something that does not exist, or a parameter takes any
            keyword.
    """
    annotated = _with_annotations(function)
    hints = _hints(annotated)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise TypeError(
                f"{annotated.__qualname__}(): **{name} has no types: name each parameter"
            )
        if parameter.kind is parameter.KEYWORD_ONLY:
            found[name] = _parameter(name, hints.get(name, Any), parameter.default)
    return found


def _with_annotations(function: Any) -> Any:
    """The function itself, or the one that a functools.partial or another object calls."""
    if isinstance(function, partial):
        return _with_annotations(function.func)
    plain = inspect.isroutine(function) or inspect.isclass(function)
    return function if plain else type(function).__call__


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
