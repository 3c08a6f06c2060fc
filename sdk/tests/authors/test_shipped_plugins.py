# SPDX-License-Identifier: Apache-2.0
"""The checks of `samebytes check-plugin` find nothing in the plugins of this repository.

Each context and edge is a test of its own. What needs devices that are missing is not checked, so
all of it is tried with `pytest --softdevices=gpu,npu,vaapi,cuda`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Tried

GROUP = "samebytes.plugins"


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
    """Return what a plugin's module lists."""
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


# By plugin: what it declares, beside all the others.
_tables: dict[str, Tried] = {}


@pytest.mark.parametrize(("plugin", "stage", "argument"), list(stages()))
def test_it_passes(plugin: str, stage: str, argument: str, try_stage: Callable[..., Tried]) -> None:
    if plugin not in _tables:
        assert try_stage(plugin, "declaration", MODULES[plugin]).failed == []
        _tables[plugin] = try_stage(plugin, "tables")
    facts = _tables[plugin].facts
    assert _tables[plugin].failed == []
    assert facts["ready"]
    if stage == "edge" and argument in facts["unmet"]:
        pytest.skip(f"missing package: {facts['unmet'][argument]}")
    found = try_stage(plugin, stage, argument)
    assert found.failed == []
    assert found.tried
