# SPDX-License-Identifier: Apache-2.0
"""The reference pages: one is written from the table, the other names tests that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from samebytes_openvino.intel_npu import PROPERTIES, properties_as_markdown

HERE = Path(__file__).parent
REFERENCE = HERE.parents[3] / "docs" / "reference"
pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(),
    reason="the pages lie in the repository, and this is a test of the wheel",
)


def test_the_page_of_properties_is_the_table() -> None:
    page = (REFERENCE / "npu-properties.md").read_text()
    assert page == properties_as_markdown(), (
        "python -m samebytes_openvino.intel_npu > docs/reference/npu-properties.md"
    )
    assert all(f"| {key}" in page for key in PROPERTIES)


def test_the_page_is_printed() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "samebytes_openvino.intel_npu"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert printed.stdout == properties_as_markdown()


def test_every_test_of_the_table_is_there() -> None:
    page = (REFERENCE / "openvino-npu.md").read_text()
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", page)
    assert len(named) > 10
    for file, test in named:
        assert f"def {test}(" in (HERE / file).read_text(), f"{file}::{test}"


def test_every_snippet_of_the_document_is_in_the_table() -> None:
    page = (REFERENCE / "openvino-npu.md").read_text()
    for fragment in (
        "default_context_from_core", "default_context_from_model", "wrap_nt_handle",
        "wrap_dmabuf_fd", "file_mapping", "allocate_remote_level_zero_host",
        "allocate_level_zero_host",
    ):  # fmt: skip
        assert f"| {fragment} |" in page, fragment
