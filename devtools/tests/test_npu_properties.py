# SPDX-License-Identifier: Apache-2.0
"""The reference page of the NPU's properties has what the tables of the code have."""

from typing import Any

import pytest

from devtools.workspace import ROOT

intel_npu = pytest.importorskip(
    "samebytes_openvino.intel_npu",
    reason="missing package samebytes-openvino: pip install samebytes-openvino",
)
pytest.importorskip("openvino", reason="missing package openvino: pip install openvino")

PAGE = ROOT / "docs" / "reference" / "npu-properties.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ")
]


@pytest.mark.parametrize("row", intel_npu.PROPERTIES.values(), ids=lambda row: row.key)
def test_a_property(row: Any) -> None:
    name = f"{row.key} *" if row.differs else row.key
    (cells,) = (cells for cells in ROWS if cells[0] == name)
    _, native, kind, document, observed, description = cells
    assert (native, kind, description) == (row.name, row.kind.name, row.description)
    assert ("not listed" in observed) == (row.observed is not None and not row.listed)
    for cell, stated in ((document, row.document), (observed, row.observed)):
        if stated is None:
            assert cell in ("-", "unsupported")
        else:
            assert cell.startswith(stated.access)
            assert (stated.values or "") in cell
            default = stated.default
            if isinstance(default, bool):
                default = "YES" if default else "NO"
            assert cell.removesuffix(", not listed").partition("default ")[2] == str(default)


@pytest.mark.parametrize("platform", intel_npu.PLATFORMS.values(), ids=lambda p: p.name)
def test_a_platform(platform: Any) -> None:
    (cells,) = (cells for cells in ROWS if cells[0] == platform.name)
    assert cells[1] == ("" if platform.product == "unknown" else platform.product)
    assert cells[3] == " or ".join(map(str, platform.total_tiles or ()))
    for cell, numbers in (
        (cells[2], platform.tiles),
        (cells[4], platform.dma_engines),
        (cells[5], platform.requests),
    ):
        assert cell == (f"{numbers['THROUGHPUT']} / {numbers['LATENCY']}" if numbers else "")


def test_there_are_no_others() -> None:
    assert len(ROWS) == len(intel_npu.PROPERTIES) + len(intel_npu.PLATFORMS) + 2
