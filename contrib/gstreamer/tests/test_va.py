# SPDX-License-Identifier: Apache-2.0
"""Surfaces in buffers: GstVaMemory, made by GStreamer's own allocator."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from ctypes import c_int, c_uint, c_uint64, c_void_p
from typing import Any

import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import (
    ClosedError,
    LayoutError,
    MissingDependencyError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.testing import missing_device

from .crop_metas import add_crop_meta

CAPS = "video/x-raw(memory:VAMemory),format=NV12,width=64,height=48,framerate=30/1"
KIND = "gst.va.display.handle"


def _prototypes(name: str, table: dict[str, tuple[Any, ...]]) -> Any:
    library = ctypes.CDLL(name)
    for symbol, (result, *arguments) in table.items():
        function = getattr(library, symbol)
        function.restype, function.argtypes = result, arguments
    return library


class Display:
    """A GstVaDisplay over the display under test, and an allocator of surfaces in it."""

    def __init__(self, context: sb.Context) -> None:
        self.vaapi = context
        self.va = _prototypes("libgstva-1.0.so.0", {
            "gst_va_display_wrapped_new": (c_void_p, c_void_p),
            "gst_va_allocator_new": (c_void_p, c_void_p, c_void_p),
            "gst_va_allocator_set_format": (c_int, c_void_p, c_void_p, c_uint, c_int),
            "gst_va_allocator_alloc": (c_void_p, c_void_p),
            "gst_va_allocator_flush": (None, c_void_p),
            "gst_va_memory_get_surface": (c_uint, c_void_p),
        })  # fmt: skip
        self.glib = _prototypes("libglib-2.0.so.0", {
            "g_array_new": (c_void_p, c_int, c_int, c_uint),
            "g_array_append_vals": (c_void_p, c_void_p, c_void_p, c_uint),
        })  # fmt: skip
        self.gst = _prototypes("libgstreamer-1.0.so.0", {
            "gst_buffer_append_memory": (None, c_void_p, c_void_p),
            "gst_context_writable_structure": (c_void_p, c_void_p),
            "gst_structure_set_value": (None, c_void_p, ctypes.c_char_p, c_void_p),
        })  # fmt: skip
        self.gobject = _prototypes("libgobject-2.0.so.0", {
            "g_value_init": (c_void_p, c_void_p, ctypes.c_size_t),
            "g_value_set_object": (None, c_void_p, c_void_p),
            "g_value_unset": (None, c_void_p),
            "g_type_from_name": (ctypes.c_size_t, ctypes.c_char_p),
        })  # fmt: skip
        self.pointer = self.va.gst_va_display_wrapped_new(context.handle("va_display"))
        formats = self.glib.g_array_new(0, 0, 4)
        nv12 = c_int(int(GstVideo.VideoFormat.NV12))
        self.glib.g_array_append_vals(formats, ctypes.byref(nv12), 1)
        self.allocator = self.va.gst_va_allocator_new(self.pointer, formats)
        info = GstVideo.VideoInfo.new_from_caps(
            Gst.Caps.from_string("video/x-raw,format=NV12,width=64,height=48")
        )
        assert self.va.gst_va_allocator_set_format(self.allocator, hash(info), 0, 0)

    def buffer(self) -> Any:
        buffer = Gst.Buffer.new()
        memory = self.va.gst_va_allocator_alloc(self.allocator)
        assert memory
        self.gst.gst_buffer_append_memory(hash(buffer), memory)
        return buffer

    def frame(self) -> Any:
        return sbg.frame_of(self.buffer(), CAPS)

    def flush(self) -> None:
        """Destroy the surfaces that the allocator keeps for later."""
        self.va.gst_va_allocator_flush(self.allocator)

    def surface_of(self, buffer: Any) -> int:
        return int(self.va.gst_va_memory_get_surface(hash(buffer.peek_memory(0))))

    def shared(self) -> Any:
        """The Gst.Context by which elements share the display."""
        context = Gst.Context.new(KIND, True)
        value = (c_uint64 * 3)()  # a GValue: its type, and two words
        self.gobject.g_value_init(ctypes.byref(value), self.gobject.g_type_from_name(b"GstObject"))
        self.gobject.g_value_set_object(ctypes.byref(value), self.pointer)
        structure = self.gst.gst_context_writable_structure(hash(context))
        self.gst.gst_structure_set_value(structure, b"gst-display", ctypes.byref(value))
        self.gobject.g_value_unset(ctypes.byref(value))
        return context


@pytest.fixture
def display(made: Display, request: pytest.FixtureRequest) -> Iterator[Display]:
    """The display; after the test its allocator keeps nothing."""
    request.getfixturevalue("nothing_left_over")  # looks afterwards
    made.flush()
    yield made
    made.flush()


@pytest.fixture(scope="module")
def made() -> Display:
    pytest.importorskip(
        "samebytes_vaapi", reason="missing package samebytes-vaapi: pip install samebytes-vaapi"
    )
    try:
        return Display(sb.context("vaapi"))
    except (MissingDependencyError, UnknownNameError):
        pytest.skip(missing_device("VAAPI"))  # fmt: skip


def test_a_buffer_belongs_to_its_display(display: Display) -> None:
    frame = display.frame()
    context = frame.context
    assert isinstance(context, sbg.GStreamerVAContext)
    assert context.node == "gstreamer:VA"
    assert context.handle("va_display") == display.vaapi.handle("va_display")
    assert display.frame().context is context
    assert [p.info.strides for p in frame] == [None, None]
    assert frame.writable
    assert frame.caps.get_features(0).contains("memory:VAMemory")


def test_the_surface_itself(display: Display) -> None:
    buffer = display.buffer()
    surface = display.surface_of(buffer)
    frame = sbg.frame_of(buffer, CAPS)
    mapped = frame.map("vaapi", "rw")
    assert mapped.planes[0].handle("va_surface") == surface
    assert mapped.context.handle("va_display") == frame.context.handle("va_display")
    assert mapped.meta is frame.meta
    assert frame.map("vaapi").readonly


def test_written_by_one_read_by_the_other(display: Display) -> None:
    frame = display.frame()
    with frame.map("cpu", "w") as view:
        view.native[0][...], view.native[1][...] = 7, 9
    assert sb.stats().copies == 0
    with frame.map("vaapi").map("cpu") as view:
        assert (view.native[0] == 7).all()
        assert (view.native[1] == 9).all()


def test_the_ways_from_a_surface(display: Display) -> None:
    frame = display.frame()
    assert [h.spec.target for h in sb.route(frame, "vaapi").hops] == ["vaapi"]
    assert [h.spec.target for h in sb.route(frame, "cpu").hops] == ["vaapi", "cpu"]


def test_the_way_to_its_dma_buf(display: Display) -> None:
    pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
    )
    frame = display.frame()
    assert [h.spec.target for h in sb.route(frame, "dma").hops] == ["vaapi", "dma"]
    frame.map("dma").close()


def test_the_surface_outlives_the_buffer(display: Display) -> None:
    buffer = display.buffer()
    frame = sbg.frame_of(buffer, CAPS)
    mapped = frame.map("vaapi", "rw")
    view = mapped.map("cpu", "rw").native
    view[0][...] = 5
    del buffer, frame, mapped
    gc.collect()
    for _ in range(4):
        with display.frame().map("cpu", "w") as other:
            other.native[0][...] = 200
    assert (view[0] == 5).all()


def test_buffers_come_and_go(display: Display) -> None:
    for _ in range(50):
        display.frame().map("vaapi").close()


def test_a_second_holder_keeps_from_writing(display: Display) -> None:
    buffer = display.buffer()
    held = Gst.Sample.new(buffer, None, None, None)
    assert sbg.frame_of(buffer, CAPS).readonly
    del held


def test_crops(display: Display) -> None:
    buffer = display.buffer()
    add_crop_meta(buffer, 2, 2, 8, 8)
    with pytest.raises(LayoutError, match="crop=False"):
        sbg.frame_of(buffer, CAPS)
    assert sbg.frame_of(buffer, CAPS, crop=False).map("vaapi").width == 64


@pytest.mark.parametrize("reads", ["", "before", "after"])
def test_a_model_of_a_gpu_settles_on_their_display(display: Display, reads: str) -> None:
    openvino = pytest.importorskip(
        "openvino", reason="missing package samebytes-openvino: pip install samebytes-openvino"
    )
    if not any(name.startswith("GPU") for name in openvino.Core().available_devices):
        pytest.skip(missing_device("GPU"))
    ops = openvino.opset13
    image = ops.parameter([1, 3, 32, 32], openvino.Type.f32)
    model = openvino.Model([ops.result(ops.relu(image))], [image], "picture")
    look = el.inplace(takes=el.Image(memory="cpu"))(lambda frame: None)
    infer: Any = el.create("openvino.infer", model, "GPU", postprocess=lambda frame, outputs: [])
    before, after = [look()] * (reads == "before"), [look()] * (reads == "after")
    frames = [display.frame() for _ in range(2)]
    with el.Pipeline(frames, *before, infer, *after).start(threads=0) as out:
        assert len(list(out)) == 2
        assert "both planes of the surface, through a VAContext" in out.explain()
    assert "planes: as surfaces" in infer.explain()
    assert sb.stats().copies == 0


def test_a_closed_context(display: Display) -> None:
    frame = display.frame()
    frame.context.close()
    with pytest.raises(ClosedError):
        frame.context.derive("vaapi")
    frame.map("vaapi").close()
    # The next buffer has a context again.
    display.frame().map("vaapi").close()


class TestContextOf:
    def test_an_element(self, display: Display) -> None:
        pipeline = Gst.parse_launch("videotestsrc ! identity name=i ! fakesink")
        element = pipeline.get_by_name("i")
        with pytest.raises(UnsupportedObjectError, match="READY"):
            sbg.context_of(element)
        element.set_context(display.shared())
        context = sbg.context_of(element)
        assert context.handle("va_display") == display.vaapi.handle("va_display")
        assert sbg.context_of(pipeline) is context
        assert context.derive("vaapi").handle("va_display") == context.handle("va_display")

    def test_no_element(self) -> None:
        for wrong in (None, 3, Gst.Caps.new_any()):
            with pytest.raises(UnsupportedObjectError, match=r"Gst\.Element"):
                sbg.context_of(wrong)


def test_a_registered_element_gets_surfaces_of_the_display_that_they_are_on(
    display: Display,
) -> None:
    seen = []

    @el.inplace(takes=el.Image("NV12", memory="vaapi"))
    def look(frame: Any) -> None:
        seen.append((frame.context.memory_type, frame.context.handle("va_display")))

    sbg.register(look, name="sb_surfaces")
    with sbg.GStreamerSink("sb_surfaces ! fakesink", caps=CAPS) as sink:
        for _ in range(2):
            sink.write(display.frame())
    assert seen == [("vaapi", display.vaapi.handle("va_display"))] * 2
    assert sb.stats().copies == 0
