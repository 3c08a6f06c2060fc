# SPDX-License-Identifier: Apache-2.0
"""A street that is drawn here, and a pipeline that finds in it what moves: for the front page.

No clip of anybody's is used. What is found is found in the decoded frames, by its colour.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

import samebytes as sb
import samebytes.elements as el

__all__ = ["make_street", "street_with_boxes"]

_COUNT = 24
_WIDTH, _HEIGHT = 640, 360
_ROAD = 250
"""The row at which the road begins."""
Array = np.ndarray[Any, Any]


def _house(picture: Array, left: int, width: int, top: int, wall: int) -> None:
    cv2.rectangle(picture, (left, top), (left + width - 1, _ROAD - 24), (wall, wall, wall), -1)
    dark = (wall - 45,) * 3
    for x in range(left + 12, left + width - 20, 30):
        for y in range(top + 14, _ROAD - 60, 34):
            cv2.rectangle(picture, (x, y), (x + 14, y + 20), dark, -1)


def _car(picture: Array, x: int, y: int, length: int, color: tuple[int, int, int]) -> None:
    """A car whose wheels stand on row y."""
    high = length // 4
    roof = [
        (x + length // 6, y - high),
        (x + length // 3, y - 2 * high + 6),
        (x + length * 3 // 4, y - 2 * high + 6),
        (x + length * 11 // 12, y - high),
    ]
    cv2.fillPoly(picture, [np.array(roof, np.int32)], color)
    cv2.rectangle(picture, (x, y - high), (x + length - 1, y - high // 3), color, -1)
    glass = [(px, py + 5 if py < y - high else py - 3) for px, py in roof]
    inner = [(px + (4 if n < 2 else -4), py) for n, (px, py) in enumerate(glass)]
    cv2.fillPoly(picture, [np.array(inner, np.int32)], (150, 140, 130))
    for wheel in (x + length // 5, x + length * 4 // 5):
        cv2.circle(picture, (wheel, y - high // 3), high // 3, (30, 30, 30), -1)


def _person(picture: Array, x: int, y: int, step: int) -> None:
    """A person in green, with a hood, whose feet are on row y."""
    coat, trousers, face = (40, 170, 60), (45, 125, 50), (150, 170, 190)
    cv2.line(picture, (x, y - 28), (x - step, y), trousers, 6)
    cv2.line(picture, (x, y - 28), (x + step, y), trousers, 6)
    cv2.rectangle(picture, (x - 9, y - 62), (x + 9, y - 24), coat, -1)
    cv2.circle(picture, (x, y - 68), 9, coat, -1)
    cv2.circle(picture, (x - 4, y - 68), 5, face, -1)


def _street(number: int) -> Array:
    """A picture in BGR: a red and a blue car pass, and a person walks."""
    picture = np.empty((_HEIGHT, _WIDTH, 3), np.uint8)
    sky = np.linspace(190, 225, _ROAD)[:, None]
    picture[:_ROAD] = np.repeat(sky, _WIDTH, 1)[..., None]
    for left, width, top, wall in (
        (0, 120, 60, 150), (120, 150, 100, 170), (270, 110, 40, 140), (380, 160, 80, 160),
        (540, 100, 50, 145),
    ):  # fmt: skip
        _house(picture, left, width, top, wall)
    picture[_ROAD - 24 : _ROAD] = 180  # the pavement
    picture[_ROAD:] = 85
    for left in range(-40, _WIDTH, 90):
        cv2.rectangle(picture, (left, 303), (left + 44, 308), (210, 210, 210), -1)
    _person(picture, 470 - 4 * number, _ROAD - 4, 4 + number % 2 * 6)
    _car(picture, 20 + 9 * number, 296, 120, (40, 40, 200))
    _car(picture, 480 - 14 * number, 350, 150, (200, 90, 30))
    return picture


def make_street(path: Path, count: int = _COUNT) -> None:
    """Write the street as a video, again and again if it is to have more frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=15, options={"crf": "14", "bf": "2"})
        stream.width, stream.height, stream.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(_street(number % _COUNT), "bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 15)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@el.inplace(takes=el.Image("I420", memory="cpu"))
def _find(frame: sb.Frame[Any]) -> None:
    """Find what has a colour, in the decoder's planes of chroma: all else in the street is gray."""
    u, v = (plane.native.astype(np.int16) - 128 for plane in frame.planes[1:])
    colors = {"car": (v > 20, u > 20), "person": ((u < -12) & (v < -12),)}
    for label, masks in colors.items():
        for mask in masks:
            _, _, found, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
            for left, top, width, height, area in found[1:].tolist():
                if area > 60:
                    frame.regions.append(sb.Region(2 * left, 2 * top, 2 * width, 2 * height, label))


def street_with_boxes(video: Path) -> list[Array]:
    """The frames of the video with what was found in them, in BGR."""
    made = video.with_name("found.mkv")
    sb.reset_stats()
    el.Pipeline(
        el.create("ffmpeg.source", video),
        _find(),
        el.create("opencv.draw"),
        el.create("ffmpeg.sink", made, options={"crf": "10"}),
    ).run()
    assert sb.stats().copied_bytes == 0
    with av.open(str(made)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
