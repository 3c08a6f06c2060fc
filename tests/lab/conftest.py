# SPDX-License-Identifier: Apache-2.0
"""The drivers of the lab that these tests need: vgem, a DRM device, and vivid, a camera."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .vivid import CAMERA, HEIGHT, WIDTH

DRIVERS = ("/sys/module/vgem", "/sys/module/vivid", "/dev/dma_heap/system")


@pytest.fixture(autouse=True)
def drivers() -> None:
    """Skip the tests without these drivers."""
    if not all(Path(path).exists() for path in DRIVERS):
        pytest.skip("this kernel makes no DMA-BUFs: python3 dev.py lab")


@pytest.fixture
def camera() -> Iterator[Any]:
    """vivid's camera, which does not stream yet."""
    v4l2 = pytest.importorskip("samebytes_v4l2")
    with v4l2.Camera(CAMERA) as made:
        made.set_format("NV12", WIDTH, HEIGHT, rate=30)
        yield made
