# SPDX-License-Identifier: Apache-2.0
"""By how much the pixels of image_model, and of the usual idiom, differ from PrePostProcessor's.

`python3 mappers/tests/pixel_differences.py` prints it. `samebytes bench mappers` measures what
the ways cost.
"""

from __future__ import annotations

import av
import cv2
import numpy as np

import samebytes_opencv
from samebytes_mappers._benchmarks.images import (
    by_copying,
    by_image_model,
    by_preprocessor,
    network,
    noise,
)

__all__ = ["differences"]

FORMATS = ("yuv420p", "nv12")


def smooth(width: int, height: int, format_: str) -> av.VideoFrame:
    """A frame of slow gradients with some text, as pictures are."""
    x, y = np.arange(width) / width, np.arange(height)[:, None] / height
    channels = (90 + 120 * x + 0 * y, 60 + 100 * y + 0 * x, 200 - 80 * x * y)
    image = np.stack(channels, -1).astype(np.uint8)
    scale = height / 200
    cv2.putText(image, "samebytes", (width // 10, height // 2), cv2.FONT_HERSHEY_SIMPLEX, scale,
                (230, 240, 250), max(1, height // 90))  # fmt: skip
    return av.VideoFrame.from_ndarray(image, format="bgr24").reformat(format=format_)


def differences() -> list[str]:
    """By how much the pixels differ from PrePostProcessor's, at 1080p, a line for each way."""
    lines = []
    for format_ in FORMATS:
        for what, make in (("picture", smooth), ("noise", noise)):
            frame = make(1920, 1080, format_)
            want = by_preprocessor(frame, network(True))().copy()
            ways = {
                "image_model": by_image_model(frame, network(True)),
                "resize=": by_image_model(frame, network(True), samebytes_opencv.resize),
                "copying": by_copying(frame, network(True)),
            }
            for name, run in ways.items():
                away = np.abs(run() - want)
                lines.append(
                    f"{format_:8} {what:8} {name:12} max {away.max():6.2f}  mean {away.mean():6.3f}"
                )
    return lines


if __name__ == "__main__":
    print("\n".join(differences()))  # noqa: T201 - a command
