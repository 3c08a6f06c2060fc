# SPDX-License-Identifier: Apache-2.0
"""Contexts by their names: `context("openvino:GPU.1")`, `parent.derive("opencl")`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING

from .._core.edges.context import Context, Target
from .._core.edges.registry import intern
from .._plugins.discovery import tables
from .._plugins.loading import call, load, load_class
from ..errors import (
    AmbiguousTargetError,
    DeviceMismatchError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)

if TYPE_CHECKING:
    from .._plugins.specs import ContextSpec

__all__ = [
    "context",
    "derive",
    "find_spec",
    "node_of",
    "remember",
    "resolve",
    "sharing",
    "unknown_memory_type",
]

# Contexts that routing made for itself, so that a pipeline does not make them for each frame.
# By id, the oldest first: removing by equality would compare, and threads switch meanwhile.
# Bounded; refresh() empties it.
_recent: dict[int, Context] = {}
_MOST_RECENT = 16


def find_spec(name: str) -> tuple[ContextSpec, str | None]:
    """The spec of "type" or "type:device", and the device.

    "openvino:GPU.1" finds the node "openvino:GPU".

    Raises:
        UnknownNameError: no plugin declares such a memory type.
    """
    if not isinstance(name, str):
        raise UnsupportedObjectError(
            f'a context is named by a memory type or "type:device", not {name!r}: to pass what a '
            "framework made, wrap it first, samebytes.wrap(x)"
        )
    contexts = tables().contexts
    memory_type, colon, device = name.partition(":")
    kind = device.partition(".")[0]
    if colon and not device:
        raise UnknownNameError(f"device of {memory_type}", "", ())
    for node in (name, f"{memory_type}:{kind}"):
        if node in contexts:
            # "openvino:GPU" is a separate node: it names a kind of device and not one device.
            return contexts[node], None if node == name else device
    spelt = _spelt(name, contexts)
    # Words are looked up before a part is taken for a device: "opencv:umat".
    from .._plugins.words import is_word  # most names are those of nodes

    if memory_type in contexts and spelt is None and not is_word(name):
        return contexts[memory_type], device or None
    raise unknown_memory_type(name, spelt)


def _spelt(name: str, contexts: Iterable[str]) -> str | None:
    """The name of a node that differs from this one only in case, with its device.

    Without it, "openvino:gpu.1" would be taken for a device "gpu.1" of "openvino".
    """
    nodes = {node.lower(): node for node in contexts}
    memory_type, colon, device = name.partition(":")
    kind, dot, number = device.partition(".")
    for node, rest in ((f"{memory_type}:{kind}", dot + number), (memory_type, colon + device)):
        found = nodes.get(node.lower())
        if found is not None and found != node:
            return found + rest
    return None


def unknown_memory_type(name: str, spelt: str | None = None) -> UnknownNameError:
    """The error for a name that no memory type has, with the names that were probably meant."""
    from .._plugins.words import advice_on, meant_by

    known = tables().contexts
    words = (spelt,) if spelt is not None else meant_by(name)
    memory_types = {node.partition(":")[0] for node in known}
    named = dict.fromkeys(n.partition(":")[0] for n in (name, *(words or ())))
    absent = [_absence(plugin) for plugin in named if plugin not in memory_types]
    said = "; ".join(filter(None, [advice_on(name), *absent])) or "see: samebytes list"
    return UnknownNameError("memory type", name, known, f"({said})", nearest=words)


def _absence(plugin: str) -> str:
    from .._plugins.distributions import install_hint  # deferred until something is missing

    found = tables()
    if plugin in found.plugins:
        return f"plugin {plugin!r} has no memory type"
    set_aside = {record.name for record in found.set_aside}
    if plugin in set_aside or install_hint(plugin):
        return f"plugin {plugin!r} {found.absence(plugin)}"
    return ""


def node_of(target: Context | type[Context]) -> str:
    """The name of the node of a context, or of a class of contexts.

    Raises:
        UnsupportedObjectError: `target` is neither, or its node makes contexts of another class.
    """
    if isinstance(target, Context):
        return target.node
    if not (isinstance(target, type) and issubclass(target, Context)):
        raise UnsupportedObjectError(
            'a target is a memory type, "type:device", a Context or a class of contexts, '
            f"not {target!r}"
        )
    node: str | None = getattr(target, "node", None)
    spec = tables().contexts.get(node) if node else None
    if node is None or spec is None:
        raise UnsupportedObjectError(
            f"{target.__name__} is not the class of a memory type that a plugin declares"
        )
    if _class(spec) is not target:
        raise UnsupportedObjectError(
            f"contexts of {node!r} are made as {_class(spec).__name__}, not {target.__name__}: "
            "create one with the functions of its class, and pass that"
        )
    return node


def context(name: str | type[Context]) -> Context:
    """The context of that name: a memory type, "type:device", or a class of contexts.

    Raises:
        UnknownNameError: no plugin declares it.
        AmbiguousTargetError: it has several devices, and the name chooses none.
        MissingDependencyError: a package of its plugin is missing.
    """
    spec, device = find_spec(node_of(name) if isinstance(name, type) else name)
    choices = _choices(spec)
    if device is None and len(choices) > 1:
        raise AmbiguousTargetError("anywhere", spec.node, choices)
    return _make(spec, device, None)


def derive(parent: Context, node: str | type[Context]) -> Context:
    """The context of `node` that shares the handles of `parent`.

    Raises:
        UnknownNameError: no plugin declares the node.
        NoRouteError: it cannot be derived from that parent.
    """
    spec, device = find_spec(node_of(node) if isinstance(node, type) else node)
    if spec.node == parent.node and device is None:
        return parent
    if parent.node not in spec.derives_from and not _is_host(spec):
        sources = ", ".join(spec.derives_from) or "no other context"
        raise NoRouteError(
            parent.node, spec.node, [f"contexts of {spec.node} derive from {sources}"]
        )
    return _make(spec, device, parent)


def sharing(known: Sequence[Context], spec: ContextSpec, device: str | None) -> Context | None:
    """The context of a node that shares handles with a known context; None if none can.

    It may be derived by way of others, as few as possible: that of a GPU from surfaces in a
    framework's buffers, whose display is VA-API's too.

    Args:
        known: the contexts whose handles it may share, best first.
        spec: the spec of the node.
        device: the device that it must be on, if that matters.
    """
    if device is not None:
        found = sharing(known, spec, None)
        same = found is not None and found.device.same(_make(spec, device, None).device)
        return found if same else None
    chains: deque[tuple[str, ...]] = deque([(spec.node,)])
    while chains:
        chain = chains.popleft()
        parents = tables().contexts[chain[0]].derives_from
        for one in known:
            if one.node in parents:
                # Even if handles are missing, or the framework does not take them, the memory may
                # still be handed over.
                with suppress(DeviceMismatchError, NoRouteError, UnknownNameError):
                    return reduce(derive, chain, one)
        chains += [
            (parent, *chain)
            for parent in parents
            if parent not in chain and parent in tables().contexts
        ]
    return None


def resolve(source: Context, target: Target) -> Context:
    """The context that `target` means for memory of `source`: on the same device, if possible.

    Raises:
        AmbiguousTargetError: several contexts fit.
    """
    if isinstance(target, Context):
        return target
    if not isinstance(target, str):
        target = node_of(target)
    if target == source.node:
        return source  # before the look-up: the identity needs no plugin
    if target == source.memory_type and target not in tables().contexts:
        return source  # "type" although the only nodes are "type:KIND"
    spec, device = find_spec(target)
    found = sharing([source], spec, device)
    if found is not None:
        return remember(found)
    choices = _choices(spec)
    if device is None and len(choices) > 1:
        raise AmbiguousTargetError(source.node, target, choices)
    return remember(_make(spec, device, None))


def remember(context: Context) -> Context:
    """Keep a context that routing made, for a while."""
    # By identity: an equal existing one may have been closed.
    if context.singleton or id(context) in _recent:
        return context
    for one in list(_recent.values()):
        if one.closed:
            _recent.pop(id(one), None)  # another thread may be faster
    _recent[id(context)] = context
    for key in list(_recent)[:-_MOST_RECENT]:
        _recent.pop(key, None)
    return context


def forget_recent() -> None:
    """Drop the contexts that routing made."""
    _recent.clear()


def _make(spec: ContextSpec, device: str | None, parent: Context | None) -> Context:
    make = _class(spec)
    return intern(make.create(device, None if make.singleton else parent))


def _is_host(spec: ContextSpec) -> bool:
    return _class(spec).singleton


def _class(spec: ContextSpec) -> type[Context]:
    return load_class(spec.context, tables().owner_of_node[spec.node], Context)


def _choices(spec: ContextSpec) -> tuple[str, ...]:
    if spec.devices is None:
        return ()
    plugin = tables().owner_of_node[spec.node]
    names = call(load(spec.devices, plugin), plugin)
    return tuple(f"{spec.node.partition(':')[0]}:{name}" for name in names)
