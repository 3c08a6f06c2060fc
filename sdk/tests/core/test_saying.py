# SPDX-License-Identifier: Apache-2.0
"""Arguments with which the maker of a frame describes it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import FrameMeta
from samebytes.errors import MetadataError
from samebytes.plugins import HostContext

PIXELS = np.zeros((3, 4), np.uint8)
TIMES: dict[str, Any] = {
    "pts": 7,
    "time_base": Fraction(1, 25),
    "duration": Fraction(1, 50),
    "metadata": {"color_range": "full", "duration": Fraction(9)},
}


class OldContext(HostContext):
    """One whose author has never heard of these arguments."""

    memory_type = node = "old"

    def allocate_frame(self, format: Any, width: int, height: int) -> Any:
        image = sb.ImageInfo.of(format, width, height)
        native = (np.zeros((height, width), np.uint8),)
        return sb.Frame.borrowed(native, self, FrameMeta(image))


def made(**says: Any) -> list[sb.Frame]:
    return [
        sb.frame(PIXELS, format="GRAY8", **says),
        sb.context("cpu").allocate_frame("GRAY8", 4, 3, **says),
        OldContext().allocate_frame("GRAY8", 4, 3, **says),
    ]


def test_a_frame_says_what_was_passed() -> None:
    for frame in made(**TIMES):
        assert (frame.pts, frame.meta.time_base) == (7, Fraction(1, 25))
        assert frame.metadata == {"color_range": "full", "duration": Fraction(1, 50)}
    assert TIMES["metadata"]["duration"] == 9  # that of the caller stays


def test_nothing_is_said_by_default() -> None:
    for frame in made():
        assert (frame.pts, frame.meta.time_base, frame.metadata) == (None, None, {})


def test_numbers_of_numpy_become_pythons() -> None:
    for frame in made(pts=np.int64(5), time_base=1, duration=2):
        assert (type(frame.pts), frame.pts) == (int, 5)
        assert type(frame.meta.time_base) is type(frame.metadata["duration"]) is Fraction


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pts", 0.5),
        ("pts", True),
        ("time_base", 0),
        ("time_base", 0.04),
        ("time_base", Fraction(-1, 25)),
        ("duration", -1),
        ("duration", Decimal("0.5")),
        ("duration", False),
        ("metadata", ["color_range"]),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(MetadataError, match=f"^{name} must") as caught:
        sb.frame(PIXELS, format="GRAY8", **{name: value})
    assert caught.value.field == name
    with pytest.raises(MetadataError, match=f"^{name} must"):
        sb.context("cpu").allocate_frame("GRAY8", 4, 3, **{name: value})


def test_a_planes_own_frame_is_not_changed() -> None:
    first = sb.frame(PIXELS, format="GRAY8", pts=1)
    again = sb.frame(list(first), format="GRAY8", pts=2)
    assert (first.pts, again.pts) == (1, 2)
