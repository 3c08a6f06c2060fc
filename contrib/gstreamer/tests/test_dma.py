# SPDX-License-Identifier: Apache-2.0
"""Memory behind descriptors, in both directions: on memfds, and in the lab on DMA-BUFs."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes.errors import AccessError, RouteError
from samebytes.plugins import sweep_loans

samebytes_dma: Any = pytest.importorskip(
    "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
)

needs_dma_buf = pytest.mark.skipif(
    not os.path.exists("/dev/udmabuf"),  # noqa: PTH110 - one word in a marker
    reason="this kernel makes no DMA-BUFs: python3 dev.py lab",
)

_allocators = ctypes.CDLL("libgstallocators-1.0.so.0")
_allocators.gst_fd_allocator_new.restype = c_void_p
_allocators.gst_fd_allocator_alloc.restype = c_void_p
_allocators.gst_fd_allocator_alloc.argtypes = [c_void_p, c_int, c_size_t, c_int]
_gst = ctypes.CDLL("libgstreamer-1.0.so.0")
_gst.gst_buffer_append_memory.argtypes = [c_void_p, c_void_p]
_ALLOCATOR = _allocators.gst_fd_allocator_new()


def memfd(size: int) -> int:
    fd = os.memfd_create("test")
    os.ftruncate(fd, size)
    return fd


def buffer_behind(*fds: int) -> Any:
    """A buffer of memories that close those descriptors."""
    buffer = Gst.Buffer.new()
    for fd in fds:
        memory = _allocators.gst_fd_allocator_alloc(_ALLOCATOR, fd, os.fstat(fd).st_size, 0)
        _gst.gst_buffer_append_memory(hash(buffer), memory)
    return buffer


def add_nv12(buffer: Any, offsets: list[int], pitch: int) -> None:
    GstVideo.buffer_add_video_meta_full(
        buffer, 0, GstVideo.VideoFormat.NV12, 16, 8, 2, [*offsets, 0, 0], [pitch, pitch, 0, 0]
    )


class TestToDMA:
    def test_one_descriptor(self) -> None:
        fd = memfd(4096)
        looking = os.dup(fd)
        buffer = buffer_behind(fd)
        add_nv12(buffer, [64, 2048], 32)
        frame = sb.frame(buffer)
        mapped = frame.map("dma", "rw")
        assert [p.handle("offset") for p in mapped] == [64, 2048]
        assert [p.handle("pitch") for p in mapped] == [32, 32]
        assert len({p.handle("dma_fd") for p in mapped}) == 1
        assert mapped.planes[0].handle("dma_fd") != fd, "the descriptor is our own"
        with mapped.map("cpu", "rw") as view:
            view.native[1][0, 0] = (5, 6)
        assert os.pread(looking, 2, 2048) == b"\x05\x06"
        os.close(looking)

    def test_a_part_of_a_memory(self) -> None:
        buffer = buffer_behind(memfd(4096))
        part = buffer.get_memory(0).share(256, 128)
        tensor = sb.tensor(part).map("dma")
        assert (tensor.handle("offset"), tensor.shape) == (256, (128,))

    def test_descriptors_for_each_plane(self) -> None:
        buffer = buffer_behind(memfd(4096), memfd(4096))
        add_nv12(buffer, [0, 4096 + 32], 16)
        mapped = sb.frame(buffer).map("dma")
        assert len({p.handle("dma_fd") for p in mapped}) == 2
        assert [p.handle("offset") for p in mapped] == [0, 32]
        mapped.close()

    def test_the_import_outlives_the_buffer(self) -> None:
        buffer = buffer_behind(memfd(4096))
        add_nv12(buffer, [0, 2048], 16)
        native = sb.frame(buffer).map("dma").native
        del buffer
        gc.collect()
        view = samebytes_dma.frame_of_planes(native, sb.ImageInfo.of("NV12", 16, 8)).map("cpu")
        assert not view.native[0].any()

    def test_memory_without_a_descriptor(self) -> None:
        frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 192, None), format="NV12", width=16,
                             height=8)  # fmt: skip
        with pytest.raises(RouteError, match="SystemMemory has no file descriptor"):
            frame.map("dma")
        with pytest.raises(RouteError, match="no file descriptor"):
            frame.planes[0].map("dma")

    def test_read_only(self) -> None:
        buffer = buffer_behind(memfd(4096))
        held = Gst.Sample.new(buffer, None, None, None)
        add_frame = sbg.frame_of(buffer, format="NV12", width=16, height=8)
        with pytest.raises(AccessError):
            add_frame.map("dma", "rw")
        assert add_frame.map("dma").readonly
        del held


class TestFromDMA:
    def test_one_buffer(self) -> None:
        frame = sb.context("dma:memfd").allocate_frame("NV12", 16, 8)
        with frame.map("cpu", "w") as view:
            view.native[0][...], view.native[1][...] = 7, 8
        mapped = frame.map("gstreamer", "rw")
        assert mapped.native.n_memory() == 1
        assert mapped.native.extract_dup(0, 2) == b"\x07\x07"
        arrays = mapped.map("cpu", "rw")
        arrays.native[1][...] = 9
        assert (frame.map("cpu").native[1] == 9).all()
        assert str(sb.frame(mapped.native).image) == "NV12 16x8"

    def test_the_descriptor_is_gstreamers(self, lent: Callable[[], int]) -> None:
        frame = sb.context("dma:memfd").allocate_frame("NV12", 16, 8)
        native = frame.map("gstreamer").native
        number = frame.planes[0].handle("dma_fd")
        del frame
        gc.collect()
        # What it was made from is kept too: it may be a surface that would be reused.
        os.fstat(number)
        assert native.extract_dup(0, 1) == b"\0"
        del native
        assert lent() == 0
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(number)

    def test_several_buffers(self) -> None:
        fds = memfd(4096), memfd(4096)
        frame = samebytes_dma.frame_from_fds(fds, "NV12", 16, 8, pitches=(32, 64), offsets=(8, 16),
                                             take_ownership=True)  # fmt: skip
        mapped = frame.map("gstreamer")
        meta = GstVideo.buffer_get_video_meta(mapped.native)
        assert list(meta.offset)[:2] == [8, 4096 + 16]
        assert list(meta.stride)[:2] == [32, 64]
        again = mapped.map("dma")
        assert [p.handle("offset") for p in again] == [8, 16]
        with pytest.raises(AccessError):
            sb.frame(mapped.native).map("dma", "rw")

    def test_tensors(self) -> None:
        tensor = sb.context("dma:memfd").allocate((4, 6), "int16")
        with tensor.map("cpu", "w") as view:
            view.native[...] = np.arange(24).reshape(4, 6)
        mapped = tensor.map("gstreamer", "rw")
        assert mapped.info == tensor.info
        np.testing.assert_array_equal(mapped.map("cpu").native, np.arange(24).reshape(4, 6))

    def test_tiled_memory_stays_away(self) -> None:
        frame = samebytes_dma.frame_from_fds(
            memfd(8192), "NV12", 16, 8, pitches=(32, 32), offsets=(0, 4096), modifier=1 << 56 | 2,
            take_ownership=True,
        )  # fmt: skip
        with pytest.raises(RouteError):
            frame.map("gstreamer")


class TestDRMFormats:
    """Caps of GStreamer 1.24 and later, which any version can spell."""

    def frame(self, drm_format: str) -> Any:
        buffer = buffer_behind(memfd(8192))
        add_nv12(buffer, [0, 4096], 16)
        return sbg.frame_of(
            buffer,
            f"video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={drm_format},width=16,height=8,"
            "framerate=0/1",
        )

    def test_tiled(self) -> None:
        frame = self.frame("NV12:0x0100000000000002")
        assert str(frame.image) == "NV12 16x8"
        assert [p.strides for p in frame] == [None, None]
        with pytest.raises(RouteError):
            frame.map("cpu")
        assert self.frame("NV12:0x0100000000000002").planes[0].handle("drm_modifier") == 1 << 56 | 2

    def test_they_say_what_other_caps_say(self) -> None:
        """Colours, shape, fields and HDR were not read: a model took full range for limited."""
        rest = (
            "width=16,height=8,framerate=25/1,pixel-aspect-ratio=4/3,colorimetry=1:4:0:1,"
            "chroma-site=mpeg2,interlace-mode=interleaved,field-order=top-field-first,"
            "content-light-level=(string)1000:400"
        )
        buffer = buffer_behind(memfd(8192))
        add_nv12(buffer, [0, 4096], 16)
        drm, plain = (
            sbg.frame_of(buffer, f"video/x-raw{caps},{rest}").metadata
            for caps in ("(memory:DMABuf),format=DMA_DRM,drm-format=NV12", ",format=NV12")
        )
        assert "DMA_DRM" in drm["gstreamer"].pop("caps")
        plain["gstreamer"].pop("caps")
        assert drm == plain
        assert (drm["color_range"], drm["field_order"]) == ("full", "top")

    def test_a_format_that_gstreamer_lacks(self) -> None:
        caps = (
            "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XV30:0x0100000000000002,"
            "width=16,height=8,framerate=0/1"
        )
        frame = sbg.frame_of(buffer_behind(memfd(8192)), caps)
        assert str(frame.image) == "XV30 16x8"
        assert frame.metadata.keys() == {"gstreamer"}

    @pytest.mark.parametrize("wrong", ["XXXX", "NV12:0xzz", "NV12:"])
    def test_unknown(self, wrong: str) -> None:
        if wrong == "NV12:":
            assert self.frame(wrong).planes[0].handle("drm_modifier") == 0
            return
        with pytest.raises(sb.errors.LayoutError, match="DRM format"):
            self.frame(wrong)


@pytest.mark.dmabuf
@needs_dma_buf
class TestDMABufs:
    def test_there_and_back(self) -> None:
        frame = sb.context("dma:udmabuf").allocate_frame("NV12", 64, 32)
        with frame.map("cpu", "w") as view:
            view.native[0][...] = 3
        buffer = frame.map("gstreamer", "rw")
        assert buffer.native.peek_memory(0).is_type("dmabuf")
        again = sb.frame(buffer.native)
        # For the CPU it goes by way of dma, which begins and ends the access.
        route = sb.route(again, "cpu")
        assert [hop.spec.target for hop in route.hops] == ["dma", "cpu"]
        with again.map("cpu", "rw") as view:
            assert (view.native[0] == 3).all()
            view.native[0][...] = 4
        assert (frame.map("cpu").native[0] == 4).all()


def test_descriptors_do_not_pile_up(memfds_left: Callable[[], int]) -> None:
    for _ in range(20):
        frame = sb.context("dma:memfd").allocate_frame("NV12", 16, 8)
        frame.map("gstreamer").map("dma").map("gstreamer").map("cpu")
    del frame
    sweep_loans()
    assert memfds_left() == 0
