# SPDX-License-Identifier: Apache-2.0
"""The table of the references to AVFrames, which finalizers change whenever the collector runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import av
import pytest

import samebytes as sb
from samebytes_ffmpeg import _reference


class Cyclic:
    """Goes with the collector, and maps a frame then."""

    def __init__(self, kept: list[object]) -> None:
        self.me = self
        self.kept = kept

    def __del__(self) -> None:
        self.kept.append(sb.frame(av.VideoFrame(16, 16, "gray")).map("cpu"))


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("allocated", range(50, 650, 50))
def test_frames_that_finalizers_map_while_the_table_is_swept(
    monkeypatch: pytest.MonkeyPatch, allocated: int
) -> None:
    kept: list[object] = [sb.frame(av.VideoFrame(16, 16, "gray")).map("cpu") for _ in range(600)]
    frame = sb.frame(av.VideoFrame(16, 16, "gray"))
    monkeypatch.setattr(_reference, "_most", 0)  # the next mapping sweeps
    gc.collect()
    before = len(kept)
    Cyclic(kept)
    gc.set_threshold(allocated)
    frame.map("cpu").close()
    gc.set_threshold(0)
    gc.collect()
    assert len(kept) == before + 1
