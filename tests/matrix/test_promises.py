# SPDX-License-Identifier: Apache-2.0
"""The promises of routes between names hold for the real objects of the matrix."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import samebytes
from samebytes import Access
from samebytes.errors import CopyRequiredError, RouteError, SamebytesError

from .sources import IMAGES, SOURCES, TARGETS, TENSORS

pytestmark = pytest.mark.usefixtures("devices", "cuda_device")
LAYOUTS: dict[Literal["tensor", "frame"], Any] = {"tensor": TENSORS, "frame": IMAGES}
NODES = sorted({row.node for row in SOURCES.values()})


def shared(node: str, target: str, level: Literal["tensor", "frame"], access: Access) -> list[bool]:
    """For each kind of memory and each layout of a node: whether it maps without a copy."""
    found = []
    for row in SOURCES.values():
        for name in row.layouts if row.node == node else ():
            layout = LAYOUTS[level].get(name)
            if layout is None or (layout.readonly and access != "r"):
                continue
            item = row.make(layout)
            try:
                mapped = item.map(target, access)
            except RouteError:
                found.append(False)
            else:
                found.append(True)
                del mapped
    return found


def promised(
    node: str, target: str, level: Literal["tensor", "frame"], access: Access
) -> samebytes.Route | None:
    """The route between the names, or None where none is said to be without a copy."""
    try:
        return samebytes.route(node, target, level=level, access=access)
    except RouteError:
        return None


@pytest.mark.parametrize("access", ["r", "rw"])
@pytest.mark.parametrize("level", LAYOUTS)
@pytest.mark.parametrize("node", NODES)
def test_a_route_between_names(
    node: str, level: Literal["tensor", "frame"], access: Access
) -> None:
    tried = 0
    for target in TARGETS:
        found = shared(node, target, level, access)
        if not found:
            continue
        tried += 1
        route = promised(node, target, level, access)
        if route is None:
            assert not any(found), f"{node} -> {target} was said not to be"
            continue
        plain = route.as_dict()
        text = route.explain()
        if not any(found):
            # Every real object is copied or refused: nothing else may be said.
            assert route.depends_on, text
            assert plain["copies"] is None
            assert text.splitlines()[0].count("depends on the object") == 1
            assert "no copy" not in text
        elif not route.depends_on:
            assert plain["copies"] is False
    if not tried:
        pytest.skip(f"{node} has no {level}s here")


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", "complex64", "bfloat16"])
@pytest.mark.parametrize("node", TARGETS)
def test_a_copy_that_is_asked_for_helps(node: str, dtype: str) -> None:
    context = samebytes.context(node)
    for shape in ((64, 64), (1, 64, 64, 4), (4096,), (1,) * 9):
        try:
            tensor = context.allocate(shape, dtype)
        except SamebytesError:
            continue
        for target in TARGETS:
            if (node, target) == ("opencv_umat", "level_zero"):
                continue  # where UMat.get() puts the copy, whole pages are luck
            try:
                tensor.map(target)
            except CopyRequiredError:
                tensor.map(target, copy=True)
            except SamebytesError:
                pass


@pytest.mark.parametrize("access", ["r", "rw"])
@pytest.mark.parametrize("node", TARGETS)
def test_a_copy_of_a_frame_that_is_asked_for_helps(node: str, access: Access) -> None:
    try:
        frame = samebytes.context(node).allocate_frame("NV12", 64, 32)
    except SamebytesError:
        pytest.skip(f"{node} allocates no frames")
    for target in TARGETS:
        try:
            frame.map(target, access)
        except CopyRequiredError:
            frame.map(target, access, copy=True)
        except SamebytesError:
            pass


def test_what_the_first_findings_were() -> None:
    """Both were promised without a copy, and no object ever went that way."""
    for source, target, condition in (
        ("opencl", "opencv_umat", "opencl -> opencv_umat takes only memory that is a UMat's"),
        ("vaapi", "sycl", "level_zero -> sycl takes only USM of a SYCL queue's context"),
    ):
        route = samebytes.route(source, target)
        assert route.depends_on == (condition,)
        assert condition in route.explain()
        assert route.as_dict()["depends_on"] == [condition]


def test_an_object_has_no_conditions() -> None:
    item = SOURCES["opencl, of a UMat"].make(TENSORS["page"])
    route = samebytes.route(item, "opencv_umat")
    assert route.depends_on == ()
    assert route.as_dict()["copies"] is False
    assert "no copy, cost" in route.explain()
    with pytest.raises(RouteError):
        samebytes.route(SOURCES["opencl"].make(TENSORS["page"]), "opencv_umat")
