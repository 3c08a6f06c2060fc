# SPDX-License-Identifier: Apache-2.0
"""Surfaces of real DMA-BUFs, on a kernel that makes them, and a display on a real DRM node."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import samebytes
from samebytes_vaapi import VAAPIContext

samebytes_dma = pytest.importorskip(
    "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
)

pytestmark = pytest.mark.dmabuf

Steady = Callable[[], AbstractContextManager[None]]

needs_udmabuf = pytest.mark.skipif(
    not Path("/dev/udmabuf").exists(), reason="this kernel makes no DMA-BUFs: python3 dev.py lab"
)
NODES = sorted(map(str, Path("/dev/dri").glob("renderD*")))
needs_node = pytest.mark.skipif(
    not NODES, reason="this kernel makes no DMA-BUFs: python3 dev.py lab"
)


@needs_udmabuf
def test_a_surface_is_a_dma_buf(
    software: Callable[..., VAAPIContext], no_descriptor_left: Steady
) -> None:
    context = software(SOFTVA_MEMORY="udmabuf")
    with no_descriptor_left():
        frame = context.allocate_frame("NV12", 64, 32)
        memory = frame.map("dma", "rw")
        assert memory.planes[0].native.buffer.is_dma_buf
        with memory.map("cpu", "w") as view:
            view.native[0][...], view.native[1][...] = 3, 4
        assert [int(a.max()) for a in frame.map("cpu").native] == [3, 4]
        again = memory.map(context)
        there = again.map("dma")
        fds = [f.planes[0].handle("dma_fd") for f in (memory, there)]
        assert len({os.fstat(fd).st_ino for fd in fds}) == 1
        del view, there
        again.close()
        memory.close()
        frame.close()


@needs_udmabuf
def test_a_dma_buf_is_a_surface(
    software: Callable[..., VAAPIContext], no_descriptor_left: Steady
) -> None:
    context = software()
    with no_descriptor_left():
        source = samebytes.context("dma:udmabuf").allocate_frame("NV12", 64, 32)
        assert samebytes_dma.is_dma_buf(source.planes[0].handle("dma_fd"))
        surface = source.map(context, "rw")
        with surface.map("cpu", "w", copy=True) as view:
            view.native[1][...] = 9
        assert (source.map("cpu").native[1] == 9).all()
        del view
        surface.close()
        source.close()


@needs_node
def test_a_display_on_a_real_node() -> None:
    """The lab's vgem is one; VA-API asks it for nothing but its kind."""
    node = NODES[0]
    context = VAAPIContext.open(node)
    assert context.device.drm_node == node
    assert os.fstat(context.handle("drm_fd")).st_rdev == Path(node).stat().st_rdev
    frame = context.allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "w") as view:
        view.native[0][...] = 1
    assert (frame.map("dma").map("cpu").native[0] == 1).all()
