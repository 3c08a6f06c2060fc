# SPDX-License-Identifier: Apache-2.0
"""A notebook, run by a real kernel: what it shows of frames, routes and pipelines."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

CELLS = (
    "import av, numpy as np, samebytes as sb, samebytes.elements as el",
    "frame = sb.frame(av.VideoFrame(640, 360, 'yuv420p')); frame",
    "sb.route(frame, 'cpu')",
    "pipe = el.Pipeline([frame], lambda frame: frame); pipe.explain()",
    "pipe.run()",
    "sb.installed_plugins()",
    "frame.meta",
    "pipe",
    "el.available()",
)


@pytest.mark.together
def test_what_a_notebook_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts one kernel, which takes seconds: no fake shows what IPython asks for."""
    hint = "python3 dev.py setup"
    nbformat: Any = pytest.importorskip("nbformat", reason=f"missing package nbformat: {hint}")
    nbclient: Any = pytest.importorskip("nbclient", reason=f"missing package nbclient: {hint}")
    pytest.importorskip("ipykernel", reason=f"missing package ipykernel: {hint}")
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown: list[Any] = [cell.outputs[0].data if cell.outputs else {} for cell in notebook.cells]
    assert base64.b64decode(shown[1]["image/png"]).startswith(b"\x89PNG")
    assert shown[1]["text/plain"] == "<FFmpegFrame I420 640x360 in ffmpeg>"
    assert ">arrays on the planes, with their own reference to" in shown[2]["text/html"]
    assert ">frames gives what its first frame is\n" in shown[3]["text/html"]
    assert ">p95 ms</th>" in shown[4]["text/html"]
    assert ">ffmpeg</td>" in shown[5]["text/html"]
    assert shown[6]["text/plain"].startswith("<FFmpegMeta I420 640x360")
    assert (
        "<title>frames to &lt;lambda&gt;, &lt;lambda&gt; to the end</title>"
        in shown[7]["image/svg+xml"]
    )
    assert ">ffmpeg.source</td>" in shown[8]["text/html"]
    assert shown[8]["text/plain"].startswith("ELEMENT ")
