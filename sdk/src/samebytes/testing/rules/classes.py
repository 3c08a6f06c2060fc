# SPDX-License-Identifier: Apache-2.0
"""The classes that specs name: every "module:Class" leads to a class of the right kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from ..._core.edges.context import Context
from ..._core.edges.edge import MapperSpec
from ..._core.edges.mapper import MemoryMapper
from ..._core.memory.frame import Frame
from ..._core.memory.tensor import Tensor
from ..._plugins.loading import call, load, load_class
from ..._plugins.native_names import misspelt, without_importing
from ..._plugins.requirements import parse_requirement
from ..._plugins.specs import ContextSpec, ElementSpec, NativeSpec
from ...elements import Element, Sink, Source, Transform, TransformInplace
from .book import BrokenRule, NotChecked, rule

__all__ = [
    "context_class", "devices_are_listed", "edge_requires", "element_class", "mapper_class",
    "native_spelling", "native_wrapper",
]  # fmt: skip


_KINDS = (Source, TransformInplace, Transform, Sink)


@rule(
    "6.7",
    "a native type is wrapped by a class of its level",
    means="samebytes.tensor() or frame() of such an object fails",
    do="NativeSpec.wraps names a subclass of Tensor, or for frames of Frame, with a classmethod "
    "wrap(native)",
)
def native_wrapper(spec: NativeSpec, plugin: str) -> None:
    """Load the class that wraps a native type."""
    base: type[Any] = Frame if spec.level == "frame" else Tensor
    _overrides(load_class(spec.wraps, plugin, base), base, "wrap")


@rule(
    "6.8",
    "a native type is spelt as it spells itself",
    means="samebytes does not know the framework's objects",
    do="native is the type's __module__ and __qualname__, which may differ from the name by which "
    "it is imported",
)
def native_spelling(spec: NativeSpec) -> None:
    """Find the type.

    Raises:
        NotChecked: a type of an extension module may have a name that leads nowhere.
    """
    wrong = without_importing(spec.native)
    if wrong is not None:
        raise BrokenRule(wrong)
    module, _, name = spec.native.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise NotChecked(f"{spec.native} cannot be imported by that name: {error}") from error
    wrong = misspelt(spec.native, found)
    if wrong is not None:
        raise BrokenRule(wrong)


@rule(
    "6.9",
    "a context has the class that its node declares",
    means="samebytes.context() of that name fails, or gives a context of another memory type",
    do="ContextSpec.context names a subclass of Context with node = that of the spec, memory_type "
    "= its part before the colon, and, unless it is a singleton, create()",
)
def context_class(spec: ContextSpec, plugin: str) -> None:
    """Load the class of a context."""
    cls = load_class(spec.context, plugin, Context)
    said = getattr(cls, "node", None), getattr(cls, "memory_type", None)
    if said != (spec.node, spec.node.partition(":")[0]):
        raise BrokenRule(f"its node is {said[0]!r} and its memory type {said[1]!r}")
    if not cls.singleton:
        _overrides(cls, Context, "create")


@rule(
    "6.10",
    "the devices can be listed",
    means="no context of this node can be made for a device",
    do='a function without arguments that returns names such as ("GPU.0", "GPU.1")',
)
def devices_are_listed(spec: ContextSpec, plugin: str) -> str:
    """Call the function that lists devices."""
    assert spec.devices is not None
    names = tuple(call(load(spec.devices, plugin), plugin))
    if not all(isinstance(name, str) for name in names):
        raise BrokenRule(f"it returned {names!r}")
    return ", ".join(names) or "there are none here"


@rule(
    "6.11",
    "an edge has a mapper that connects",
    means="the route is taken, and fails; or each frame pays for a __dict__",
    do="a subclass of MemoryMapper with connect(self, item, access) and __slots__ = (); a summary",
)
def mapper_class(spec: MapperSpec, plugin: str, unmet: str | None = None) -> None:
    """Load the mapper of an edge; `unmet` is the reason why it cannot be used, or None.

    Raises:
        NotChecked: the mapper's module may import the framework of a plugin that is not installed.
    """
    if unmet is not None:
        raise NotChecked(unmet)
    cls = load_class(spec.mapper, plugin, MemoryMapper)
    _overrides(cls, MemoryMapper, "connect")
    if cls.__slots__ is MemoryMapper.__slots__:
        raise BrokenRule(f"{cls.__name__} has no __slots__ of its own: each one has a __dict__")
    if not spec.summary:
        raise BrokenRule("its summary is empty: `samebytes route` has nothing to say of it")


@rule(
    "6.16",
    "an edge requires the plugins of its nodes",
    means="without them, lists show an edge that nothing can use, and do not say what to install; "
    "with another version of them, it is used all the same",
    do="declare a node of your own with a ContextSpec in samebytes_contexts(); name the plugin of "
    'another one, with its versions: MapperSpec(requires=("opencl>=0.1,<1",))',
)
def edge_requires(spec: MapperSpec, plugin: str, owners: Mapping[str, str]) -> None:
    """Look at which plugins own the nodes of an edge.

    Args:
        spec: the edge.
        plugin: the plugin that declares it.
        owners: the plugin of each known node.
    """
    named = {parse_requirement(requirement)[0] for requirement in spec.requires}
    for node in (spec.source, spec.target):
        owner = owners.get(node)
        if owner is None and not named:
            raise BrokenRule(f"no installed plugin declares {node!r}, and requires= names none")
        if owner not in {None, plugin, _BUILT_IN, *named}:
            raise BrokenRule(f"{node!r} is plugin {owner}'s, which requires= does not name")


@rule(
    "6.15",
    "an element is of one of the four kinds, under its plugin's name",
    means="samebytes.elements.create() of that name fails, or lists cannot say what it is",
    do="ElementSpec.element names a subclass of Source, Transform, TransformInplace or Sink that "
    "defines read(), process() or write(); its name is the plugin's, a dot and its own; a summary",
)
def element_class(spec: ElementSpec, plugin: str) -> str:
    """Load the class of an element, and read its parameters."""
    cls = load_class(spec.element, plugin, Element)
    kind = next((k for k in _KINDS if issubclass(cls, k)), None)
    if kind is None:
        raise BrokenRule(f"{cls.__name__} is not a Source, Transform or Sink")
    if not hasattr(cls, "function"):  # the class of a decorated function calls this function
        _overrides(cls, kind, cls._samebytes_work)
    owner, _, own = spec.name.partition(".")
    # The built-in backend has elements that need no framework, named after what they do or write.
    if plugin != _BUILT_IN and (owner != plugin or not own):
        raise BrokenRule(f"{spec.name!r} does not begin with {plugin!r} and a dot")
    if not spec.summary:
        raise BrokenRule("its summary is empty: lists have nothing to say of it")
    return ", ".join(call(cls.declared_parameters, plugin)) or "no parameters"


_BUILT_IN = "cpu"


def _overrides(cls: type, base: type, name: str) -> None:
    def function(of: type) -> Callable[..., Any]:
        found = getattr(of, name)
        plain: Callable[..., Any] = getattr(found, "__func__", found)
        return plain

    if function(cls) is function(base):
        raise BrokenRule(f"{cls.__name__} has no {name}()")
