# SPDX-License-Identifier: Apache-2.0
"""Every edge that reads DMA-BUFs as rows: the rules that all of them keep."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import samebytes
from samebytes import Context, MemoryMapper, Region
from samebytes.errors import (
    AccessError,
    MissingDependencyError,
    NoRouteError,
)
from samebytes.testing import missing_device
from samebytes_dma import INVALID, frame_from_fds, from_fd

Y_TILED = 0x0100000000000002  # drm_fourcc.h: I915_FORMAT_MOD_Y_TILED

# The target, the package that has its edge, the device that it needs.
TARGETS = {
    "cpu": ("samebytes_dma", ""),
    "opencl": ("samebytes_gpu_opencl", "GPU"),
    "level_zero": ("samebytes_npu_level_zero", "NPU"),
    "openvino:NPU": ("samebytes_openvino", "NPU"),
}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Context:
    """The context at the other end, where its package and its device are there."""
    name: str = request.param
    package, device = TARGETS[name]
    distribution = package.replace("_", "-")
    pytest.importorskip(package, reason=f"missing package {package}: pip install {distribution}")
    no_device = missing_device(device)
    try:
        context = samebytes.context(name)
    except MissingDependencyError:
        pytest.skip(no_device)
    if name == "opencl":
        native: Any = context
        if "cl_khr_external_memory_dma_buf" not in native.native_device.extensions.split():
            pytest.skip(no_device)  # a CPU's OpenCL, which imports nothing
    return context


@pytest.fixture
def edges(target: Context) -> dict[str, MemoryMapper]:
    """The edge for tensors, and the one for frames; tests hold `target`, as routes do not."""
    found = {}
    for level in ("tensor", "frame"):
        (hop,) = samebytes.route(samebytes.context("dma"), target, level=level).hops
        found[level] = hop
    return found


@pytest.fixture
def memory() -> Iterator[int]:
    """The descriptor of 16 KiB: a DMA-BUF where this machine makes them."""
    with samebytes.context("dma").allocate((16384,)) as tensor:
        yield tensor.handle()


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("modifier", [Y_TILED, 1, 1 << 63])
def test_tiled_memory_is_not_read_as_rows(
    edges: dict[str, MemoryMapper], memory: int, modifier: int
) -> None:
    with pytest.raises(NoRouteError, match="not linear"):
        edges["tensor"].map(from_fd(memory, (64, 64), modifier=modifier))
    for modifiers in (modifier, (0, modifier), (modifier, 0)):
        frame = frame_from_fds(memory, "NV12", 64, 64, offsets=(0, 8192), modifier=modifiers)
        with pytest.raises(NoRouteError, match="not linear"):
            edges["frame"].map(frame)


@pytest.mark.usefixtures("target")
def test_an_unknown_layout_is_taken_for_rows(edges: dict[str, MemoryMapper], memory: int) -> None:
    tensor = from_fd(memory, (64, 64), modifier=INVALID)
    mapped = edges["tensor"].map(tensor)
    assert mapped.shape == (64, 64)


@pytest.mark.usefixtures("target")
def test_what_may_only_be_read_is_not_written(edges: dict[str, MemoryMapper], memory: int) -> None:
    reading = from_fd(memory, (64, 64)).map("dma")
    for access in ("w", "rw"):
        with pytest.raises(AccessError, match="read-only"):
            edges["tensor"].map(reading, access)


@pytest.mark.usefixtures("target")
def test_planes_are_mapped_one_by_one_and_nothing_is_forgotten(
    edges: dict[str, MemoryMapper], memory: int
) -> None:
    """Each where it lies, padding between them; what is known of the frame goes along."""
    frame = frame_from_fds(memory, "NV12", 64, 64, pitches=(64, 64), offsets=(0, 8192))
    frame.meta.pts, frame.meta.time_base = 42, Fraction(1, 30)
    frame.metadata["camera"] = "left"
    frame.regions.append(Region(1, 2, 3, 4, "cat"))
    mapped = edges["frame"].map(frame)
    assert mapped.meta is frame.meta
    assert mapped.image == frame.image
    assert mapped.parent is frame
    assert [p.info.nbytes for p in mapped] == [p.info.nbytes for p in frame]
    assert samebytes.stats().copies == 0
