# SPDX-License-Identifier: Apache-2.0
"""The drivers of the lab that these tests need: vgem, a DRM device, and vivid, a camera."""

from __future__ import annotations

from pathlib import Path

import pytest

DRIVERS = ("/sys/module/vgem", "/sys/module/vivid", "/dev/dma_heap/system")


@pytest.fixture(autouse=True)
def drivers() -> None:
    """Skip the tests without these drivers."""
    if not all(Path(path).exists() for path in DRIVERS):
        pytest.skip("this kernel makes no DMA-BUFs: python3 dev.py lab")
