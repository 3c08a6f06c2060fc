# SPDX-License-Identifier: Apache-2.0
"""The rules for the module that the entry point names. Runs in a process that has only that."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType

from ..._plugins.specs import Plugin
from ..._plugins.tables import Declarations
from ..._plugins.validation import declarations, plugin_of
from ...errors import PluginDeprecationWarning, SamebytesError
from ...testing.rules.declaration import (
    hooks_are_marked,
    importing_is_light,
    module_imports,
    nothing_deprecated,
    plugin_is_declared,
    specs_are_valid,
)
from .reporting import Report

__all__ = ["check"]


def check(report: Report, name: str, path: str) -> None:
    """Import the module `path` of the plugin `name`, and see what it declares.

    The facts that the parent learns: "packages", "probe", "nodes" and "edges".
    """
    before = set(sys.modules)
    if not report.tries(module_imports, path, path):
        return
    imported = set(sys.modules) - before
    module = importlib.import_module(path)
    report.tries(plugin_is_declared, path, name, module)
    plugin = _plugin(name, module)
    report.tries(importing_is_light, path, imported, path, plugin)
    marked = report.tries(hooks_are_marked, path, name, module)
    declared = _declared(report, name, path, module)
    if plugin is not None and marked and declared is not None:
        report.facts(
            packages=dict(plugin.packages),
            probe=plugin.probe,
            nodes=[context.node for context in declared.contexts],
            edges=[edge.name for edge in declared.mappers],
        )


def _plugin(name: str, module: ModuleType) -> Plugin | None:
    try:
        return plugin_of(name, module)
    except SamebytesError:
        return None


def _declared(report: Report, name: str, path: str, module: ModuleType) -> Declarations | None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        declared = None
        if report.tries(specs_are_valid, path, name, module):
            declared = declarations(name, module)
    old = [str(w.message) for w in caught if issubclass(w.category, PluginDeprecationWarning)]
    report.tries(nothing_deprecated, path, old)
    return declared
