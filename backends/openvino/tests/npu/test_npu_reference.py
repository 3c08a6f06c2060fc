# SPDX-License-Identifier: Apache-2.0
"""The reference page of the NPU names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REFERENCE = HERE.parents[3] / "docs" / "reference"
pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(),
    reason="the pages lie in the repository, and this is a test of the wheel",
)


def test_every_test_of_the_table_is_there() -> None:
    page = (REFERENCE / "openvino-npu.md").read_text()
    named = re.findall(r"`([\w/.]*test_\w+\.py)::(test_\w+)`", page)
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
