# SPDX-License-Identifier: Apache-2.0
"""Ways over several edges: the router finds them by itself, from the name of the target."""

from __future__ import annotations

from typing import Any

import pytest

import samebytes
from samebytes.errors import CopyRequiredError, NoRouteError

from .proof import assert_equal_values, assert_same_bytes, parts_of, read, write
from .sources import IMAGES, SOURCES, TENSORS

pytestmark = pytest.mark.usefixtures("devices")
LAYOUTS = {**TENSORS, **IMAGES}

# row, layout, the nodes on the way
SHARED = [
    ("dma", "page", "dma -> level_zero"),
    ("dma", "NV12", "dma -> openvino:NPU"),
    ("dma", "NV12 padded", "dma -> cpu -> openvino"),
    ("ffmpeg", "NV12", "ffmpeg -> cpu -> openvino:GPU"),
    ("ffmpeg", "GRAY8", "ffmpeg -> cpu -> openvino:NPU"),
    ("ffmpeg", "GRAY8", "ffmpeg -> cpu -> level_zero"),
    ("level_zero, exportable", "page", "level_zero -> dma"),
    ("opencl", "page", "opencl -> openvino:GPU"),
    ("opencl", "padded rows", "opencl -> cpu"),
    ("opencv_umat", "page", "opencv_umat -> opencl -> cpu"),
    ("openvino:GPU", "page", "openvino:GPU -> opencl -> cpu -> openvino"),
    ("openvino:NPU", "page", "openvino:NPU -> cpu -> opencv"),
]
# row, layout, target, the edge that copies
COPIED = [
    ("cpu", "page", "opencl", "cpu -> opencl"),
    ("cpu", "page", "openvino:GPU", "cpu -> openvino:GPU"),
    ("cpu", "NV12 padded", "openvino:NPU", "cpu -> openvino:NPU"),
    ("dma", "page", "opencv_umat", "opencl -> opencv_umat"),
    ("opencl", "page", "opencv_umat", None),
    ("opencl, device USM", "page", "opencv", "opencl -> cpu"),
    ("openvino:GPU", "page", "opencv_umat", None),
    ("openvino:GPU, device USM", "page", "cpu", "openvino:GPU -> cpu"),
    ("level_zero", "page", "opencv_umat", "cpu -> opencv_umat"),
]


@pytest.mark.parametrize(("row", "layout", "way"), SHARED)
def test_a_way_is_found(row: str, layout: str, way: str) -> None:
    item = SOURCES[row].make(LAYOUTS[layout])
    expected = write(item, 5)
    route = samebytes.route(item, way.rpartition(" ")[2], access="rw")
    assert " -> ".join(context.node for context in route.contexts) == way, route.explain()
    samebytes.reset_stats()
    mapped = item.map(route.target, "rw")
    assert_same_bytes(item, mapped, "rw", expected)
    assert samebytes.stats().copies == 0


def test_a_context_that_shares_a_cl_context_takes_the_memory_itself() -> None:
    """By its name, openvino:GPU is the plugin's own cl_context, and OpenCV has another one."""
    item = SOURCES["opencv_umat"].make(TENSORS["page"])
    expected = write(item, 5)
    target = item.context.derive("opencl").derive("openvino:GPU")
    route = samebytes.route(item, target, access="rw")
    assert [c.node for c in route.contexts] == ["opencv_umat", "opencl", "openvino:GPU"]
    assert_same_bytes(item, item.map(target, "rw"), "rw", expected)


def test_by_way_of_a_context_of_ones_own() -> None:
    item = SOURCES["dma"].make(TENSORS["page"])
    expected = write(item, 5)
    target = samebytes.context("openvino:GPU")
    route = samebytes.route(item, target, access="rw", via=[target.derive("opencl")])
    assert_same_bytes(item, route.map(item), "rw", expected)


def test_exported_memory_goes_round() -> None:
    """Edge by edge: level_zero -> dma -> opencl, and on to a model's input."""
    item = SOURCES["level_zero, exportable"].make(TENSORS["page"])
    expected = write(item, 5)
    route = samebytes.route(item, "opencl", access="rw", via=["dma"])
    mapped = route.map(item)
    assert_same_bytes(item, mapped, "rw", expected)
    remote = mapped.map("openvino:GPU", "rw")
    assert_same_bytes(item, remote, "rw", write(item, 7))


@pytest.mark.parametrize(("row", "layout", "target", "edge"), COPIED)
def test_copies_are_made_where_they_are_allowed(
    row: str, layout: str, target: str, edge: str | None
) -> None:
    item = SOURCES[row].make(LAYOUTS[layout])
    expected = write(item, 5)
    samebytes.reset_stats()
    with pytest.raises(CopyRequiredError, match="copy=True"):
        item.map(target)
    assert samebytes.stats().copies == 0
    mapped = item.map(target, copy=True)
    counted = samebytes.stats()
    assert counted.copies > 0
    assert edge is None or edge in counted.by_edge
    assert_equal_values(read(mapped), expected)
    write(item, 180)
    assert_equal_values(read(mapped), expected)


@pytest.mark.parametrize("start", [16, 64, 128, 2048])
@pytest.mark.parametrize("target", ["opencl", "openvino:GPU", "openvino:NPU", "level_zero"])
def test_memory_inside_a_page_is_shared_or_refused(start: int, target: str) -> None:
    """A driver may take it, work on its own copy, and still give the same address back."""
    pages: Any = samebytes.context("cpu").allocate((4 * 4096,)).native
    array = pages[start : start + 8192].reshape(64, 128)
    item = samebytes.tensor(array)
    expected = write(item, 5)
    try:
        mapped = item.map(target)
    except (CopyRequiredError, NoRouteError):
        return
    assert_same_bytes(item, mapped, "r", expected)


def test_only_some_drivers_tell_descriptors() -> None:
    item = SOURCES["opencl"].make(TENSORS["page"])
    with pytest.raises((CopyRequiredError, NoRouteError), match="reports no descriptor"):
        item.map("dma")


@pytest.mark.parametrize("target", ["cpu", "dma", "opencl", "level_zero"])
def test_no_other_device_is_asked_for_what_needs_none(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A route that works without a third device does not make a context there."""
    from samebytes_openvino.intel_gpu import ClContext
    from samebytes_openvino.intel_npu import ZeroContext

    item = SOURCES["dma"].make(TENSORS["page"])

    def never(*_: Any) -> Any:
        pytest.fail("a context of OpenVINO's was made")

    samebytes.refresh()
    for kind in (ClContext, ZeroContext):
        monkeypatch.setattr(kind, "create", never)
    assert parts_of(item.map(target))
