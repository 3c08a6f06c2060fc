# SPDX-License-Identifier: Apache-2.0
"""The rules for the module that the entry point names. Runs in a process that has only that."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType

from ..._plugins.specs import Plugin, PluginDeprecationWarning
from ..._plugins.tables import Declarations
from ..._plugins.validation import check_hooks, declarations, plugin_of
from .reporting import BrokenRule, Report

__all__ = ["check"]

# What the core has imported itself, or brings no weight.
_LIGHT = frozenset(
    ("samebytes", "numpy", "pluggy", "importlib_metadata", "zipp", "typing_extensions")
)


def check(report: Report, name: str, path: str) -> None:
    """Import the module `path` of the plugin `name`, and see what it declares.

    The facts that the parent learns: "packages", "probe", "nodes" and "edges".
    """
    before = set(sys.modules)
    module = _imported(report, path)
    if module is None:
        return
    plugin = _plugin(report, name, module)
    with report.rule(
        "importing it is light", path,
        "name classes by strings, and import the framework inside of functions or in the modules "
        "that hold these classes; mind what the package's __init__.py imports too",
    ):  # fmt: skip
        heavy = _heavy(set(sys.modules) - before, path, plugin)
        if heavy:
            raise BrokenRule(f"it imports {', '.join(heavy)}")
    with report.rule(
        "hooks are spelt and marked", path,
        "the hooks are samebytes_tensors, samebytes_contexts and samebytes_mappers, each marked "
        "with @samebytes.plugins.hookimpl",
    ):  # fmt: skip
        check_hooks(name, module)
    declared = _declared(report, name, path, module)
    if plugin is not None and declared is not None:
        report.facts(
            packages=dict(plugin.packages),
            probe=plugin.probe,
            nodes=[context.node for context in declared.contexts],
            edges=[edge.name for edge in declared.mappers],
        )


def _imported(report: Report, path: str) -> ModuleType | None:
    with report.rule(
        "the module can be imported", path,
        "the entry point names a module of the installed distribution that imports by itself",
    ):  # fmt: skip
        return importlib.import_module(path)
    return None


def _plugin(report: Report, name: str, module: ModuleType) -> Plugin | None:
    plugin = None
    with report.rule(
        "PLUGIN says what it is, for this plugin API", module.__name__,
        "PLUGIN = Plugin(api=(major, minor), summary=..., packages=..., probe=...), where api is "
        "the version that it was written for, which is not newer than that of samebytes",
    ):  # fmt: skip
        plugin = plugin_of(name, module)
        if not plugin.summary:
            raise BrokenRule("its summary is empty: `samebytes list` has nothing to say of it")
    return plugin


def _declared(report: Report, name: str, path: str, module: ModuleType) -> Declarations | None:
    declared = None
    with report.rule(
        "the hooks return valid specs", path,
        "each hook returns a list of NativeSpec, ContextSpec or MapperSpec objects",
    ), warnings.catch_warnings(record=True) as caught:  # fmt: skip
        warnings.simplefilter("always")
        declared = declarations(name, module)
        if declared == Declarations():
            raise BrokenRule("it declares no native type, no context and no edge")
    with report.rule("it uses nothing deprecated", path, ""):
        old = [str(w.message) for w in caught if issubclass(w.category, PluginDeprecationWarning)]
        if old:
            report.warn("; ".join(old))
    return declared


def _heavy(imported: set[str], path: str, plugin: Plugin | None) -> list[str]:
    """Which packages the import of `path` brought in that are none of Python's or of the core's."""
    own = path.partition(".")[0]
    packages = plugin.packages if plugin is not None else {}
    brought = {name.partition(".")[0] for name in imported}
    # A distribution that brings its own framework is heavy where it says so.
    named = {name for name in packages if name in imported and name.partition(".")[0] == own}
    return sorted((brought - _LIGHT - set(sys.stdlib_module_names) - {own}) | named)
