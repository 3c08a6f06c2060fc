# SPDX-License-Identifier: Apache-2.0
"""The sample that decodes here and infers in another process, with frames that need no copy.

Its arguments are the folder of the samples, where the frames are to lie ("vaapi" or "dma:memfd"),
the address of the ring and a video.
"""

import sys
from typing import Any

import av
import numpy as np

import samebytes as sb
from samebytes import Frame


def surfaces(video: str, memory: str) -> list[Frame]:
    """The pictures of a video as NV12, as a decoder that writes to that memory would give them."""
    made: list[Frame] = []
    for decoded in av.open(video).decode(video=0):
        picture = sb.frame(decoded.reformat(format="nv12"))
        surface = sb.context(memory).allocate_frame("NV12", picture.width, picture.height)
        with surface.map("cpu", "w", copy=True) as view:
            for to, plane in zip(view.planes, picture.map("cpu").planes, strict=True):
                np.copyto(to.native, plane.native)
        surface.meta.pts = decoded.pts
        made.append(surface)
    return made


def main(samples: str, memory: str, address: str, video: str) -> None:
    """Send them."""
    sys.path.insert(0, samples)
    sample: Any = __import__("decode_and_infer")
    frames = surfaces(video, memory)
    sb.reset_stats()
    sys.stdout.write("\n".join([*sample.send(frames, address), ""]))
    assert sb.stats().copies == 0, sb.stats()


if __name__ == "__main__":
    main(*sys.argv[1:])
