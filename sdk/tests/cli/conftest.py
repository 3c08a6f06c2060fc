# SPDX-License-Identifier: Apache-2.0
"""A made-up plugin for the commands to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_CLASSES = """
from samebytes import Context, CpuTensor, MemoryMapper
from samebytes.plugins import HostContext

class Here(HostContext):
    memory_type = node = "alpha"
    tensor_class = CpuTensor

class Many(Context):
    memory_type = node = "many"

    @classmethod
    def create(cls, device, parent):
        return cls()

class FromCpu(MemoryMapper):
    pass

def devices():
    return ["0", "1"]

def probe():
    from samebytes.plugins import ProbeResult
    return ProbeResult(usable=False, reason="no device", hint="pip install [green]made-up[cli]",
                       details={"looked": "everywhere"})
"""
_PLUGIN = """
PLUGIN = Plugin(api=API, summary="made [up]", probe="alpha_classes:probe")

@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="alpha", context="alpha_classes:Here"),
            ContextSpec(node="many", context="alpha_classes:Many",
                        devices="alpha_classes:devices")]

@hookimpl
def samebytes_mappers():
    edge = dict(mapper="alpha_classes:FromCpu", summary="by hand")
    return [
        MapperSpec(source="cpu", target="alpha", transfer=Transfer.ALIAS, access=("r",),
                   formats=("NV12",), **edge),
        MapperSpec(source="alpha", target="cpu", transfer=Transfer.COPY, **edge),
        MapperSpec(source="alpha", target="many", transfer=Transfer.MAP, requires=("absent",),
                   **edge),
        MapperSpec(source="alpha", target="dma", transfer=Transfer.MAP, **edge),
        MapperSpec(source="nobodys", target="alpha", transfer=Transfer.MAP, **edge),
    ]
"""


@pytest.fixture
def alpha(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site where only the plugin alpha and a broken one are in use."""
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "alpha,broken")
    site.module("alpha_classes", _CLASSES)
    site.plugin("broken", "raise RuntimeError('at home')\n")
    site.plugin("alpha", _PLUGIN)
    return site
