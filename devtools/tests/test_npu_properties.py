# SPDX-License-Identifier: Apache-2.0
"""The reference page of the NPU's properties is what the tables give."""

import subprocess
import sys

import pytest

from devtools.workspace import ROOT

intel_npu = pytest.importorskip(
    "samebytes_openvino.intel_npu",
    reason="missing package samebytes-openvino: pip install samebytes-openvino",
)
pytest.importorskip("openvino", reason="missing package openvino: pip install openvino")

COMMAND = [sys.executable, "-m", "devtools.npu_properties"]


def test_the_page_is_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "reference" / "npu-properties.md").read_text()
    printed = subprocess.run(
        COMMAND, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert page == printed, "write it again: the command is in its first lines"
    assert all(f"| {key}" in page for key in intel_npu.PROPERTIES)
