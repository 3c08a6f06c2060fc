# SPDX-License-Identifier: Apache-2.0
"""The rules for what the specs name: every "module:Class" leads to one of the right kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..._core.context import Context
from ..._core.frame import Frame
from ..._core.mapper import MemoryMapper
from ..._core.tensor import Tensor
from ..._plugins.loading import call, load, load_class
from ..._plugins.specs import ContextSpec, MapperSpec, NativeSpec
from ..._plugins.tables import PluginRecord
from .reporting import BrokenRule, NotChecked, Report

__all__ = ["check"]


def check(report: Report, record: PluginRecord) -> None:
    """Load every class and function that the specs of a plugin name."""
    for native in record.declared.natives:
        _native(report, native, record.name)
    for context in record.declared.contexts:
        _context(report, context, record.name)
    for mapper in record.declared.mappers:
        _mapper(report, mapper, record.name)


def _native(report: Report, spec: NativeSpec, plugin: str) -> None:
    base: type[Any] = Frame if spec.level == "frame" else Tensor
    with report.rule(
        "a native type is wrapped by a class of its level", spec.wraps,
        f"a subclass of {base.__name__} with a classmethod wrap(native)",
    ):  # fmt: skip
        cls = load_class(spec.wraps, plugin, base)
        _overrides(cls, base, "wrap")
    with report.rule(
        "a native type is spelt as it spells itself", spec.native,
        "native is the type's __module__ and __qualname__, which may differ from the name by which "
        "it is imported",
    ):  # fmt: skip
        module, _, name = spec.native.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            # A type of an extension module may have a name that leads nowhere.
            raise NotChecked(f"{spec.native} cannot be imported by that name: {error}") from error
        real = f"{found.__module__}.{found.__qualname__}"
        if real != spec.native:
            raise BrokenRule(f"the type calls itself {real}")


def _context(report: Report, spec: ContextSpec, plugin: str) -> None:
    with report.rule(
        "a context is of the class that its node says", spec.context,
        f"a subclass of Context with node = {spec.node!r} and "
        f"memory_type = {spec.node.partition(':')[0]!r}",
    ):  # fmt: skip
        cls = load_class(spec.context, plugin, Context)
        said = getattr(cls, "node", None), getattr(cls, "memory_type", None)
        if said != (spec.node, spec.node.partition(":")[0]):
            raise BrokenRule(f"its node is {said[0]!r} and its memory type {said[1]!r}")
        if not cls.singleton:
            _overrides(cls, Context, "create")
    if spec.devices is not None:
        with report.rule(
            "the devices can be listed", spec.devices,
            'a function without arguments that returns names such as ("GPU.0", "GPU.1")',
        ):  # fmt: skip
            names = tuple(call(load(spec.devices, plugin), plugin))
            if not all(isinstance(name, str) for name in names):
                raise BrokenRule(f"it returned {names!r}")
            report.note(", ".join(names) or "there are none here")


def _mapper(report: Report, spec: MapperSpec, plugin: str) -> None:
    with report.rule(
        "an edge has a mapper that connects", f"{spec.name}, {spec.mapper}",
        "a subclass of MemoryMapper with connect(self, item, access) and __slots__ = ()",
    ):  # fmt: skip
        cls = load_class(spec.mapper, plugin, MemoryMapper)
        _overrides(cls, MemoryMapper, "connect")
        if cls.__slots__ is MemoryMapper.__slots__:
            raise BrokenRule(f"{cls.__name__} has no __slots__ of its own: each one has a __dict__")
        if not spec.summary:
            raise BrokenRule("its summary is empty: `samebytes route` has nothing to say of it")


def _overrides(cls: type, base: type, name: str) -> None:
    def function(of: type) -> Callable[..., Any]:
        found = getattr(of, name)
        plain: Callable[..., Any] = getattr(found, "__func__", found)
        return plain

    if function(cls) is function(base):
        raise BrokenRule(f"{cls.__name__} has no {name}()")
