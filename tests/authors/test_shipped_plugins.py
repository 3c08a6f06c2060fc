# SPDX-License-Identifier: Apache-2.0
"""What `samebytes check-plugin` tries finds nothing in the plugins of this repository.

Each context and edge is a test of its own. What needs devices that are missing is not checked, so
all of it is tried with `pytest --softdevices=gpu,npu,vaapi,cuda`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from samebytes._authors.check.stages import Check

ROOT = Path(__file__).parents[2]
GROUP = "samebytes.plugins"
# Of one process; no rule is about time.
TIME_LIMIT_S = 500

MODULES = {"cpu": "samebytes._cpu.plugin"} | {e.name: e.value for e in entry_points(group=GROUP)}


def shipped() -> list[str]:
    """The names of the plugins that the distributions here declare, and the core's own."""
    names = ["cpu"]
    for path in sorted(ROOT.glob("*/pyproject.toml")) + sorted(ROOT.glob("*/*/pyproject.toml")):
        project = tomllib.loads(path.read_text()).get("project", {})
        names += project.get("entry-points", {}).get(GROUP, {})
    return names


def declared(plugin: str, hook: str) -> list[Any]:
    """What a plugin's module lists; nothing where it is not installed."""
    if plugin not in MODULES:
        return []
    function = getattr(import_module(MODULES[plugin]), hook, None)
    return list(function()) if function else []


def stages() -> Iterator[Any]:
    """Each stage of each plugin, with its argument."""
    for plugin in shipped():
        yield pytest.param(plugin, "classes", "", id=f"{plugin}: classes")
        for context in declared(plugin, "samebytes_contexts"):
            yield pytest.param(plugin, "context", context.node, id=f"{plugin}: {context.node}")
        for number, edge in enumerate(declared(plugin, "samebytes_mappers")):
            yield pytest.param(plugin, "edge", str(number), id=f"{plugin}: {edge.name}")


@cache
def tables(plugin: str) -> tuple[dict[str, Any], list[str]]:
    """What the plugin declares, beside all the others: the facts, and what failed."""
    check = Check(plugin, TIME_LIMIT_S)
    check.stage("declaration", MODULES[plugin])
    facts = check.stage("tables")
    return facts, failures(check)


def failures(check: Check) -> list[str]:
    return [f"{f.rule} ({f.subject}): {f.detail}" for f in check.findings if f.outcome == "failed"]


@pytest.mark.parametrize(("plugin", "stage", "argument"), list(stages()))
def test_it_passes(plugin: str, stage: str, argument: str) -> None:
    if plugin not in MODULES:
        pytest.skip(f"missing package: the one with the plugin {plugin}")
    facts, failed = tables(plugin)
    assert failed == []
    assert facts["ready"]
    if stage == "edge" and argument in facts["unmet"]:
        pytest.skip(f"missing package: {facts['unmet'][argument]}")
    check = Check(plugin, TIME_LIMIT_S)
    check.stage(stage, argument)
    assert failures(check) == []
    assert check.findings


def test_all_plugins_are_found() -> None:
    assert {"cpu", "ffmpeg", "openvino", "opencl", "mappers", "gstreamer"} <= set(shipped())
