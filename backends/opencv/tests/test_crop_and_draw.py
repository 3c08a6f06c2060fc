# SPDX-License-Identifier: Apache-2.0
"""A part of a decoder's frame, and an element that writes into it: the refusal says what works."""

from __future__ import annotations

from pathlib import Path

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

av = pytest.importorskip("av", reason="missing package av: pip install av")
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)


def test_what_the_refusal_advises_works(tmp_path: Path) -> None:
    path = str(tmp_path / "a.mp4")
    with av.open(path, "w") as file:
        stream = file.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for _ in range(5):
            file.mux(stream.encode(av.VideoFrame(128, 96, "yuv420p")))
        file.mux(stream.encode(None))

    def drawn(**advice: bool) -> int:
        crop = el.create("opencv.crop", 32, 32, 64, 32, **advice)
        source = el.create("ffmpeg.source", path)
        return len(list(el.Pipeline(source, crop, el.create("opencv.draw")).start()))

    with pytest.raises(ElementError, match=r"'opencv.crop' gives a part .* writable=True"):
        drawn()
    assert drawn(writable=True) == 5
