# SPDX-License-Identifier: Apache-2.0
"""The element v4l2.source, on vivid, the camera of the lab."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import samebytes
import samebytes.elements as el
from samebytes.testing import ElementSuite

pytestmark = pytest.mark.dmabuf

SMALL: dict[str, Any] = {"device": "/dev/video0", "width": 320, "height": 180, "rate": 60.0}


class TestSource(ElementSuite):
    """A camera's stream does not end, and no two of its pictures are the same."""

    element = "v4l2.source"
    parameters: ClassVar[dict[str, Any]] = SMALL
    ends = False
    count = 4
    many = 24


@el.inplace(takes=el.Image("BGR", memory="cpu", access="rw"))
def blacken(frame: Any) -> None:
    frame.planes[0].native[:8] = 0


def test_the_format_is_that_of_the_next_element() -> None:
    source = el.create("v4l2.source", **SMALL, frames=3)
    samebytes.reset_stats()
    with el.Pipeline(source, blacken()).start() as out:
        found = list(out)
    assert [frame.format.name for frame in found] == ["BGR"] * 3
    assert all(not np.any(frame.map("cpu").native[0][:8]) for frame in found)
    assert samebytes.stats().copies == 0


def test_times_begin_at_zero_and_rise() -> None:
    source = el.create("v4l2.source", **SMALL, format="NV12", frames=4)
    times: list[Any] = []
    with el.Pipeline(source).start() as out:
        for frame in out:
            times.append(frame.pts)
            assert frame.metadata["v4l2"]["timestamp"] > frame.pts
    assert times[0] == 0
    assert times == sorted(set(times))


def test_frames_that_the_program_keeps() -> None:
    source = el.create("v4l2.source", **SMALL, format="NV12", buffers=2)
    held: list[Any] = []
    with (
        pytest.raises(samebytes.errors.PoolTimeoutError, match=r"v4l2\.source"),
        el.Pipeline(source).start(pool_timeout=0.3) as out,
    ):
        held.extend(out)
    assert held


def test_a_camera_that_is_not_there() -> None:
    source = el.create("v4l2.source", "/dev/no-camera")
    with pytest.raises(samebytes.errors.ElementError, match="/dev/no-camera is missing"):
        el.Pipeline(source).run()
