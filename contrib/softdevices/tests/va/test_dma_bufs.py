# SPDX-License-Identifier: Apache-2.0
"""Surfaces in real DMA-BUFs, where the kernel makes such."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samebytes_softdevices import va_live
from samebytes_softdevices.va_surfaces import Display

from ..libva_calls import export


@pytest.mark.dmabuf
@pytest.mark.usefixtures("no_leak")
@pytest.mark.parametrize(
    ("source", "device"), [("udmabuf", "/dev/udmabuf"), ("heap", "/dev/dma_heap/system")]
)
def test_a_surface_lies_in_a_dma_buf(
    np: Any, display_with: Callable[..., Display], source: str, device: str
) -> None:
    if not Path(device).exists():
        pytest.skip(f"missing device {device}: python3 dev.py lab")
    display = display_with(SOFTVA_MEMORY=source)
    with display.create_surface("NV12", 64, 32) as surface:
        assert [item.fields["memory"] for item in va_live("surface")] == [source]
        status, (fd, *_) = export(display.address, surface.id)
        assert status == 0
        assert Path(f"/proc/self/fd/{fd}").readlink().name.startswith("dmabuf:")
        os.close(fd)
        y = np.asarray(surface.planes[0])
        y[...] = 3
        assert int(y.sum()) == 3 * 64 * 32
