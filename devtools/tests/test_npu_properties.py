# SPDX-License-Identifier: Apache-2.0
"""The reference page of the NPU's properties is what the tables give."""

import pytest

intel_npu = pytest.importorskip(
    "samebytes_openvino.intel_npu",
    reason="missing package samebytes-openvino: pip install samebytes-openvino",
)
pytest.importorskip("openvino", reason="missing package openvino: pip install openvino")

from devtools.npu_properties import PAGE, page  # noqa: E402 - after what is skipped for


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert text == page(), "write it again: the command is in its first lines"
    assert all(f"| {key}" in text for key in intel_npu.PROPERTIES)
