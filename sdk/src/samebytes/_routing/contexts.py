# SPDX-License-Identifier: Apache-2.0
"""Names to contexts: `context("openvino:GPU.1")`, `parent.derive("opencl")`."""

from __future__ import annotations

import importlib
from collections import deque
from typing import cast

from .._core.context import Context, intern
from .._plugins.discovery import load_class, tables
from .._plugins.specs import ContextSpec
from ..errors import AmbiguousTargetError, NoRouteError, UnknownNameError

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
    contexts = tables().contexts
    memory_type, _, device = name.partition(":")
    kind = device.partition(".")[0]
    for node in (name, f"{memory_type}:{kind}", memory_type):
        if node in contexts:
            return contexts[node], device or None
    raise UnknownNameError("memory type", name, contexts, _advice(memory_type))


def _advice(memory_type: str) -> str:
    for record in tables().set_aside:
        if record.name == memory_type:
            why = record.error or "it is disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE"
            return f"(plugin {record.name!r} was set aside: {why})"
    if memory_type in _extras():
        return f'(to get it: pip install "samebytes[{memory_type}]")'
    return "(see: samebytes list)"


def _extras() -> list[str]:
    import importlib_metadata

    try:
        return importlib_metadata.metadata("samebytes").get_all("Provides-Extra") or []
    except importlib_metadata.PackageNotFoundError:
        return []


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
    spec, device = find_spec(target)
    if target in (source.node, source.memory_type):
        return source
    if source.node in spec.derives_from and device is None:
        return remember(_make(spec, None, source))
    choices = _choices(spec)
    if device is None and len(choices) > 1:
        raise AmbiguousTargetError(source.node, target, choices)
    return remember(_make(spec, device, None))


def remember(context: Context) -> Context:
    """Keep a context that routing made for a while."""
    if not context.singleton and context not in _recent:
        _recent.append(context)
    return context


def forget_recent() -> None:
    """Let go of the contexts that routing made."""
    _recent.clear()


def _make(spec: ContextSpec, device: str | None, parent: Context | None) -> Context:
    make = load_class(spec.context, tables().owner_of_node[spec.node])
    return intern(cast(Context, make.create(device, None if make.singleton else parent)))


def _is_host(spec: ContextSpec) -> bool:
    return bool(load_class(spec.context, tables().owner_of_node[spec.node]).singleton)


def _choices(spec: ContextSpec) -> tuple[str, ...]:
    if spec.devices is None:
        return ()
    module, _, function = spec.devices.partition(":")
    names = getattr(importlib.import_module(module), function)()
    return tuple(f"{spec.node.partition(':')[0]}:{name}" for name in names)
