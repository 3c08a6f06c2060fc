# SPDX-License-Identifier: Apache-2.0
"""`samebytes list`: the installed plugins and what they add. Touches no driver."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .._plugins.listing import HEADS, PluginInfo, cells, installed_plugins
from .._plugins.specs import MapperSpec
from .table import print_table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    plugins = installed_plugins()
    if options.json:
        print(json.dumps({"plugins": [_plugin(p) for p in plugins]}, indent=2))
        return 0
    print_table(HEADS, [cells(plugin) for plugin in plugins])
    print()
    print_table(
        ("from", "to", "level", "access", "transfer", "cost", "plugin", "how"),
        [(*_edge_row(edge), p.name, edge.summary) for p in plugins for edge in p.edges],
    )
    for plugin in plugins:
        if plugin.error:
            print(f"\nset aside: {plugin.error}")
        for package, hint in plugin.missing.items():
            print(
                f"\nincomplete: plugin {plugin.name!r}: the package {package!r} is not installed: "
                f"{hint}"
            )
        for warning in plugin.warnings:
            print(f"\nwarning: plugin {plugin.name!r}: {warning}")
        # Tensors and frames may each have an edge.
        for name, reason in dict.fromkeys((edge.name, why) for edge, why in plugin.unmet):
            print(f"\nnot in use: {name} of plugin {plugin.name!r}: {reason}")
    return 0


def _edge_row(edge: MapperSpec) -> tuple[str, ...]:
    return (
        edge.source,
        edge.target,
        edge.level,
        " ".join(edge.access),
        edge.transfer.value,
        f"{edge.weight:g}",
    )


def _plugin(plugin: PluginInfo) -> dict[str, Any]:
    edges = [(edge, None) for edge in plugin.edges]
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "summary": plugin.summary,
        "state": plugin.state,
        "error": plugin.error,
        "missing": dict(plugin.missing),
        "warnings": list(plugin.warnings),
        "memory_types": list(plugin.memory_types),
        "edges": [_edge(edge, unmet) for edge, unmet in (*edges, *plugin.unmet)],
    }


def _edge(edge: MapperSpec, unmet: str | None) -> dict[str, Any]:
    return {
        "source": edge.source,
        "target": edge.target,
        "level": edge.level,
        "access": list(edge.access),
        "transfer": edge.transfer.value,
        "cost": edge.weight,
        "summary": edge.summary,
        "unmet": unmet,
    }
