# SPDX-License-Identifier: Apache-2.0
"""Checks of a plugin's module before anything in it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import ModuleType
from typing import Any, TypeVar

import pluggy

from .._frozen import frozen
from ..errors import IncompatiblePluginError, PluginLoadError, UnknownNameError
from . import hooks
from .failures import described, shown
from .spec_checks import problem_of_plugin, problem_of_spec
from .specs import (
    API,
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    ProtocolSpec,
)
from .tables import Declarations

__all__ = [
    "HOOKS", "PluginAPI", "check_api_of_hooks", "check_hooks", "check_module", "declarations",
    "plugin_of",
]  # fmt: skip

HOOKS = {
    "samebytes_tensors": NativeSpec,
    "samebytes_protocols": ProtocolSpec,
    "samebytes_contexts": ContextSpec,
    "samebytes_mappers": MapperSpec,
    "samebytes_elements": ElementSpec,
    "samebytes_converters": ConverterSpec,
}
# Hooks that the first version of the API did not have: if a plugin declared an older API, a
# samebytes that does not know them would accept it.
_SINCE = {"samebytes_elements": (1, 1), "samebytes_converters": (1, 2)}
_MARK = f"{hooks.PROJECT}_impl"  # where pluggy's marker leaves its options
_Spec = TypeVar("_Spec")


@frozen()
class PluginAPI:
    """The plugin API that plugins are checked against.

    Attributes:
        version: (major, minor).
        hookspecs: the object that holds the hook specifications.
        arguments: the arguments of hooks. An implementation takes those that it names, so one that
            was written before an argument was added still works.
    """

    version: tuple[int, int]
    hookspecs: Any
    arguments: Mapping[str, object] = field(default_factory=dict)


# Looked up at each use: tests replace it by the next version of the API.
CURRENT = PluginAPI(API, hooks)


def check_module(name: str, module: ModuleType) -> Plugin:
    """The module's PLUGIN, if this samebytes can use it and its hooks are valid.

    Raises:
        PluginLoadError: no PLUGIN, or a hook that is misspelt, not marked or of a later API.
        IncompatiblePluginError: it is for another API.
    """
    plugin = plugin_of(name, module)
    check_hooks(name, module)
    check_api_of_hooks(name, module, plugin)
    return plugin


def plugin_of(name: str, module: ModuleType) -> Plugin:
    """The module's PLUGIN, if this samebytes can use it.

    Raises:
        PluginLoadError: there is none, or it is not valid.
        IncompatiblePluginError: it is for another API.
    """
    plugin = getattr(module, "PLUGIN", None)
    if not isinstance(plugin, Plugin):
        raise PluginLoadError(
            name, f"module {module.__name__} has no PLUGIN = samebytes.plugins.Plugin(...)"
        )
    if not _supported(plugin.api):
        raise IncompatiblePluginError(name, plugin.api, CURRENT.version)
    problem = problem_of_plugin(plugin)
    if problem is not None:
        raise PluginLoadError(name, f"PLUGIN: {problem}")
    return plugin


def check_hooks(name: str, module: ModuleType) -> None:
    """Check that everything that looks like a hook implementation is one.

    Raises:
        PluginLoadError: one is misspelt or not marked.
    """
    for hook, marked in _hooks(module):
        if hook not in HOOKS:
            raise PluginLoadError(name, str(UnknownNameError("hook", hook, HOOKS)))
        if not marked:
            raise PluginLoadError(name, f"{hook} lacks @samebytes.plugins.hookimpl")


def check_api_of_hooks(name: str, module: ModuleType, plugin: Plugin) -> None:
    """Check that the API that a plugin declares has all of its hooks.

    Raises:
        PluginLoadError: a hook was added to a later API.
    """
    for hook, _ in _hooks(module):
        since = _SINCE.get(hook, (1, 0))
        if tuple(plugin.api) < since:
            raise PluginLoadError(
                name, f"{hook} needs PLUGIN = Plugin(api={since}), and it declares {plugin.api}"
            )


def _supported(api: object) -> bool:
    """True if this samebytes knows everything that a plugin for that API may use."""
    match api:
        case (int(major), int(minor)):
            return major == CURRENT.version[0] and 0 <= minor <= CURRENT.version[1]
    return False


def _hooks(module: ModuleType) -> Iterator[tuple[str, bool]]:
    """Yield everything that looks like a hook implementation: (its name, True if it is marked)."""
    for attribute, value in vars(module).items():
        options = getattr(value, _MARK, None) if callable(value) else None
        if isinstance(options, dict):
            yield options.get("specname") or attribute, True
        elif attribute.startswith("samebytes_") and callable(value):
            yield attribute, False


def declarations(name: str, module: ModuleType) -> Declarations:
    """Call the hooks of one plugin, alone, and check what they return.

    Raises:
        PluginLoadError: a hook raised, or returned something other than a list of valid specs.
    """
    # One plugin at a time: one that raises must not abort the calls to the others.
    manager = _manager()
    try:
        manager.register(module, name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(name, str(error)) from error
    found = Declarations(
        natives=_call(manager, name, "samebytes_tensors", NativeSpec),
        protocols=_call(manager, name, "samebytes_protocols", ProtocolSpec),
        contexts=_call(manager, name, "samebytes_contexts", ContextSpec),
        mappers=_call(manager, name, "samebytes_mappers", MapperSpec),
        elements=_call(manager, name, "samebytes_elements", ElementSpec),
        converters=_call(manager, name, "samebytes_converters", ConverterSpec),
    )
    manager.unregister(module)
    _idle.append(manager)
    return found


class _Manager(pluggy.PluginManager):
    """A plugin manager that skips objects without a marker, which pluggy would inspect."""

    def __init__(self, hookspecs: Any) -> None:
        super().__init__(hooks.PROJECT)
        self.hookspecs = hookspecs
        self.add_hookspecs(hookspecs)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        value = vars(plugin).get(name)
        # Other objects are not touched: an object that is made on first use may raise.
        marked = callable(value) and isinstance(getattr(value, _MARK, None), dict)
        return super().parse_hookimpl_opts(plugin, name) if marked else None


# Managers without a plugin, since making one takes as long as asking a plugin. A manager in use is
# taken out, so that two threads have two, and one in which a plugin raised is not used again.
_idle: list[_Manager] = []


def _manager() -> _Manager:
    try:
        found = _idle.pop()
    except IndexError:
        return _Manager(CURRENT.hookspecs)
    return found if found.hookspecs is CURRENT.hookspecs else _Manager(CURRENT.hookspecs)


def _call(
    manager: pluggy.PluginManager, name: str, hook: str, kind: type[_Spec]
) -> tuple[_Spec, ...]:
    caller = getattr(manager.hook, hook)
    if not caller.get_hookimpls():
        return ()
    try:
        results = caller(**_arguments(caller))
    except (Exception, SystemExit) as error:  # a plugin must not end the user's program
        raise PluginLoadError(name, f"{hook}() raised {described(error)}") from error
    if not results:  # pluggy drops a None
        raise PluginLoadError(name, f"{hook}() returned None, not a list")
    return tuple(spec for result in results for spec in _specs(result, name, hook, kind))


def _arguments(caller: pluggy.HookCaller) -> dict[str, object]:
    spec = caller.spec
    return {} if spec is None else {name: CURRENT.arguments[name] for name in spec.argnames}


def _specs(result: Any, name: str, hook: str, kind: type[_Spec]) -> Iterator[_Spec]:
    if not isinstance(result, list | tuple):
        raise PluginLoadError(name, f"{hook}() returned {shown(result)}, not a list")
    for spec in result:
        if not isinstance(spec, kind):
            raise PluginLoadError(name, f"{hook}() returned {shown(spec)}, not a {kind.__name__}")
        problem = problem_of_spec(spec)
        if problem is not None:
            raise PluginLoadError(name, f"{hook}(): {problem} in {shown(spec)}")
        yield spec
