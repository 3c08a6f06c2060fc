# SPDX-License-Identifier: Apache-2.0
"""What `samebytes check-plugin` tries finds nothing in the plugins of this repository.

Each context and edge is a test of its own. What needs devices that are missing is not checked, so
all of it is tried with `pytest --softdevices=gpu,npu,vaapi,cuda`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import pytest

from samebytes._authors.check.stages import Check

GROUP = "samebytes.plugins"
# Of one process; no rule is about time.
TIME_LIMIT_S = 500


def shipped() -> dict[str, str]:
    """The modules of the plugins that are installed from here, and of the core's own."""
    ours = {
        entry.name: entry.value
        for entry in entry_points(group=GROUP)
        if entry.dist is not None and entry.dist.name.startswith("samebytes-")
    }
    return {"cpu": "samebytes._cpu.plugin"} | ours


MODULES = shipped()


def declared(plugin: str, hook: str) -> list[Any]:
    """What a plugin's module lists."""
    function = getattr(import_module(MODULES[plugin]), hook, None)
    return list(function()) if function else []


def stages() -> Iterator[Any]:
    """Each stage of each plugin, with its argument."""
    for plugin in MODULES:
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
    facts, failed = tables(plugin)
    assert failed == []
    assert facts["ready"]
    if stage == "edge" and argument in facts["unmet"]:
        pytest.skip(f"missing package: {facts['unmet'][argument]}")
    check = Check(plugin, TIME_LIMIT_S)
    check.stage(stage, argument)
    assert failures(check) == []
    assert check.findings
