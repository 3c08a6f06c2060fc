# SPDX-License-Identifier: Apache-2.0
"""The tests of the name and the parameters of an element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

import samebytes.elements as el
from samebytes.elements import Element, Parameter
from samebytes.errors import ParameterError

__all__ = ["ParameterChecks"]


class ParameterChecks:
    """Tests of the name and the parameters. Inherit ElementSuite instead."""

    element: ClassVar[str]
    parameters: ClassVar[Mapping[str, Any]] = {}

    def make(self) -> Element:
        """A new element. Override it if each element needs something of its own, such as a file."""
        return el.create(self.element, **self.parameters)

    def test_created_by_name(self) -> None:
        """create() makes the element by its name, and lists can describe it."""
        cls = el.element_class(self.element)
        spec = el.available()[self.element]
        assert spec.summary, "ElementSpec.summary is empty: lists have nothing to say of it"
        assert (cls.__doc__ or "").strip(), f"{cls.__name__} has no docstring"
        made = self.make()
        assert type(made) is cls
        assert made.name == self.element
        assert cls.__name__ in repr(made)

    def test_parameters_are_described(self) -> None:
        """Every parameter has a description, and its default is a valid value."""
        for name, parameter in self._declared().items():
            assert parameter.description, (
                f'{name} has no description: Annotated[..., el.Doc("what it means")]'
            )
            if not parameter.required and parameter.default is not None:
                parameter.check(self.element, parameter.default)

    def test_wrong_parameters_are_refused(self) -> None:
        """Rule 5: a value of another type or out of range is refused, with the parameter's name."""
        for name, parameter in self._declared().items():
            for value in wrong_values(parameter, getattr(self.make(), name)):
                self._refuses(name, value)

    def test_unknown_parameters_are_refused(self) -> None:
        """Rule 5: an unknown parameter is refused by name, and so is a missing one.

        Parameters without a default are in `parameters` of the suite, or `make` passes them.
        """
        self._refuses("no_such_parameter", 1)
        for name, parameter in self._declared().items():
            if parameter.required:
                others = {n: value for n, value in self.make().parameters.items() if n != name}
                with pytest.raises(ParameterError) as caught:
                    el.create(self.element, **others)
                assert caught.value.parameter == name

    def _declared(self) -> Mapping[str, Parameter]:
        return el.element_class(self.element).declared_parameters()

    def _refuses(self, name: str, value: object) -> None:
        good = {key: found for key, found in self.make().parameters.items() if key != name}
        with pytest.raises(ParameterError) as caught:
            el.create(self.element, **good, **{name: value})
        assert (caught.value.element, caught.value.parameter) == (self.element, name)


def wrong_values(parameter: Parameter, like: Any) -> Iterator[object]:
    """Values that a parameter cannot have.

    Args:
        like: a valid value. If it is a sequence of numbers, the wrong value is one too, with
            every number out of range.
    """
    if parameter.type is not Any and parameter.type is not object:
        yield _Nothing()
    if parameter.choices is not None:
        yield _Nothing()
    limits = parameter.range
    for limit, step in () if limits is None else ((limits.minimum, -1), (limits.maximum, 1)):
        if limit is None:
            continue
        beyond = limit + step
        several = isinstance(like, list | tuple)
        yield type(like)(beyond for _ in like or (0,)) if several else beyond


class _Nothing:
    """A value of a type that no parameter has."""

    def __repr__(self) -> str:
        return "an object of another type"
