# SPDX-License-Identifier: Apache-2.0
"""A pipeline of elements, as the README has it."""

from typing import assert_type

import av
import cv2

import samebytes as sb
import samebytes.elements as el

frames = (av.VideoFrame(320, 240, "yuv420p") for _ in range(5))


@el.inplace(takes=el.Image("I420|NV12", memory="opencv", access="rw"))
def draw(picture: sb.Frame) -> None:
    cv2.rectangle(picture.planes[0].native, (20, 20), (90, 70), (235,), 2)


with el.Pipeline(frames, draw()).start(threads=1) as out:
    for frame in out:
        assert_type(frame, sb.Frame)
        print(frame.width)
    print(out.explain())
    print(out.statistics())

source = el.create("ffmpeg.source", "video.mp4")
with el.Pipeline(source, draw()).start() as running:
    print(running.statistics())


# Elements made of functions have the parameters of these.
@el.inplace
def note(picture: sb.Frame, *, word: str = "seen") -> None:
    picture.metadata[word] = True


@el.source
def pictures(*, count: int) -> list[sb.Frame]:
    return [frame] * count


assert_type(draw(), el.TransformInplace)
assert_type(note(word="found"), el.TransformInplace)
assert_type(pictures(count=1), el.Source)
