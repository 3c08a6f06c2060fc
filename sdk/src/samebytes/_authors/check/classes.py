# SPDX-License-Identifier: Apache-2.0
"""The rules for what the specs name: every "module:Class" leads to one of the right kind."""

from __future__ import annotations

from ..._plugins.discovery import listed
from ..._plugins.installing import working
from ..._plugins.specs import MapperSpec
from ..._plugins.tables import PluginRecord
from ...testing.rules.classes import (
    context_class,
    devices_are_listed,
    edge_requires,
    element_class,
    mapper_class,
    native_spelling,
    native_wrapper,
)
from .reporting import Report

__all__ = ["check", "unmet_edges"]


def check(report: Report, record: PluginRecord) -> None:
    """Load every class and function that the specs of a plugin name."""
    plugin = record.name
    for native in record.declared.natives:
        report.tries(native_wrapper, native.wraps, native, plugin)
        report.tries(native_spelling, native.native, native)
    for context in record.declared.contexts:
        report.tries(context_class, context.context, context, plugin)
        if context.devices is not None:
            report.tries(devices_are_listed, context.devices, context, plugin)
    owners = listed().owner_of_node
    for mapper, unmet in unmet_edges(record):
        report.tries(edge_requires, mapper.name, mapper, plugin, owners)
        report.tries(mapper_class, f"{mapper.name}, {mapper.mapper}", mapper, plugin, unmet)
    for element in record.declared.elements:
        report.tries(element_class, f"{element.name}, {element.element}", element, plugin)


def unmet_edges(record: PluginRecord) -> list[tuple[MapperSpec, str | None]]:
    """The plugin's edges, each with why it cannot be used for want of another plugin, or None."""
    own = [e for e in listed().edges if e.plugin == record.name]
    return [(e.spec, e.missing and working(e.missing)) for e in own]
