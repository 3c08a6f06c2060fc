# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on those of FFmpeg."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import av
import numpy as np
import pytest

from samebytes.elements import Element, create
from samebytes.testing import ElementSuite


def picture(number: int) -> av.VideoFrame:
    """One grey."""
    made = av.VideoFrame.from_ndarray(np.full((72, 64), number % 200, np.uint8), "yuv420p")
    made.pts, made.time_base = number, Fraction(1, 30)
    return made


class _InFolder(ElementSuite):
    folder: Path

    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path: Path) -> None:
        """Set the folder for the files of a test."""
        self.folder = tmp_path


class TestSource(_InFolder):
    element = "ffmpeg.source"
    many = 200

    def make(self) -> Element:
        """A clip of twelve pictures."""
        path = self.folder / "clip.mp4"
        if not path.exists():
            with av.open(str(path), "w") as container:
                stream = container.add_stream("mpeg4", rate=30)
                stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
                for number in range(12):
                    container.mux(stream.encode(picture(number)))
                container.mux(stream.encode(None))
        return create("ffmpeg.source", str(path))


class TestSink(_InFolder):
    element = "ffmpeg.sink"
    many = 300
    numbers: ClassVar[Any] = itertools.count()

    def make(self) -> Element:
        """Another file each time."""
        path = self.folder / f"{next(self.numbers)}.mp4"
        return create("ffmpeg.sink", str(path), codec="mpeg4")

    def frame(self, number: int) -> Any:
        """As a decoder gives it."""
        return picture(number)


class TestConvert(ElementSuite):
    element = "convert"
    parameters: ClassVar[dict[str, Any]] = {"format": "RGB24", "width": 32, "height": 24}

    def frame(self, number: int) -> Any:
        """A decoder's."""
        return picture(number)
