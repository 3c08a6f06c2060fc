# SPDX-License-Identifier: Apache-2.0
"""Memory of devices to every other memory type: the same bytes, or a refusal that says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import samebytes
from samebytes import Access
from samebytes.errors import AccessError, CopyRequiredError, NoRouteError

from .proof import assert_same_bytes, read, write
from .refusals import REFUSALS, refusal
from .sources import IMAGES, SOURCES, TARGETS, TENSORS

ACCESSES: tuple[Access, ...] = ("r", "w", "rw")
LAYOUTS = {**TENSORS, **IMAGES}
HOST = {"cpu", "ffmpeg", "opencv", "openvino"}
FRAMES_ONLY = {"ffmpeg", "ffmpeg:DRM", "ffmpeg:VAAPI", "vaapi"}


def _params() -> list[Any]:
    return [
        pytest.param(*cell, access, id="-".join((*cell, access)))
        for cell in _cells()
        for access in ACCESSES
    ]


def _cells() -> list[tuple[str, str, str]]:
    """(source, target, layout); what has no device at either end is proven in test_matrix."""
    return [
        (name, target, layout)
        for name, source in SOURCES.items()
        for target in TARGETS
        if not {source.node, target} <= HOST
        for layout in source.layouts
        # These have frames only: that is a refusal of the core's, proven there too.
        if target not in FRAMES_ONLY or layout in IMAGES
    ]


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(("source", "target", "layout", "access"), _params())
def test_cell(
    source: str, target: str, layout: str, access: Access,
    prove: Callable[[tuple[str, ...]], None], request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    if "cuda" in f"{source} {target}".lower():
        request.getfixturevalue("cuda_device")
    what, row = LAYOUTS[layout], SOURCES[source]
    level = "device tensor" if layout in TENSORS else "device frame"
    item = row.make(what)
    expected = read(item) if what.readonly else write(item, 5)
    samebytes.reset_stats()
    refused = refusal(source, target, layout, access)
    if what.readonly and access != "r":
        with pytest.raises(AccessError, match="read-only"):
            item.map(target, access)
        return
    mapped, why = _mapped(item, target, access)
    if mapped is None:
        assert refused is not None, why
        assert any(reason in why for reason in refused.reasons), why
        assert samebytes.stats().copies == 0
        prove((level, source, target, layout, "no"))
        return
    assert refused is None or refused.by_chance
    assert_same_bytes(item, mapped, access, expected)
    assert mapped.context.node == target
    assert mapped.parent is item
    assert mapped.readonly == (access == "r")
    assert samebytes.stats().copies == 0
    prove((level, source, target, layout, "no" if refused else access))


def _mapped(item: Any, target: str, access: Access) -> tuple[Any, str]:
    """The mapping, or None and why it was refused."""
    try:
        return item.map(target, access), ""
    except (CopyRequiredError, NoRouteError) as error:
        return None, str(error)


def test_every_rule_is_the_first_for_some_cell() -> None:
    first = {
        next((rule for rule in REFUSALS if rule.fits(*cell, access)), None)
        for cell in _cells()
        for access in ACCESSES
    }
    assert first - {None} == set(REFUSALS)
