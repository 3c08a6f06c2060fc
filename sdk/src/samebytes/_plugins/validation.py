# SPDX-License-Identifier: Apache-2.0
"""Checking a plugin's module before anything of it is used."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, TypeVar

import pluggy

from .._core.access import ACCESS_MODES
from .._core.mapper import Transfer
from ..errors import IncompatiblePluginError, PluginLoadError, UnknownNameError
from . import hooks
from .specs import API, ContextSpec, MapperSpec, NativeSpec, Plugin
from .tables import Declarations, parse_requirement

__all__ = ["HOOKS", "check_module", "declarations"]

HOOKS = {
    "samebytes_tensors": NativeSpec,
    "samebytes_contexts": ContextSpec,
    "samebytes_mappers": MapperSpec,
}
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_Spec = TypeVar("_Spec")


def check_module(name: str, module: ModuleType) -> Plugin:
    """The module's PLUGIN, if it is one this samebytes can use.

    Raises:
        PluginLoadError: no PLUGIN, or a hook whose name is not a hook's.
        IncompatiblePluginError: another API.
    """
    plugin = getattr(module, "PLUGIN", None)
    if not isinstance(plugin, Plugin):
        raise PluginLoadError(
            name, f"module {module.__name__} has no PLUGIN = samebytes.plugins.Plugin(...)"
        )
    api = plugin.api
    if not (
        isinstance(api, tuple) and len(api) == 2 and api[0] == API[0] and 0 <= api[1] <= API[1]
    ):
        raise IncompatiblePluginError(name, api, API)
    for attribute in vars(module):
        if attribute.startswith("samebytes_") and attribute not in HOOKS:
            value = getattr(module, attribute)
            if callable(value):
                raise PluginLoadError(name, str(UnknownNameError("hook", attribute, HOOKS)))
    for hook in HOOKS:
        function = getattr(module, hook, None)
        if function is not None and not hasattr(function, f"{hooks.PROJECT}_impl"):
            raise PluginLoadError(name, f"{hook} lacks @samebytes.plugins.hookimpl")
    return plugin


def declarations(name: str, module: ModuleType) -> Declarations:
    """Call the hooks of one plugin, alone, and check what they return.

    Raises:
        PluginLoadError: a hook raised, or returned something else than a list of valid specs.
    """
    # A manager for each plugin: one that raises must not abort the calls to the others.
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    try:
        manager.register(module, name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(name, str(error)) from error
    return Declarations(
        natives=_call(manager, name, "samebytes_tensors", NativeSpec),
        contexts=_call(manager, name, "samebytes_contexts", ContextSpec),
        mappers=_call(manager, name, "samebytes_mappers", MapperSpec),
    )


def _call(
    manager: pluggy.PluginManager, name: str, hook: str, kind: type[_Spec]
) -> tuple[_Spec, ...]:
    try:
        results = getattr(manager.hook, hook)()
    except Exception as error:
        raise PluginLoadError(name, f"{hook}() raised {type(error).__name__}: {error}") from error
    specs: list[_Spec] = []
    for result in results:
        if not isinstance(result, list | tuple):
            raise PluginLoadError(name, f"{hook}() returned {result!r}, not a list")
        for spec in result:
            if not isinstance(spec, kind):
                raise PluginLoadError(name, f"{hook}() returned {spec!r}, not a {kind.__name__}")
            problem = _problem(spec)
            if problem is not None:
                raise PluginLoadError(name, f"{hook}(): {problem} in {spec!r}")
            specs.append(spec)
    return tuple(specs)


def _problem(spec: Any) -> str | None:
    if isinstance(spec, NativeSpec):
        return _bad_class(spec.wraps) or _bad_level(spec.level)
    if isinstance(spec, ContextSpec):
        return _bad_class(spec.context) or _bad_level(spec.level)
    return _bad_mapper(spec)


def _bad_mapper(spec: MapperSpec) -> str | None:
    if not isinstance(spec.transfer, Transfer):
        return f"transfer {spec.transfer!r} is not a Transfer"
    if not spec.access or any(mode not in ACCESS_MODES for mode in spec.access):
        return f"access {spec.access!r} is not some of {ACCESS_MODES}"
    if not spec.weight > 0:
        return f"cost {spec.cost!r} is not positive"
    for requirement in spec.requires:
        try:
            parse_requirement(requirement)
        except ValueError as error:
            return str(error)
    return _bad_class(spec.mapper) or _bad_level(spec.level)


def _bad_class(text: object) -> str | None:
    if isinstance(text, str) and _CLASS.fullmatch(text):
        return None
    return f'{text!r} does not name a class as "module:Class"'


def _bad_level(level: object) -> str | None:
    return None if level in ("tensor", "frame") else f'level {level!r} is not "tensor" or "frame"'
