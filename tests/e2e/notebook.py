# SPDX-License-Identifier: Apache-2.0
"""A notebook of samebytes: run by a real kernel, and as a browser shows it.

Jupyter's packages are imported when they are needed, so that a test may say which one is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np

__all__ = ["CELLS", "as_page", "executed", "photographed"]

CELLS = (
    """\
import av
import samebytes as sb
import samebytes.elements as el

with av.open("street.mp4") as video:
    frame = sb.frame(next(video.decode(video=0)))
frame""",
    'sb.route(frame, "cpu")',
    """\
source, scale = el.create("ffmpeg.source", "street.mp4"), el.create("opencv.scale", 320, 180)
pipe = el.Pipeline(source, scale, [el.create("json.sink", "seen.jsonl")], lambda frame: frame)
pipe""",
    "pipe.run()",
)
"""Code of the page's notebook. The first cell reads a street.mp4 in the notebook's folder."""
_FOLDERS = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WIDTH, _HIGHEST = 900, 2000
_MARGIN = 12


def executed(cells: Sequence[str], folder: Path) -> Any:
    """A notebook of these cells, with what they gave.

    Args:
        cells: their sources.
        folder: the current one of its kernel, which leaves its own files there too.
    """
    nbformat, nbclient = import_module("nbformat"), import_module("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    resources = {"metadata": {"path": str(folder)}}
    with mock.patch.dict(os.environ, dict.fromkeys(_FOLDERS, str(folder))):
        nbclient.NotebookClient(
            notebook, timeout=120, startup_timeout=120, kernel_name="python3", resources=resources
        ).execute()
    return notebook


def as_page(notebook: Any) -> str:
    """The HTML that nbconvert makes of a notebook, in the dress of JupyterLab."""
    exporter = import_module("nbconvert").HTMLExporter(template_name="lab")
    page: str = exporter.from_notebook_node(notebook)[0]
    return page


def photographed(page: str, folder: Path) -> bytes:
    """A page as the browser of this machine shows it, as PNG; without the white below it.

    Whatever the page would load from elsewhere is not found.

    Args:
        page: HTML.
        folder: for the browser's files.

    Raises:
        SystemExit: no Chromium is installed.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit("missing package chromium: sudo apt-get install chromium")
    written, picture = folder / "page.html", folder / "page.png"
    written.write_text(page)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # the administrator's has none
    subprocess.run(
        [browser, "--headless", *sandbox, "--disable-gpu", "--hide-scrollbars",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'browser'}",
         f"--window-size={_WIDTH},{_HIGHEST}", f"--screenshot={picture}", written.as_uri()],
        check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    image = cv2.imread(str(picture))
    assert image is not None
    last = int(np.flatnonzero((image < 255).any(axis=(1, 2)))[-1])
    shown = image[: last + _MARGIN]
    return cv2.imencode(".png", shown, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes()
