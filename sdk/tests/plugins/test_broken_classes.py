# SPDX-License-Identifier: Apache-2.0
"""Plugins whose declarations are fine, and whose classes do not work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import (
    MissingDependencyError,
    PluginLoadError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdk.tests.conftest import Site


_USED = """
PLUGIN = Plugin(api=API, summary="", packages={{"made_up_framework": "pip install made-up"}})

@hookimpl
def samebytes_tensors():
    return [NativeSpec(native="alpha_native.Array", wraps="{classes}:Tensor", level="tensor")]

@hookimpl
def samebytes_contexts():
    return [
        ContextSpec(node="alpha", context="{classes}:Context", devices="{classes}:devices"),
    ]

@hookimpl
def samebytes_mappers():
    return [
        MapperSpec(source="cpu", target="beta", mapper="{classes}:Mapper",
                   transfer=Transfer.ALIAS, summary="how"),
    ]
"""


def use(site: Site, classes: str, *, native: bool = False) -> None:
    """Install plugin alpha with the given module of classes, and ask for one of them."""
    site.module("alpha_classes", classes)
    site.module("alpha_native", "class Array: pass\n")
    site.plugin("alpha", _USED.format(classes="alpha_classes"))
    assert next(p.state for p in sb.installed_plugins() if p.name == "alpha") == "incomplete"
    if native:
        import alpha_native  # type: ignore[import-not-found]  # written by this test

        sb.tensor(alpha_native.Array())
    else:
        sb.context("alpha")


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("raise RuntimeError('late')\n", "loading alpha_classes:.* raised RuntimeError: late"),
        ("raise SystemExit('late')\n", "raised SystemExit: late"),
        ("", "raised AttributeError"),
        ("import os.nothing\n", "raised ModuleNotFoundError"),
        ("def Tensor(): pass\nContext = Tensor\ndef devices(): return []\n", "is not a subclass"),
        ("Tensor = Context = int\ndevices = list\n", "is not a subclass of (Tensor|Context)"),
    ],
)
def test_a_class_that_cannot_be_loaded_raises_for_who_asks(
    site: Site, reason: Callable[[str], str], classes: str, expected: str, native: bool
) -> None:
    with pytest.raises(PluginLoadError, match=expected) as caught:
        use(site, classes, native=native)
    assert caught.value.plugin == "alpha"
    assert not isinstance(caught.value, MissingDependencyError)
    sb.context("zulu")
    site.plugin("broken", "raise RuntimeError\n")
    reason("broken")


@pytest.mark.parametrize("native", [False, True])
def test_a_missing_framework_is_named_with_its_command(site: Site, native: bool) -> None:
    with pytest.raises(MissingDependencyError, match="pip install made-up") as caught:
        use(site, "import made_up_framework.part\n", native=native)
    assert caught.value.missing == "the package 'made_up_framework'"
    assert caught.value.hint == "pip install made-up"
    assert isinstance(caught.value, ImportError)


def test_it_can_be_installed_meanwhile(site: Site) -> None:
    classes = """
import made_up_framework
from samebytes.plugins import HostContext
class Context(HostContext):
    memory_type = node = "alpha"
def devices():
    return ["0"]
"""
    with pytest.raises(MissingDependencyError):
        use(site, classes)
    site.module("made_up_framework", "")
    sb.refresh()
    assert sb.context("alpha").node == "alpha"


@pytest.mark.parametrize(
    "devices", ["def devices(): raise OSError('driver')\n", "def devices(): raise SystemExit(4)\n"]
)
def test_devices_that_cannot_be_listed(site: Site, devices: str) -> None:
    with pytest.raises(PluginLoadError, match=r"devices\(\) raised"):
        use(site, devices)


_BETA = """
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="beta", context="beta_classes:Beta")]

@hookimpl
def samebytes_mappers():
    return [
        MapperSpec(source="cpu", target="beta", mapper="beta_classes:Edge", cost=50,
                   transfer=Transfer.ALIAS, summary="the array"),
    ]
"""


_BETA_CLASSES = """
from samebytes import CpuTensor, MemoryMapper
from samebytes.plugins import HostContext
class Beta(HostContext):
    memory_type = node = "beta"
    tensor_class = CpuTensor
class Edge(MemoryMapper):
    def connect(self, item, access):
        return item.native, None, None
"""


@pytest.mark.parametrize(
    "mapper",
    [
        "raise RuntimeError\n",
        "Mapper = 3\n",
        (
            "from samebytes import MemoryMapper\nclass Mapper(MemoryMapper):\n"
            "    def __init__(self, *args): raise RuntimeError('made')\n"
        ),
    ],
)
def test_a_broken_edge_is_gone_round(site: Site, mapper: str) -> None:
    site.module("beta_classes", _BETA_CLASSES)
    site.plugin("beta", _BETA)
    site.module("alpha_classes", mapper)
    site.plugin("alpha", _USED.format(classes="alpha_classes"))
    array = np.zeros(4)
    assert np.shares_memory(sb.tensor(array).map("beta").native, array)
    route = sb.route("cpu", "beta")
    assert route.cost == 50
    assert "plugin 'alpha'" in route.refused[0]
