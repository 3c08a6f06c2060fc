# SPDX-License-Identifier: Apache-2.0
"""Names to contexts: `context("openvino:GPU.1")`, `parent.derive("opencl")`."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from .._core.context import Context, intern
from .._plugins.discovery import tables
from .._plugins.distributions import install_hint
from .._plugins.loading import call, load, load_class
from .._plugins.specs import ContextSpec
from ..errors import AmbiguousTargetError, DeviceMismatchError, NoRouteError, UnknownNameError

__all__ = ["context", "derive", "find_spec", "remember", "resolve"]

# Contexts that routing made for itself, so that a pipeline does not make them for each frame.
# Bounded; refresh() empties it.
_recent: deque[Context] = deque(maxlen=16)


def find_spec(name: str) -> tuple[ContextSpec, str | None]:
    """The spec of "type" or "type:device", and the device.

    "openvino:GPU.1" finds the node "openvino:GPU".

    Raises:
        UnknownNameError: no plugin declares such a memory type.
    """
    if not isinstance(name, str):
        raise TypeError(f"a context is named by a memory type or type:device, not {name!r}")
    contexts = tables().contexts
    memory_type, colon, device = name.partition(":")
    kind = device.partition(".")[0]
    if colon and not device:
        raise UnknownNameError(f"device of {memory_type}", "", ())
    for node in (name, f"{memory_type}:{kind}", memory_type):
        if node in contexts:
            # "openvino:GPU" is a node of its own: it names a kind, and no device of it.
            return contexts[node], None if node == name else device
    raise UnknownNameError("memory type", name, contexts, _advice(memory_type))


def _advice(memory_type: str) -> str:
    found = tables()
    known = {record.name for record in found.set_aside}
    if memory_type in known or install_hint(memory_type):
        return f"(plugin {memory_type!r} {found.absence(memory_type)})"
    return "(see: samebytes list)"


def context(name: str) -> Context:
    """The context of that name: a memory type, or "type:device".

    Raises:
        UnknownNameError: no plugin declares it.
        AmbiguousTargetError: it has several devices; say which.
        MissingDependencyError: a package of its plugin is missing.
    """
    spec, device = find_spec(name)
    choices = _choices(spec)
    if device is None and len(choices) > 1:
        raise AmbiguousTargetError("anywhere", name, choices)
    return _make(spec, device, None)


def derive(parent: Context, node: str) -> Context:
    """The context of `node` that shares the handles of `parent`.

    Raises:
        UnknownNameError: no plugin declares the node.
        NoRouteError: it cannot be derived from that parent.
    """
    spec, device = find_spec(node)
    if spec.node == parent.node and device is None:
        return parent
    if parent.node not in spec.derives_from and not _is_host(spec):
        sources = ", ".join(spec.derives_from) or "no other context"
        raise NoRouteError(
            parent.node, spec.node, [f"a {spec.node} context derives from {sources}"]
        )
    return _make(spec, device, parent)


def resolve(source: Context, target: str | Context) -> Context:
    """The context that `target` means for memory of `source`: one on the same device, if it can.

    Raises:
        AmbiguousTargetError: several would do.
    """
    if isinstance(target, Context):
        target.check_open()
        return target
    if not isinstance(target, str):
        raise TypeError(f"a target is a memory type or a Context, not {target!r}")
    if target == source.node:
        return source  # before the look-up: the identity needs no plugin
    if target == source.memory_type and target not in tables().contexts:
        return source  # "type" where the only nodes are "type:KIND"
    spec, device = find_spec(target)
    if source.node in spec.derives_from and device is None:
        # Of handles that are missing, or that the framework does not take, the memory may still be
        # handed over.
        with suppress(DeviceMismatchError, NoRouteError, UnknownNameError):
            return remember(_make(spec, None, source))
    choices = _choices(spec)
    if device is None and len(choices) > 1:
        raise AmbiguousTargetError(source.node, target, choices)
    return remember(_make(spec, device, None))


def remember(context: Context) -> Context:
    """Keep a context that routing made for a while."""
    # By identity: an equal one that is there already may have been closed.
    kept = list(_recent)
    if not context.singleton and not any(one is context for one in kept):
        for one in kept:
            if one._closed:
                with suppress(ValueError):  # another thread was faster
                    _recent.remove(one)
        _recent.append(context)
    return context


def forget_recent() -> None:
    """Let go of the contexts that routing made."""
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
