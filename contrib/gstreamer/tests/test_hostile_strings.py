# SPDX-License-Identifier: Apache-2.0
"""Texts that GStreamer parses: caps, descriptions of pipelines, values of properties.

SAMEBYTES_HOSTILE_STRINGS sets how many are tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gi.repository import Gst

import samebytes_gstreamer as sbg
from samebytes.errors import LayoutError, UnsupportedObjectError

from .sample_elements import GRAY

COUNT = int(os.environ.get("SAMEBYTES_HOSTILE_STRINGS", "300"))
SEED = int(os.environ.get("SAMEBYTES_HOSTILE_SEED", "0"))
NOT_TEXT = [f"{GRAY}\0", f"{GRAY[:20]}\0{GRAY[20:]}", f"{GRAY},a=\ud800"]


def test_any_text_is_taken_or_refused() -> None:
    """In a process of its own: the last number that it says is the seed that ends it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile_strings", str(SEED), str(COUNT)],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False,
        timeout=120 + COUNT,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"seed {last}: {done.returncode}, {done.stderr[-2000:]}"
    ends = json.loads(last)
    assert sum(ends.values()) == COUNT
    assert {"taken", "LayoutError", "PipelineError", "ElementError"} <= ends.keys()


@pytest.mark.parametrize("caps", NOT_TEXT)
def test_caps_are_not_cut_at_a_nul(caps: str) -> None:
    buffer = Gst.Buffer.new_allocate(None, 64 * 48, None)
    with pytest.raises(LayoutError, match="cannot parse the caps"):
        sbg.frame_of(buffer, caps)
    with pytest.raises(LayoutError, match="cannot parse the caps"):
        sbg.GStreamerSink("fakesink", caps=caps)


@pytest.mark.parametrize("text", ["fakesrc\0 ! nonsense", "fakesrc name=\ud800"])
def test_descriptions_are_not_cut_at_a_nul(text: str) -> None:
    for made in (sbg.GStreamerSource, sbg.GStreamerSink):
        with pytest.raises(sbg.PipelineError, match="gst_parse_launch"):
            made(text)


@pytest.mark.parametrize(
    ("caps", "error"),
    [
        ("EMPTY", LayoutError),
        ("ANY", LayoutError),
        ("video/x-raw,format={NV12,I420},width=64,height=48", LayoutError),
        (Gst.Caps.new_empty(), LayoutError),
        (5, UnsupportedObjectError),
        ("", LayoutError),
    ],
)
def test_caps_of_a_sink_say_what_each_frame_is(caps: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="caps"):
        sbg.GStreamerSink("fakesink", caps=caps)
