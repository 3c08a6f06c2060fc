# SPDX-License-Identifier: Apache-2.0
"""A notebook, run by a real kernel: what it shows of frames, routes and pipelines."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from .e2e.notebook import CELLS, executed
from .e2e.street import make_street

MORE = ("pipe.explain()", "sb.installed_plugins()", "frame.meta", "el.available()")
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "notebook.md"


@pytest.mark.together
def test_what_a_notebook_shows(tmp_path: Path) -> None:
    """It starts one kernel, which takes seconds: no fake shows what IPython asks for."""
    for name in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(name, reason=f"missing package {name}: python3 dev.py setup")
    make_street(tmp_path / "street.mp4")
    notebook = executed((*CELLS, *MORE), tmp_path)
    shown: list[Any] = [cell.outputs[0].data for cell in notebook.cells]
    assert shown[0]["text/plain"] == "<FFmpegFrame I420 640x360 in ffmpeg>"
    assert ">arrays on the planes, with their own reference to" in shown[1]["text/html"]
    title = "<title>ffmpeg.source to opencv.scale, opencv.scale to json.sink"
    assert title in shown[2]["image/svg+xml"]
    assert ">p95 ms</th>" in shown[3]["text/html"]
    assert ">ffmpeg.source gives image I420 640x360 in ffmpeg, 15 fps\n" in shown[4]["text/html"]
    assert ">ffmpeg</td>" in shown[5]["text/html"]
    assert shown[6]["text/plain"].startswith("<FFmpegMeta I420 640x360")
    assert ">ffmpeg.source</td>" in shown[7]["text/html"]
    assert shown[7]["text/plain"].startswith("ELEMENT ")
    thumbnail = cv2.imdecode(np.frombuffer(base64.b64decode(shown[0]["image/png"]), np.uint8), 1)
    assert thumbnail is not None
    assert likeness_of_the_page(thumbnail) > 0.95


def likeness_of_the_page(thumbnail: Any) -> float:
    """The correlation, at most 1, with what is most like it in the picture by `dev.py pictures`."""
    picture = PAGE.parent / "pictures" / "notebook.png"
    assert f"](pictures/{picture.name})" in PAGE.read_text()
    assert picture.stat().st_size < 100_000
    page = cv2.imread(str(picture))
    assert page is not None
    return float(cv2.matchTemplate(page, thumbnail, cv2.TM_CCOEFF_NORMED).max())
