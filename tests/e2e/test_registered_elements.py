# SPDX-License-Identifier: Apache-2.0
"""The elements that come with the backends, as elements of GStreamer."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
import samebytes_openvino
from samebytes.__main__ import main
from samebytes.errors import UnsupportedObjectError
from samebytes.metadata import Detection, find

from .sample_inputs import make_model


def listed(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The table that `samebytes elements` prints."""
    assert main(["elements", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_all_but_sources_can_be_registered(capsys: pytest.CaptureFixture[str]) -> None:
    made = set()
    for name in [one["name"] for one in listed(capsys=capsys)["elements"]]:
        said = listed(name, capsys=capsys)
        if said["class"] is None or said["kind"] == "Source":
            continue
        module, _, attribute = said["class"].rpartition(".")
        kind: type[el.Element] = getattr(importlib.import_module(module), attribute)
        if name == "ffmpeg.sink":
            with pytest.raises(UnsupportedObjectError, match="takes depends on its parameters"):
                sbg.register(kind)
            continue
        made.add(sbg.register(kind, name=f"e2e_{name.replace('.', '_')}"))
    assert {"e2e_openvino_infer", "e2e_opencv_draw", "e2e_opencv_scale"} <= made


def test_a_detector_in_a_pipeline_of_gstreamer(tmp_path: Path) -> None:
    make_model(tmp_path / "detector.xml")
    name = sbg.register(samebytes_openvino.OpenVINOInfer)
    text = (
        "videotestsrc num-buffers=3 pattern=ball ! video/x-raw,format=NV12,width=256,height=192 ! "
        f"{name} model={tmp_path / 'detector.xml'} labels=ball"
    )
    with sbg.GStreamerSource(text) as source:
        found = [find(frame, Detection) for frame in source]
    assert [one is not None and one.confidence for one in found] == [0.875] * 3
    assert sb.stats().copied_bytes == 0
