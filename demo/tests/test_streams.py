# SPDX-License-Identifier: Apache-2.0
"""Several streams at the same time. What they take is not looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samebytes_demo import _streams
from samebytes_demo._net import Network, stand_in
from samebytes_demo._rgb import CopyingRgb, SamebytesRgb
from samebytes_demo._streams import Throughput, measure_streams


@pytest.fixture(scope="module")
def network() -> Network:
    return Network("a stand-in", stand_in(), threads=1)


def test_every_stream_infers_every_frame(
    clip: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_streams, "ROUNDS", 1)
    monkeypatch.setattr(_streams, "_FRAMES", 3)
    seen: dict[str, list[Any]] = {"samebytes": [], "copying": []}
    for kind in (SamebytesRgb, CopyingRgb):
        infer = kind.infer

        def counted(self: Any, frame: Any, infer: Any = infer) -> Any:
            seen[self.name].append(self)
            return infer(self, frame)

        monkeypatch.setattr(kind, "infer", counted)
    passes: list[int] = []
    found = measure_streams(clip, network, 2, passes.append)
    assert passes == [1, 2, 3, 4]
    for way in seen.values():
        # Two streams with a request each, two rounds of three frames.
        assert sorted(way.count(one) for one in set(way)) == [6, 6]
    assert found.streams == 2
    assert set(found.fps) == set(found.cpu_ms) == set(seen)
    assert found.as_dict()["size"] == list(found.size)


def test_an_error_in_one_stream_ends_the_others(
    clip: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[Any] = []

    def broken(self: Any, _: Any) -> Any:
        first.append(self)
        if self is first[0]:
            raise ValueError("broken")

    monkeypatch.setattr(SamebytesRgb, "infer", broken)
    with pytest.raises(ValueError, match="broken"):
        measure_streams(clip, network, 2, lambda done: None)


def test_the_line() -> None:
    found = Throughput(
        4, (640, 360), {"samebytes": 30.0, "copying": 20.0}, {"samebytes": 1.0, "copying": 2.0}
    )
    assert found.line() == (
        "4 streams of 640x360: samebytes 30.0 frames a second, copying 20.0: 1.50 times as many; "
        "CPU 1.00 and 2.00 ms a frame"
    )
