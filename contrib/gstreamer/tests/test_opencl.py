# SPDX-License-Identifier: Apache-2.0
"""OpenCL memory that buffers carry through pipelines."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from gi.repository import Gst

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes.errors import (
    AccessError,
    MissingDependencyError,
    SamebytesError,
    UnknownNameError,
)
from samebytes.plugins import sweep_loans
from samebytes.testing import missing_device


@pytest.fixture(scope="module")
def opencl() -> Any:
    pytest.importorskip(
        "samebytes_gpu_opencl",
        reason="missing package samebytes-gpu-opencl: pip install samebytes-gpu-opencl",
    )
    try:
        context = sb.context("opencl:GPU")
    except (MissingDependencyError, UnknownNameError):
        pytest.skip(missing_device("GPU"))
    return context


def test_what_is_put_in_comes_out(opencl: Any, lent: Callable[[], int]) -> None:
    frame = opencl.allocate_frame("NV12", 64, 32)
    frame.meta.pts = 7
    carried = frame.map("gstreamer:OpenCL", "rw")
    assert carried.context is opencl.derive("gstreamer:OpenCL")
    assert carried.context.parent is opencl
    found = sb.frame(carried.native)
    assert found.context is carried.context
    assert str(found.image) == "NV12 64x32"
    back = found.map(opencl, "rw")
    assert all(a is b for a, b in zip(back.native, frame.native, strict=True))
    assert lent() == 1
    assert frame.close() is False
    del carried, found, back
    gc.collect()
    assert lent() == 0


def test_through_a_pipeline(opencl: Any) -> None:
    frame = opencl.allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "w") as view:
        view.native[0][...] = 9
    pipeline = Gst.parse_launch("appsrc ! queue ! tee ! appsink name=out sync=false")
    with sbg.GStreamerSink(pipeline) as sink:
        sink.write(frame.map("gstreamer:OpenCL"))
        arrived = sb.frame(pipeline.get_by_name("out").try_pull_sample(5 * Gst.SECOND))
        back = arrived.map(opencl)
        assert back.native[0] is frame.native[0]
        with pytest.raises(AccessError):
            arrived.map(opencl, "rw")
        with back.map("cpu") as view:
            assert (view.native[0] == 9).all()
        del view


def test_elements_cannot_read_it(opencl: Any) -> None:
    carried = opencl.allocate_frame("NV12", 64, 32).map("gstreamer:OpenCL", "rw")
    for flags in (Gst.MapFlags.READ, Gst.MapFlags.WRITE):
        assert not carried.native.map(flags)[0]
        assert not carried.native.peek_memory(0).map(flags)[0]
    # Nor do they agree to.
    sink = sbg.GStreamerSink("videoconvert ! video/x-raw,format=RGB ! fakesink", timeout=5)

    def write() -> None:
        with sink:
            for _ in range(50):
                sink.write(carried)

    with pytest.raises(sbg.PipelineError):
        write()


def test_the_original_may_be_closed_or_dropped(opencl: Any) -> None:
    frame = opencl.allocate_frame("NV12", 64, 32)
    memory = frame.native[0].int_ptr
    storage = weakref.ref(frame.storage)
    again = frame.map("opencl", "rw")
    buffer = again.map("gstreamer:OpenCL").native
    again.close()
    del frame, again
    gc.collect()
    assert storage() is not None
    assert sb.frame(buffer).map(opencl).native[0].int_ptr == memory
    del buffer
    gc.collect()
    sweep_loans()
    assert storage() is None


@pytest.mark.parametrize("planes", [True, False])
def test_it_closes_after_it_was_mapped_back(
    opencl: Any, planes: bool, lent: Callable[[], int]
) -> None:
    """The objects that the buffer carries end with it."""
    frame = sb.context("cpu").allocate_frame("NV12", 64, 32)
    carried = frame.map(opencl.derive("gstreamer:OpenCL"), "rw")
    back = carried.map(opencl)
    if planes:
        assert len(back.planes) == 2
    end = weakref.ref(frame.storage)
    assert carried.close() is False
    back.close()
    assert lent() == 0
    frame.close()
    assert end() is None


def test_other_memory(opencl: Any) -> None:
    frame = opencl.allocate_frame("NV12", 64, 32)
    buffer = frame.map("gstreamer:OpenCL", "rw").native
    other = Gst.Buffer.new_allocate(None, 3072, None)
    buffer.replace_memory(0, other.get_memory(0))
    assert sb.frame(buffer).context.node == "gstreamer"
    with pytest.raises(SamebytesError, match="derive"):
        sb.context("cpu").allocate_frame("NV12", 64, 32).map("gstreamer:OpenCL")
