# SPDX-License-Identifier: Apache-2.0
"""Everything that a plugin declares has a suite of the testing kit running on it, somewhere here.

Found by importing the test files and looking for subclasses of the suites; no test is run.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.plugins import MapperSpec
from samebytes.testing import (
    ContextSuite,
    ElementSuite,
    FrameSuite,
    MapperSuite,
    PluginSuite,
    TensorSuite,
)

ROOT = Path(__file__).parents[1]
FOLDERS = ("sdk/tests", "backends/*/tests", "mappers/tests", "contrib/*/tests")

# Edges between two devices' memories, where the suites of one backend lack the other's natives.
# tests/matrix/test_edges.py uses each of them alone, as every edge there is.
BETWEEN_BACKENDS = {
    "ffmpeg:DRM -> ffmpeg frame COPY",
    "ffmpeg:VAAPI -> ffmpeg frame COPY",
    "gstreamer -> dma frame IMPORT",
    "gstreamer -> dma tensor IMPORT",
    "dma -> gstreamer frame IMPORT",
    "dma -> gstreamer tensor IMPORT",
    "gstreamer:VA -> vaapi frame ALIAS",
    "opencl -> gstreamer:OpenCL frame ALIAS",
    "gstreamer:OpenCL -> opencl frame ALIAS",
    "opencl -> cpu tensor COPY",
    "opencl -> opencv_umat tensor COPY",
    "opencl -> opencv_umat tensor ALIAS",
    "opencv_umat -> opencl tensor ALIAS",
    "dma -> opencv_umat tensor IMPORT",
    "openvino:GPU -> opencl tensor ALIAS",
    "openvino:GPU -> opencl frame ALIAS",
    "opencl -> openvino:GPU tensor ALIAS",
    "opencl -> openvino:GPU frame ALIAS",
    "dma -> opencl tensor IMPORT",
    "opencl -> dma tensor IMPORT",
    "vaapi -> openvino:GPU frame IMPORT",
    "dma -> openvino:NPU tensor IMPORT",
    "dma -> openvino:NPU frame IMPORT",
    "level_zero -> openvino:NPU tensor IMPORT",
    "level_zero -> openvino:NPU frame IMPORT",
    "openvino:NPU -> level_zero tensor ALIAS",
    "openvino:NPU -> level_zero frame ALIAS",
    "sycl -> opencl tensor ALIAS",
    "opencl -> sycl tensor ALIAS",
    "sycl -> level_zero tensor ALIAS",
    "level_zero -> sycl tensor ALIAS",
}
# Contexts that are no more than names for memory of another one's.
CARRIED = {"gstreamer:OpenCL", "gstreamer:VA"}

PLUGINS = [p.name for p in samebytes.installed_plugins() if p.state == "ready"]


@cache
def suites(kind: type) -> tuple[type[Any], ...]:
    """The subclasses of a suite that the repository's test files hold."""
    return tuple(cls for module in _modules() for cls in _classes(module) if issubclass(cls, kind))


@cache
def _modules() -> tuple[Any, ...]:
    files = sorted(
        path
        for folder in FOLDERS
        for path in ROOT.glob(f"{folder}/**/test_*.py")
        if "Suite" in path.read_text()
    )
    return tuple(module for path in files if (module := _imported(path)) is not None)


def _imported(path: Path) -> Any:
    name = f"coverage_of_{'_'.join(path.relative_to(ROOT).with_suffix('').parts)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except pytest.skip.Exception:  # its framework is not installed
        return None
    return module


def _classes(module: Any) -> Iterator[type[Any]]:
    for name, value in vars(module).items():
        if name.startswith("Test") and isinstance(value, type):
            yield value


def _declared(plugin: str, hook: str) -> list[Any]:
    (entry,) = [e for e in _entry_points() if e.name == plugin] or [None]
    module = import_module(entry.value if entry else "samebytes._cpu.plugin")
    function = getattr(module, hook, None)
    return list(function()) if function else []


@cache
def _entry_points() -> tuple[Any, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group="samebytes.plugins"))


def _covers(suite: type[Any], edge: MapperSpec) -> bool:
    if (suite.source.node, suite.target.node) != (edge.source, edge.target):
        return False
    if suite.mapper is not None:
        return bool(suite.mapper == edge.mapper)
    frames = not isinstance(suite.cases[0], TensorInfo)
    return suite.transfer is edge.transfer and edge.serves("frame" if frames else "tensor")


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_element(plugin: str) -> None:
    tried = {getattr(suite, "element", None) for suite in suites(ElementSuite)}
    declared = {spec.name for spec in _declared(plugin, "samebytes_elements")}
    assert declared <= tried


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin(plugin: str) -> None:
    assert any(getattr(s, "plugin", None) == plugin for s in suites(PluginSuite))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_context(plugin: str) -> None:
    declared = {c.node for c in _declared(plugin, "samebytes_contexts")}
    covered = {s.memory.node for s in suites(ContextSuite)}
    assert declared <= covered | CARRIED, declared - covered


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_memory_type_has_its_objects(plugin: str) -> None:
    tensors = {s.memory.memory_type for s in suites(TensorSuite)}
    frames = {s.memory.memory_type for s in suites(FrameSuite)}
    for native in _declared(plugin, "samebytes_tensors"):
        module, _, name = native.wraps.partition(":")
        wraps: Any = getattr(import_module(module), name)
        context = [c for c in _declared(plugin, "samebytes_contexts") if _makes(c.context, wraps)]
        types = {c.node.partition(":")[0] for c in context}
        assert types & (tensors if native.level == "tensor" else frames), native.native


def _makes(context: str, wraps: type[Any]) -> bool:
    module, _, name = context.partition(":")
    cls = getattr(import_module(module), name)
    return issubclass(wraps, cls.tensor_class | cls.frame_class) or issubclass(
        cls.tensor_class, wraps
    )


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_edge(plugin: str) -> None:
    (info,) = [p for p in samebytes.installed_plugins() if p.name == plugin]
    missing, stale = [], []
    for edge in info.edges:
        name = f"{edge.name} {edge.level} {edge.transfer.name}"
        covered = any(_covers(suite, edge) for suite in suites(MapperSuite))
        if not covered and name not in BETWEEN_BACKENDS:
            missing.append(name)
        if covered and name in BETWEEN_BACKENDS:
            stale.append(name)
    assert (missing, stale) == ([], [])


def test_every_excuse_is_of_an_edge() -> None:
    edges = {
        f"{e.name} {e.level} {e.transfer.name}"
        for plugin in samebytes.installed_plugins()
        for e in plugin.edges
    }
    assert edges >= BETWEEN_BACKENDS
