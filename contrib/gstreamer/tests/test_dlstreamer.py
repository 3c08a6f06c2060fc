# SPDX-License-Identifier: Apache-2.0
"""Metas of DL Streamer, against a library that registers them as its headers say.

DL Streamer itself was never installed where these tests ran.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("dlstreamer_metas.c")

ROUND_TRIP = """
import ctypes, gc
import numpy as np
import samebytes as sb, samebytes_gstreamer as sbg
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst

tensor = {"name": "classification", "model_name": "cats", "confidence": 0.75, "label_id": -3,
          "precision": 10, "layout": 1, "dims": [1, 3, 2**31], "data_buffer": bytes(range(24)),
          "weights": [0.5, 0.25], "labels": ["a", "b"], "big": 2**40, "most": 2**64 - 1,
          "good": True}
event = {"label": "speech", "id": 7, "start_timestamp": 5, "end_timestamp": 2**40,
         "params": [{"name": "detection", "confidence": 0.5}]}
frame = sb.context("cpu").allocate_frame("NV12", 16, 8)
buffer = frame.map("gstreamer").native
sbg.add_gva_metas(buffer, tensors=[tensor, {}], json=['{"a": 1}', ""], audio_events=[event])
read = sb.frame(buffer)
known = read.metadata["gstreamer"]
assert known["gva_tensors"] == [tensor, {"name": "meta"}], known["gva_tensors"]
assert known["gva_json"] == ['{"a": 1}', ""]
assert known["gva_audio_events"] == [event]

# Through the CPU and back: another buffer, the same metas.
again = sb.frame(read.map("cpu").map("gstreamer").native)
assert again.metadata["gstreamer"]["gva_tensors"] == known["gva_tensors"]
assert again.metadata["gstreamer"]["gva_audio_events"] == [event]

library = ctypes.CDLL("libdlstreamer_gst_meta.so")
del read, again, buffer, known
gc.collect()
assert ctypes.c_int.in_dll(library, "metas_freed").value == 10
"""

# Entries of the whole frame are metas of DL Streamer.
ENTRIES = """
import numpy as np
import samebytes as sb, samebytes_gstreamer as sbg
from samebytes import metadata
from samebytes.metadata import Classification, InferenceResult, ObjectId

theirs = {"name": "prob", "label": "cat", "confidence": 0.5, "model_name": "cats", "element": "x"}
frame = sb.context("cpu").allocate_frame("GRAY8", 16, 8)
buffer = frame.map("gstreamer").native
sbg.add_gva_metas(buffer, tensors=[theirs, {"name": "note", "size": 3}])
read = sb.frame(buffer)
(cat,) = metadata.entries_of(read)
assert (cat.label, cat.result.name, cat.result.model_name) == ("cat", "prob", "cats"), cat

metadata.add(read, ObjectId(5))
metadata.add(read, InferenceResult(np.uint8([1, 2]), name="raw"))
again = sb.frame(read.map("cpu").map("gstreamer").native)
assert [type(e) for e in metadata.entries_of(again)] == [Classification, InferenceResult, ObjectId]
tensors = again.metadata["gstreamer"]["gva_tensors"]
assert tensors[:2] == [theirs, {"name": "note", "size": 3}], tensors
assert tensors[2]["tensor_name"] == "raw" and tensors[2]["data_buffer"] == bytes([1, 2]), tensors

metadata.remove(again, metadata.find(again, Classification))
last = sb.frame(again.map("cpu").map("gstreamer").native)
assert [t["name"] for t in last.metadata["gstreamer"]["gva_tensors"]] == ["note", "tensor"]
"""

# What a name may be, and values that no GstStructure has.
ODD_INPUT = """
import samebytes as sb, samebytes_gstreamer as sbg
buffer = sb.context("cpu").allocate_frame("GRAY8", 16, 8).map("gstreamer").native
sbg.add_gva_metas(buffer, tensors=[
    {"name": "1 bad name", "none": None, "set": {1}, "huge": 2**80, "nested": [[1]], "ok": 1},
])
read = sb.frame(buffer).metadata["gstreamer"]["gva_tensors"]
assert read == [{"name": "unnamed", "nested": [], "ok": 1}], read
"""

NOT_INSTALLED = """
import samebytes as sb, samebytes_gstreamer as sbg
frame = sb.context("cpu").allocate_frame("GRAY8", 16, 8)
frame.metadata["gstreamer"] = {"gva_json": ["left out where nobody knows it"]}
buffer = frame.map("gstreamer").native
assert "gva_json" not in sb.frame(buffer).metadata["gstreamer"]
try:
    sbg.add_gva_metas(buffer, json=["{}"])
except sb.errors.MissingDependencyError as error:
    assert "libdlstreamer_gst_meta.so" in str(error) and "DL Streamer" in error.hint
else:
    raise AssertionError
"""

IN_USE = """
import samebytes as sb, samebytes_gstreamer as sbg
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
buffer = sb.context("cpu").allocate_frame("GRAY8", 16, 8).map("gstreamer").native
held = Gst.Sample.new(buffer, None, None, None)
for wrong in (buffer, None, held):
    try:
        sbg.add_gva_metas(wrong, json=["{}"])
    except sb.errors.UnsupportedObjectError:
        continue
    raise AssertionError(wrong)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of DL Streamer's name."""
    if shutil.which("cc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    made = tmp_path_factory.mktemp("dlstreamer")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o",
         str(made / "libdlstreamer_gst_meta.so"), str(SOURCE), "-l:libgstreamer-1.0.so.0",
         "-l:libglib-2.0.so.0"],
        check=True, timeout=120,
    )  # fmt: skip
    return made


def run(program: str, folder: Path | None) -> None:
    environment = dict(os.environ)
    if folder is not None:
        environment["LD_LIBRARY_PATH"] = f"{folder}:{environment.get('LD_LIBRARY_PATH', '')}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", program],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "program",
    [ROUND_TRIP, ENTRIES, ODD_INPUT, IN_USE],
    ids=["all", "entries", "odd", "in use"],
)
def test_with_the_library(program: str, folder: Path) -> None:
    run(program, folder)


def test_without_the_library() -> None:
    run(NOT_INSTALLED, None)
