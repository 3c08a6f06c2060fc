# SPDX-License-Identifier: Apache-2.0
"""The stages that need the plugin in its place among all the others."""

from __future__ import annotations

from ..._plugins.discovery import listed
from ..._plugins.tables import PluginRecord
from ...testing.rules.declaration import plugins_get_along
from . import classes, contexts, edges
from .reporting import Report

__all__ = ["check"]


def check(report: Report, stage: str, plugin: str, argument: str) -> None:
    """Run "tables", "classes", "context" (of a node) or "edge" (by its number)."""
    if stage == "tables":
        _tables(report, plugin)
        return
    record = listed().plugins[plugin]
    match stage:
        case "classes":
            classes.check(report, record)
        case "context":
            spec = next(c for c in record.declared.contexts if c.node == argument)
            contexts.check(report, spec, plugin)
        case "edge":
            edges.check(report, record.declared.mappers[int(argument)], plugin)


def _tables(report: Report, plugin: str) -> None:
    """Check that it is in use beside the other plugins, and report "ready" and "unmet"."""
    found = listed()
    record = found.plugins.get(plugin)
    ready = record is not None and bool(record.module)
    aside = [r for r in found.set_aside if r.name == plugin]
    off = next((r.reason for r in aside if r.disabled), None)
    reason = None
    if not ready:
        reason = aside[0].reason if aside else "samebytes does not find it"
    report.tries(plugins_get_along, plugin, reason, off)
    report.facts(ready=ready, unmet=_unmet(record) if record is not None else {})


def _unmet(record: PluginRecord) -> dict[str, str]:
    """The edges, by number, that need another plugin, and why they cannot be used."""
    own = enumerate(classes.unmet_edges(record))
    return {str(n): unmet for n, (_, unmet) in own if unmet is not None}
