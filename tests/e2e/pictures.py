# SPDX-License-Identifier: Apache-2.0
"""`python3 dev.py pictures`: what samples, demo and notebook make, as pictures of their pages."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

import samebytes_gstreamer as sbg

from .notebook import CELLS, as_page, executed, photographed
from .sample_inputs import FRAMES, make_model, make_video
from .street import make_street, street_with_boxes
from .terminal import drawn, shown

__all__ = ["main"]

_ROOT = Path(__file__).parents[2]
_SHOWN = (FRAMES // 4, FRAMES // 2, 3 * FRAMES // 4)
_STREET = (3, 16)
_LONG = 600
"""Frames of a street that takes some seconds."""
_WIDTH = 720
_GAP = 8
_YELLOW = (0, 255, 255)
_PIPELINE = """\
import samebytes.elements as el

pipeline = el.Pipeline(
    el.create("ffmpeg.source", "street.mp4"),
    el.create("opencv.draw"),
    el.create("ffmpeg.sink", "drawn.mp4"),
)
"""
_BALL = "videotestsrc pattern=ball num-buffers=24"


def main() -> None:
    """Run the samples, the demo and a notebook, and write what is seen of each."""
    target = _ROOT / "docs" / "how-to" / "pictures"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        video, model = folder / "video.mp4", folder / "detector.xml"
        make_video(video)
        make_model(model)
        for sample, arguments in (("detect", [video, model]), ("gray_kernel", [model])):
            made = folder / f"{sample}.mkv"
            _run(sample, *arguments, made)
            _write(target / f"{sample}.png", _sheet(_decoded(made), _SHOWN))
        streams = _several_streams(video, model)
        _write(target / "several_streams.png", _sheet(streams, range(len(streams))))
        balls = _ball_frames(model)
        _write(target / "gstreamer_element.png", _sheet(balls, _SHOWN))
        demo = [sys.executable, "-m", "samebytes", "demo", "--no-compare", "--output"]
        made = folder / "demo.mp4"
        subprocess.run([*demo, str(made)], check=True, stdout=subprocess.DEVNULL)
        _write(target / "demo.png", _first_row(made.with_suffix(".png")))
        make_street(folder / "street.mp4")
        _write(target / "street.png", _sheet(street_with_boxes(folder / "street.mp4"), _STREET))
        _write_terminals(target, folder)
        notebook = photographed(as_page(executed(CELLS, folder)), folder)
        _write(target / "notebook.png", notebook)


def _write_terminals(target: Path, folder: Path) -> None:
    """Commands as a terminal shows them; `samebytes run` in the middle of its frames, and after."""
    samebytes = Path(sysconfig.get_path("scripts"), "samebytes")

    def write(name: str, words: str, text: str) -> None:
        if str(_ROOT) in text:
            raise SystemExit(f"samebytes {words} shows a path of this machine:\n{text}")
        _write(target / f"{name}.svg", drawn(f"samebytes {words}", text).encode())

    for name, words, status in (
        ("elements", "elements", 0),
        ("element", "elements opencv.draw", 0),
        ("doctor", "doctor ffmpeg cuda", 1),
    ):
        write(name, words, shown([samebytes, *words.split()], folder, status))
    make_street(folder / "street.mp4", count=_LONG)
    (folder / "street.py").write_text(_PIPELINE)
    text = shown([samebytes, "run", "street.py"], folder)
    bars = list(re.finditer(rf"(\d+)/{_LONG}\b[^\r\n]*/s[^\r\n]*", text))
    in_the_middle = [bar.end() for bar in bars if int(bar[1]) >= _LONG // 2]
    if not in_the_middle:
        raise SystemExit(f"no bar was shown:\n{text}")
    write("run", "run street.py", text[: in_the_middle[0]])
    # Where it has gone up and erased the line of the bar.
    write("statistics", "run street.py", text.rpartition("\x1b[2K")[2])


def _run(sample: str, *arguments: Any) -> str:
    """Run a sample and return what it prints."""
    command = [sys.executable, _ROOT / "samples" / f"{sample}.py", *arguments]
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _several_streams(video: Path, model: Path) -> list[Any]:
    """A frame of each of two cameras, with the box that the sample printed for it.

    The second camera sees the same scene upside down.
    """
    turned = video.with_name("turned.mp4")
    with av.open(str(turned), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.height, stream.width = _decoded(video)[0].shape[:2]
        for image in _decoded(video):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image[::-1].copy(), "bgr24")))
        container.mux(stream.encode(None))
    printed = _run("several_streams", model, video, turned)
    cameras = [_decoded(video), _decoded(turned)]
    for number, frames in enumerate(cameras):
        _draw(frames, printed, f"camera {number}, ")
    return [frames[_SHOWN[1]] for frames in cameras]


def _ball_frames(model: Path) -> list[Any]:
    """The frames of GStreamer's test source, with the boxes that the sample printed for them."""
    printed = _run("gstreamer_element", _BALL, model)
    with sbg.GStreamerSource(f"{_BALL} ! video/x-raw,format=BGR") as source:
        frames = [frame.map("cpu").planes[0].native.copy() for frame in source]
    _draw(frames, printed, "")
    return frames


def _draw(frames: list[Any], printed: str, before: str) -> None:
    """Draw the boxes of lines such as "camera 1, frame 12: 64 48 64 48"."""
    lines = re.findall(rf"^{before}frame (\d+): (\d+) (\d+) (\d+) (\d+)$", printed, re.MULTILINE)
    if not lines:
        raise SystemExit(f"the sample printed no box:\n{printed}")
    for number, *box in lines:
        x, y, width, height = map(int, box)
        cv2.rectangle(frames[int(number)], (x, y), (x + width - 1, y + height - 1), _YELLOW, 2)


def _write(picture: Path, content: bytes) -> None:
    picture.write_bytes(content)
    sys.stdout.write(f"{picture.relative_to(_ROOT)}: {len(content)} bytes\n")


def _first_row(sheet: Path) -> bytes:
    """Three of the nine frames that the demo shows, as wide as a page."""
    image = cv2.imread(str(sheet))
    assert image is not None
    row = image[: image.shape[0] // 3]
    height = row.shape[0] * _WIDTH // row.shape[1]
    small = cv2.resize(row, (_WIDTH, height), interpolation=cv2.INTER_AREA)
    return cv2.imencode(".png", small, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes()


def _decoded(video: Path) -> list[Any]:
    with av.open(str(video)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def _sheet(frames: list[Any], shown: Iterable[int]) -> bytes:
    """Some of the frames side by side, as PNG."""
    first, *others = (frames[number] for number in shown)
    gap = np.full((len(first), _GAP, 3), 255, np.uint8)
    _, encoded = cv2.imencode(".png", np.hstack([first, *(x for o in others for x in (gap, o))]))
    return encoded.tobytes()


if __name__ == "__main__":
    main()
