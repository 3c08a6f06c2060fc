# SPDX-License-Identifier: Apache-2.0
"""The picture in the documents is that of all plugins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import samebytes

PICTURE = Path(__file__).parents[1] / "docs" / "graph.svg"
DISTRIBUTIONS = (
    "samebytes-cuda", "samebytes-dma", "samebytes-ffmpeg", "samebytes-gpu-opencl",
    "samebytes-gstreamer", "samebytes-mappers", "samebytes-npu-level-zero", "samebytes-opencv",
    "samebytes-openvino", "samebytes-sycl", "samebytes-vaapi",
)  # fmt: skip


def test_the_picture_in_the_documents_is_up_to_date(tmp_path: Path) -> None:
    """`samebytes graph --output docs/graph.svg` writes it."""
    there = {plugin.distribution for plugin in samebytes.installed_plugins()}
    for name in DISTRIBUTIONS:
        if name not in there:
            pytest.skip(f"missing package {name}: the picture shows the edges of all")
    drawn = tmp_path / "graph.svg"
    command = [sys.executable, "-m", "samebytes", "graph", "--output", str(drawn)]
    subprocess.run(command, timeout=120, check=True)
    assert drawn.read_text() == PICTURE.read_text()
