# SPDX-License-Identifier: Apache-2.0
"""`python3 dev.py pictures`: what the samples and the demo make, as the pictures of their pages."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import av
import cv2
import numpy as np

from .sample_inputs import FRAMES, HEIGHT, make_model, make_video

__all__ = ["main"]

_ROOT = Path(__file__).parents[2]
_SHOWN = (FRAMES // 4, FRAMES // 2, 3 * FRAMES // 4)
_WIDTH = 720
_GAP = np.full((HEIGHT, 8, 3), 255, np.uint8)


def main() -> None:
    """Run what makes a video, and write three frames of each side by side."""
    target = _ROOT / "docs" / "how-to" / "pictures"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        video, model = folder / "video.mp4", folder / "detector.xml"
        make_video(video)
        make_model(model)
        for sample, arguments in (("detect", [video, model]), ("gray_kernel", [model])):
            made = folder / f"{sample}.mkv"
            command = [sys.executable, _ROOT / "samples" / f"{sample}.py", *arguments, made]
            subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
            _write(target / f"{sample}.png", _sheet(made))
        demo = [sys.executable, "-m", "samebytes", "demo", "--no-compare", "--output"]
        made = folder / "demo.mp4"
        subprocess.run([*demo, str(made)], check=True, stdout=subprocess.DEVNULL)
        _write(target / "demo.png", _first_row(made.with_suffix(".png")))


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


def _sheet(video: Path) -> bytes:
    with av.open(str(video)) as container:
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    first, second, third = (frames[number] for number in _SHOWN)
    _, encoded = cv2.imencode(".png", np.hstack([first, _GAP, second, _GAP, third]))
    return encoded.tobytes()


if __name__ == "__main__":
    main()
