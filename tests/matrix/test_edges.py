# SPDX-License-Identifier: Apache-2.0
"""Every edge that a plugin declares, used alone: none escapes the proof.

The matrix shows what routes do, and a route is seldom the only one. Here each edge is used by
hand, on the first source that it takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import samebytes
from samebytes import Access, Context, Frame, MemoryMapper, Tensor, Transfer
from samebytes.errors import CopyRequiredError, NoRouteError
from samebytes.plugins import MapperSpec

from .proof import assert_equal_values, assert_same_bytes, read, write
from .sources import IMAGES, SOURCES, TENSORS

Item = Tensor | Frame

EDGES = [edge for plugin in samebytes.installed_plugins() for edge in plugin.edges]
# Set, the software CUDA driver imports DMA-BUFs, as that of no GPU of NVIDIA's that was tried.
IMPORT = "SOFTCUDA_DMA_BUF_IMPORT"
IMPORTED = "dma -> cuda"
# What the software devices do not do as they are here, and what they say.
REFUSED = {
    "opencl -> dma": "reports no descriptor",
    "dma -> cuda": "does not import DMA-BUFs",
    "dma -> opencv_umat": "has no createUMatFromDmaBuf",
    "sycl -> level_zero": "no ze_context",
    "level_zero -> sycl": "no ze_context",
}


def _id(edge: MapperSpec) -> str:
    return f"{edge.name}-{edge.level}-{edge.mapper.rpartition(':')[2]}"


# Their memory is made by elements of GStreamer's, or read by calls of the driver, which the tests
# of that distribution have.
PROVEN_ELSEWHERE = {
    "ffmpeg:CUDA -> cuda": "backends/ffmpeg/tests/test_hardware_conformance.py",
    "cuda -> ffmpeg:CUDA": "backends/ffmpeg/tests/test_hardware_conformance.py",
    "ffmpeg -> ffmpeg:CUDA": "backends/ffmpeg/tests/test_hardware_conformance.py",
    "ffmpeg:CUDA -> ffmpeg": "backends/ffmpeg/tests/test_hardware_conformance.py",
    "gstreamer:VA -> vaapi": "contrib/gstreamer/tests/test_va.py",
    "opencl -> gstreamer:OpenCL": "contrib/gstreamer/tests/test_opencl.py",
    "gstreamer:OpenCL -> opencl": "contrib/gstreamer/tests/test_opencl.py",
}

if os.environ.get(IMPORT):
    del REFUSED[IMPORTED]
PROVABLE = [e for e in EDGES if e.name not in {*REFUSED, *PROVEN_ELSEWHERE}]
WAYS = [(edge, access) for edge in PROVABLE for access in edge.access]


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    ("edge", "access"), [pytest.param(e, a, id=f"{_id(e)}-{a}") for e, a in WAYS]
)
def test_edge(
    edge: MapperSpec, access: Access, prove: Callable[[tuple[str, ...]], None],
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    if "cuda" in edge.name:
        request.getfixturevalue("cuda_device")
    refused = []
    for item in _items(edge):
        mapper = _mapper(edge, item.context)
        expected = write(item, 5)
        samebytes.reset_stats()
        try:
            if edge.transfer is Transfer.COPY:
                _check_copy(mapper, item, access, expected)
            else:
                mapped = mapper.map(item, access)
                assert_same_bytes(item, mapped, access, expected)
                assert samebytes.stats().copies == 0
        except NoRouteError as error:
            refused.append(str(error))
            continue
        level = f"{edge.level} edge"
        prove((level, edge.source, edge.target, edge.transfer.name, access))
        return
    pytest.fail("no source that it takes:\n" + "\n".join(refused))


@pytest.mark.slow
@pytest.mark.usefixtures("cuda_device")
def test_edge_of_a_driver_that_imports_dma_bufs(
    prove: Callable[[tuple[str, ...]], None], pytestconfig: pytest.Config
) -> None:
    """In a process of its own, as a driver is asked for that once."""
    (edge,) = [e for e in EDGES if e.name == IMPORTED]
    if os.environ.get(IMPORT):
        pytest.skip("test_edge has it where the driver imports them")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider",
         f"--softdevices={pytestconfig.getoption('--softdevices')}", "-k",
         f"test_edge and {_id(edge).rpartition('-')[2]}", __file__],
        env={**os.environ, IMPORT: "1", "SAMEBYTES_MATRIX": ""}, cwd=pytestconfig.rootpath,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for access in edge.access:
        assert f"[{_id(edge)}-{access}]" in done.stdout, done.stdout
        prove((f"{edge.level} edge", edge.source, edge.target, edge.transfer.name, access))


def _check_copy(mapper: MemoryMapper, item: Item, access: Access, expected: list[Any]) -> None:
    with pytest.raises(CopyRequiredError, match="copy=True"):
        mapper.map(item, access)
    assert samebytes.stats().copies == 0
    mapped = mapper.map(item, access, copy=True)
    assert samebytes.stats().by_edge[mapper.spec.name].copies >= 1
    if access != "w":
        assert_equal_values(read(mapped), expected)
        write(item, 180)
        assert_equal_values(read(mapped), expected)
    if access != "r":  # what is written to the copy is written back
        written = write(mapped, 90)
        mapped.flush()
        assert_equal_values(read(item), written)


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_edge_that_software_devices_refuse(
    name: str, reason: str, request: pytest.FixtureRequest
) -> None:
    (edge,) = [e for e in EDGES if e.name == name]
    if "cuda" in name:
        request.getfixturevalue("cuda_device")
    item = next(_items(edge))
    with pytest.raises(NoRouteError, match=reason):
        _mapper(edge, item.context).map(item)


def _items(edge: MapperSpec) -> Iterator[Item]:
    """Yield the items of the edge's level that it might take. A plane of a frame is a tensor."""
    layouts = IMAGES if edge.level == "frame" else TENSORS
    for label, row in SOURCES.items():
        # A row of another framework's memory proves what that makes, not the edge of this one.
        if row.node != edge.source or ("CUDA" in label and "cuda" not in edge.name):
            continue
        for name in row.layouts:
            if name in layouts and not layouts[name].readonly:
                yield row.make(layouts[name])
            elif edge.level == "tensor" and row.tensor is None:
                frame = row.make(IMAGES[name])
                assert isinstance(frame, Frame)
                yield frame.planes[0]


def _mapper(edge: MapperSpec, source: Context) -> MemoryMapper:
    """The edge between a context and the one of its target that shares its handles, if one does."""
    try:
        target = source.derive(edge.target)
    except samebytes.SamebytesError:
        target = samebytes.context(edge.target)
    module, _, name = edge.mapper.partition(":")
    made: MemoryMapper = getattr(import_module(module), name)(edge, source, target)
    _held[:] = [target]  # a mapper holds its ends weakly
    return made


_held: list[Context] = []
