# SPDX-License-Identifier: Apache-2.0
"""The stages that need the plugin in its place among all the others."""

from __future__ import annotations

from ..._plugins.discovery import listed
from ..._plugins.tables import PluginRecord
from . import classes, contexts, edges
from .reporting import BrokenRule, NotChecked, Report

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
    """Whether it is in use beside the other plugins; the facts: "ready" and "unmet"."""
    found = listed()
    record = found.plugins.get(plugin)
    ready = record is not None and bool(record.module)
    with report.rule(
        "it gets along with the other plugins", plugin,
        "names of native types, nodes and plugins are taken once: choose others, or uninstall one "
        "of the two",
    ):  # fmt: skip
        aside = [r for r in found.set_aside if r.name == plugin]
        if any(r.disabled for r in aside):
            raise NotChecked(aside[0].reason)
        if not ready:
            raise BrokenRule(aside[0].reason if aside else "samebytes does not find it")
    report.facts(ready=ready, unmet=_unmet(record) if record is not None else {})


def _unmet(record: PluginRecord) -> dict[str, str]:
    """The edges, by number, that need another plugin, and why they cannot be used."""
    own = [e for e in listed().edges if e.plugin == record.name]
    return {str(n): e.missing for n, e in enumerate(own) if e.missing is not None}
