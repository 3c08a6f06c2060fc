# SPDX-License-Identifier: Apache-2.0
"""A contact sheet: some frames of a video in one picture."""

from __future__ import annotations

import os
from pathlib import Path

import av
import cv2
import numpy as np

from ._boxes import Array
from ._errors import DemoError

__all__ = ["make_sheet"]

_COLUMNS = 3
_MOST = 9
_WIDTH = 400
_GAP = 8
_BACKGROUND = 24


def make_sheet(video: Path, picture: Path, frames: int) -> int:
    """Write a PNG of up to nine frames, spread evenly over the video.

    Args:
        video: the file from which they are taken.
        picture: the file to write.
        frames: the number of frames of the video.

    Returns:
        The number of frames that the sheet shows.

    Raises:
        DemoError: the picture cannot be written.
    """
    count = min(_MOST, frames)
    chosen = {(2 * i + 1) * frames // (2 * count) for i in range(count)}
    with av.open(video.absolute()) as container:
        images = [
            _small(frame, number)
            for number, frame in enumerate(container.decode(video=0))
            if number in chosen
        ]
    _, encoded = cv2.imencode(".png", _arrange(images))
    # cv2.imwrite() does not report a full disk. An earlier sheet stays until all is written.
    target = picture.resolve()
    part = target.with_name(f".{picture.stem}-{os.getpid()}{picture.suffix}")
    try:
        part.write_bytes(encoded.tobytes())
        part.replace(target)
    except OSError as error:
        raise DemoError(f"{picture} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return len(images)


def _small(frame: av.VideoFrame, number: int) -> Array:
    height = max(1, round(frame.height * _WIDTH / frame.width))
    image: Array = frame.reformat(_WIDTH, height, "bgr24").to_ndarray()
    bar = np.full((24, _WIDTH, 3), _BACKGROUND, np.uint8)
    white = (255, 255, 255)
    cv2.putText(
        bar, f"frame {number}", (2, 17), cv2.FONT_HERSHEY_SIMPLEX, 0.5, white, 1, cv2.LINE_AA
    )
    return np.vstack([image, bar])


def _arrange(images: list[Array]) -> Array:
    height, width, _ = images[0].shape
    columns = min(_COLUMNS, len(images))
    rows = -(-len(images) // columns)
    sheet = np.full(
        (rows * (height + _GAP) + _GAP, columns * (width + _GAP) + _GAP, 3), _BACKGROUND, np.uint8
    )
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        top, left = _GAP + row * (height + _GAP), _GAP + column * (width + _GAP)
        sheet[top : top + height, left : left + width] = image
    return sheet
