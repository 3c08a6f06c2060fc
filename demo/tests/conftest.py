# SPDX-License-Identifier: Apache-2.0
"""A clip whose contents are known, and the results of the three pipelines for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
from av.video.frame import PictureType

from samebytes_demo import pipelines
from samebytes_demo.pipelines import Result

FRAMES = 60
WIDTH, HEIGHT = 640, 360
"""The size of the clip: smaller than the demo's own, so that the tests are quick."""

Images = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Run:
    """The result of one pipeline, and the file that it wrote."""

    result: Result
    output: Path


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    pipelines.make_clip(path, FRAMES, WIDTH, HEIGHT)
    return path


@pytest.fixture(scope="session")
def runs(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Each pipeline on the clip, by its name."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for function in (pipelines.run_samebytes, pipelines.run_native, pipelines.run_copying):
        output = folder / f"{function.__name__}.mp4"
        result = function(clip, output)
        found[result.pipeline] = Run(result, output)
    return found


def decode(path: Path, format_: str = "yuv420p") -> Images:
    """All frames of a file in one array."""
    with av.open(path) as container:
        return np.stack(
            [f.to_ndarray(format=format_).astype(np.uint8) for f in container.decode(video=0)]
        )


Transcode = Callable[..., Path]


@pytest.fixture
def transcode(clip: Path, tmp_path: Path) -> Transcode:
    """The clip in another size, format or codec."""

    def make(
        codec: str = "libx264",
        size: tuple[int, int] = (640, 360),
        format_: str = "yuv420p",
        frames: int = 12,
        options: dict[str, str] | None = None,
        name: str = "other.mp4",
        rotation: int = 0,
    ) -> Path:
        path = tmp_path / name
        with av.open(clip) as source, av.open(path, "w") as target:
            stream = target.add_stream(codec, rate=30, options=options or {})
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height = size
            stream.pix_fmt = format_
            if rotation:
                stream.set_display_rotation(rotation)
            for number, frame in zip(range(frames), source.decode(video=0), strict=False):
                other = frame.reformat(*size, format_)
                other.pts, other.time_base = number, Fraction(1, 30)
                other.pict_type = PictureType.NONE
                target.mux(stream.encode(other))
            target.mux(stream.encode(None))
        return path

    return make
