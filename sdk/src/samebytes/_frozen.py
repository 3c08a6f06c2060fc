# SPDX-License-Identifier: Apache-2.0
"""Frozen dataclasses that are quickly made.

`dataclass(frozen=True)` compiles six methods for each class, half a millisecond, and most programs
call none of them but `__init__`, of some of the classes. Here they are closures, and `__init__` is
compiled when the first instance is made. Whoever uses such a class sees a frozen dataclass.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

__all__ = ["frozen"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(
    *, kw_only: bool = False, eq: bool = True, repr: bool = True
) -> Callable[[type[T]], type[T]]:
    """A decorator that does what `dataclass(frozen=True, slots=True)` does, in a tenth of the time.

    A method that the class has itself stays. A class without a docstring is refused, since
    dataclass() would write one, and compile `__init__` for it.

    Args:
        kw_only, eq, repr: as `dataclass` takes them.
    """

    def decorate(plain: type[T]) -> type[T]:
        assert plain.__doc__, f"{plain.__qualname__} has no docstring"
        own = plain.__dict__.keys()
        made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(plain)
        methods = _methods(made)
        wanted = {"__setattr__", "__delattr__", "__getstate__", "__setstate__", "__init__"}
        if repr:
            wanted.add("__repr__")
        if eq:
            wanted |= {"__eq__", "__hash__"}
        for name in wanted - own:
            setattr(made, name, methods[name])
        # dataclass() refuses to make a frozen class of one that is not, and the other way.
        made.__dataclass_params__.frozen = True  # type: ignore[attr-defined]
        return made

    return decorate


def _methods(cls: type[Any]) -> dict[str, Any]:
    all_fields = fields(cls)
    names = [f.name for f in all_fields]
    printed = [f.name for f in all_fields if f.repr]
    compared = _getter([f.name for f in all_fields if f.compare])
    identity = _getter([f.name for f in all_fields if (f.compare if f.hash is None else f.hash)])

    def refuse(self: Any, name: str, verb: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def assign(self: Any, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)

    def shown(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in printed)
        return f"{type(self).__qualname__}({values})"

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    def hashed(self: Any) -> int:
        return hash(identity(self))

    def state(self: Any) -> list[object]:
        return [getattr(self, f.name) for f in fields(self)]

    def set_state(self: Any, values: list[object]) -> None:
        for f, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, f.name, value)

    methods: dict[str, Any] = {
        "__setattr__": assign,
        "__delattr__": delete,
        "__repr__": shown,
        "__eq__": equal,
        "__hash__": hashed,
        "__getstate__": state,
        "__setstate__": set_state,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        method.__module__ = cls.__module__
    return {**methods, "__init__": _Init(cls)}


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


class _Factory:
    """The default of a parameter whose value is made for each instance, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


class _Init:
    """An `__init__` that is compiled when it is first asked for, and takes the place of this."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        init = _compile_init(self._cls)
        setattr(self._cls, "__init__", init)  # noqa: B010 - mypy lets no method be assigned
        return init if instance is None else init.__get__(instance)


def _compile_init(cls: type[Any]) -> Any:
    """The `__init__` of a dataclass, which sets attributes that cannot be assigned to."""
    known: dict[str, Any] = {"set_attribute": object.__setattr__, "FACTORY": _Factory()}
    parameters, lines = ["self"], []
    keywords: list[str] = []
    for f in fields(cls):
        default, value = "", f.name
        if f.default_factory is not MISSING:
            known[f"make_{f.name}"] = f.default_factory
            default = "=FACTORY"
            value = f"make_{f.name}()" + (
                f" if {f.name} is FACTORY else {f.name}" if f.init else ""
            )
        elif f.default is not MISSING:
            known[f"default_{f.name}"] = f.default
            default = f"=default_{f.name}"
            value = f.name if f.init else f"default_{f.name}"
        elif not f.init:
            continue
        if f.init:
            (keywords if f.kw_only else parameters).append(f.name + default)
        lines.append(f"set_attribute(self, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    if keywords:
        parameters += ["*", *keywords]
    body = "\n  ".join(lines or ["pass"])
    source = (
        f"def make({', '.join(known)}):\n"
        f" def __init__({', '.join(parameters)}):\n  {body}\n"
        " return __init__"
    )
    made: dict[str, Any] = {}
    # As dataclass() does it, and of nothing but names of fields.
    exec(source, vars(sys.modules[cls.__module__]), made)
    init = made["make"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**{f.name: f.type for f in fields(cls) if f.init}, "return": None}
    return init
