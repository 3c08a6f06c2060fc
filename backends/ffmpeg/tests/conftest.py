# SPDX-License-Identifier: Apache-2.0
"""Clips to decode, and a check after every test that no reference and no buffer is left over."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import MissingDependencyError, SamebytesError
from samebytes.testing import missing_device
from samebytes_ffmpeg._avutil import PYAV
from samebytes_ffmpeg._avutil_abi import AVBufferRef
from samebytes_ffmpeg._hardware.libavcodec import libavcodec_of
from samebytes_ffmpeg._hardware.libraries import library_for, system_library
from samebytes_ffmpeg._libavutil import Libavutil
from samebytes_ffmpeg._loans import held_count
from samebytes_ffmpeg._pyav import frame_address
from samebytes_ffmpeg._reference import references_held

_PYAV_MAJOR = int(av.__version__.partition(".")[0])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that older versions of PyAV cannot pass."""
    config.addinivalue_line(
        "markers",
        "pyav17: relies on PyAV 17: frames that it makes are counted by FFmpeg, planes stored "
        "bottom up show their own bytes; or on FFmpeg 8: its formats, its properties, a swscale "
        "that does not end the process on NV16, layouts of any number of channels",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests with an older PyAV."""
    if _PYAV_MAJOR >= 17:
        return
    skip = pytest.mark.skip(reason="missing package av>=17: pip install av")
    for item in items:
        if item.get_closest_marker("pyav17"):
            item.add_marker(skip)


def _write_clip(path: Path, frames: int) -> Path:
    """A moving picture in H.264, whose frames are predicted from those before."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"g": "250", "refs": "4"})
        stream.width, stream.height, stream.pix_fmt = 322, 242, "yuv420p"
        for number in range(frames):
            picture = np.zeros((242, 322, 3), np.uint8)
            picture[..., 0] = (np.arange(322) // 4 + number) % 256
            picture[50 + number : 90 + number, 100:160] = (250, 20, 20)
            frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 frames of H.264, 322x242: rows are padded, and the chroma planes are 161x121."""
    return _write_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", 48)


@pytest.fixture(scope="session")
def vaapi() -> None:
    """A device of VA-API that FFmpeg can open, or the test is skipped."""
    try:
        sb.context("ffmpeg:VAAPI")
    except SamebytesError:
        pytest.skip(missing_device("VAAPI"))


@pytest.fixture(scope="session")
def jpeg(vaapi: None) -> None:
    """A device and a libavcodec that decode JPEG by VA-API, or the test is skipped."""
    del vaapi
    try:
        libavcodec_of(library_for("vaapi"))
    except MissingDependencyError:
        pytest.skip("missing package libavcodec: apt install ffmpeg")


@pytest.fixture(scope="session")
def cuda() -> None:
    """A device of CUDA that FFmpeg can open, or the test is skipped."""
    try:
        sb.context("ffmpeg:CUDA")
    except SamebytesError:
        pytest.skip(missing_device("CUDA"))


@pytest.fixture(scope="session")
def cuda_plugin() -> None:
    """The memory type of CUDA's arrays, or the test is skipped."""
    pytest.importorskip(
        "samebytes_cuda", reason="missing package samebytes-cuda: pip install samebytes-cuda"
    )


@pytest.fixture(scope="session")
def system_avutil() -> None:
    """A libavutil besides PyAV's, or the test is skipped."""
    try:
        system_library()
    except MissingDependencyError:
        pytest.skip("missing package libavutil: apt install ffmpeg")


@pytest.fixture(scope="session")
def dma_plugin() -> None:
    """The memory type of DMA-BUFs, or the test is skipped."""
    pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
    )


@pytest.fixture(scope="session")
def vaapi_plugin() -> None:
    """The memory type of VA-API's surfaces, or the test is skipped."""
    pytest.importorskip(
        "samebytes_vaapi", reason="missing package samebytes-vaapi: pip install samebytes-vaapi"
    )


@pytest.fixture(scope="session")
def lent() -> Callable[[], int]:
    """A function that counts the objects that are lent to FFmpeg."""
    return held_count


@pytest.fixture(scope="session")
def references() -> Callable[[], int]:
    """A function that counts the references to FFmpeg's buffers that are held."""
    return references_held


@pytest.fixture
def avutil() -> Libavutil:
    """PyAV's own libavutil, for calls to FFmpeg itself."""
    return PYAV


@pytest.fixture
def av_frame() -> Callable[[Any], Any]:
    """Return the AVFrame of a PyAV frame, whose fields can be read and set to any value."""
    return lambda native: PYAV.AVFrame.from_address(frame_address(native))


@pytest.fixture
def buffers() -> Callable[[Any], list[Any]]:
    """Return the AVBufferRefs of an AVFrame, in their order."""
    return lambda frame: [AVBufferRef.from_address(address) for address in frame.buf if address]


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Check that each test releases its references to FFmpeg's buffers and the buffers it lent.

    Nor may a test make this thread a real-time one: later tests would wait for all of its threads.
    """
    scheduled = os.sched_getscheduler(0)
    if (before := (references_held(), held_count())) != (0, 0):
        gc.collect()  # cycles of other tests would be released in the middle of this one
        before = references_held(), held_count()
    sb.reset_stats()
    yield
    if (references_held(), held_count()) != before:
        gc.collect()  # a traceback that pytest keeps, or a cycle of the test's own
    assert (references_held(), held_count()) == before
    assert os.sched_getscheduler(0) == scheduled, "an encoder made this thread a real-time one"
