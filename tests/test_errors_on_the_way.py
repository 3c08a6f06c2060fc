# SPDX-License-Identifier: Apache-2.0
"""A warm mapping between devices raises no error of ours on the way, not even one that is caught.

Making an error takes longer than the mapping of a plane. No time is measured: errors are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from samebytes.errors import SamebytesError
from samebytes.testing import device_context

WARM = 3


def errors_made(function: Callable[[], object]) -> list[str]:
    """The names of the errors of ours that are made, and the function that makes each."""
    made: list[str] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        error = frame.f_locals.get("self") if frame.f_code.co_name == "__init__" else None
        if event == "call" and isinstance(error, SamebytesError) and frame.f_back is not None:
            made.append(f"{type(error).__name__} in {frame.f_back.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return made


@pytest.mark.parametrize(
    ("node", "kind", "target"),
    [
        ("openvino:GPU", "GPU", "opencl"),
        ("opencl", "GPU", "openvino:GPU"),
        ("openvino:NPU", "NPU", "level_zero"),
    ],
)
def test_a_warm_mapping_raises_nothing(node: str, kind: str, target: str) -> None:
    context = device_context(node, kind)
    frame = context.allocate_frame("NV12", 64, 48)
    other = context.derive(target)
    for _ in range(WARM):
        frame.map(other, "r").close()
    assert errors_made(lambda: frame.map(other, "r").close()) == []


def test_errors_are_seen() -> None:
    def fails() -> None:
        with pytest.raises(SamebytesError):
            raise SamebytesError("seen")

    (made,) = errors_made(fails)
    assert made.startswith("SamebytesError in ")
