# SPDX-License-Identifier: Apache-2.0
"""Frames that FFmpeg has in CUDA memory: the same bytes as CUDA's arrays, there and back."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import (
    CopyRequiredError,
    ElementError,
    LayoutError,
    NoRouteError,
    UnknownNameError,
)
from samebytes_ffmpeg import FFmpegHardwareFrame, HardwareDevice
from samebytes_ffmpeg._avutil import PYAV
from samebytes_ffmpeg._elements._decoders import Decoder, SoftwareDecoding, StreamDecoder
from samebytes_ffmpeg._elements._input import Input
from samebytes_ffmpeg._pyav import frame_address

from .cuda_pictures import SIZE, by_device, by_ffmpeg, picture
from .test_hardware_conformance import CUDA_ARRAYS, CUDA_FRAMES

pytestmark = [pytest.mark.usefixtures("cuda", "cuda_plugin"), pytest.mark.pyav17]

FRAMES = 4
Upload = Callable[[av.VideoFrame], av.VideoFrame]


uploads = pytest.mark.parametrize("upload", [by_ffmpeg, by_device])


@uploads
def test_it_is_what_it_is(upload: Upload) -> None:
    native = upload(picture())
    frame = sb.frame(native)
    assert isinstance(frame, FFmpegHardwareFrame)
    assert (frame.context.node, frame.format.name, frame.native) == ("ffmpeg:CUDA", "NV12", native)
    assert (frame.width, frame.height, frame.pts) == (*SIZE, native.pts)
    for plane, of_pyav in zip(frame.planes, native.planes, strict=True):
        assert plane.handle("cuda_ptr") == of_pyav.buffer_ptr
        assert plane.handle("pitch") == of_pyav.line_size
        assert plane.info.strides is not None
        assert plane.info.strides[0] == of_pyav.line_size
    assert frame.context.handle("cuda_context")
    assert frame.context.handle("cuda_stream") == 0


@uploads
def test_there_and_back_are_the_same_bytes(upload: Upload) -> None:
    frame = sb.frame(upload(picture()))
    sb.reset_stats()
    there = frame.map("cuda", "rw")
    back = there.map("ffmpeg:CUDA", "rw")
    places = [[p.handle("cuda_ptr") for p in one.planes] for one in (frame, there, back)]
    assert places[0] == places[1] == places[2]
    assert there.context.handle("cuda_context") == frame.context.handle("cuda_context")
    assert back.context.handle("cuda_context") == frame.context.handle("cuda_context")
    assert sb.stats().copies == 0
    assert (back.map("cpu", copy=True).planes[0].native == 7).all()


def test_writes_are_seen_on_either_side() -> None:
    native = by_device(picture())
    frame = sb.frame(native)
    there = frame.map("cuda", "rw")
    CUDA_ARRAYS.write(there.native[0], np.full((48, 64), 99, np.uint8))
    assert (native.to_ndarray(format="nv12")[:48] == 99).all()
    CUDA_FRAMES.write(frame.planes[0].native, np.full((48, 64), 98, np.uint8))
    assert (CUDA_ARRAYS.read(there.native[0]) == 98).all()


def test_memory_of_cuda_is_a_frame_of_ffmpegs() -> None:
    made = sb.context("cuda").allocate_frame("NV12", *SIZE, pts=5, time_base=Fraction(1, 10))
    frame = made.map("ffmpeg:CUDA", "rw")
    assert frame.context is sb.context("ffmpeg:CUDA")
    native = frame.native
    assert (native.format.name, native.pts, native.time_base) == ("cuda", 5, Fraction(1, 10))
    assert [p.buffer_ptr for p in native.planes] == [p.handle("cuda_ptr") for p in made.planes]
    CUDA_ARRAYS.write(made.native[0], np.full((48, 64), 31, np.uint8))
    del made, frame
    # FFmpeg's frame alone holds the memory.
    assert (native.to_ndarray(format="nv12")[:48] == 31).all()


def test_copies_to_and_fro_are_counted() -> None:
    device = sb.context("ffmpeg:CUDA")
    assert isinstance(device, HardwareDevice)
    frame = device.upload(picture())
    with pytest.raises(CopyRequiredError, match="ffmpeg:CUDA -> "):
        frame.map("cpu")
    planes = frame.map("cpu", copy=True).native
    assert [int(p.flat[0]) for p in planes] == [7, 8]
    found = sb.stats()
    assert set(found.by_edge) == {"ffmpeg -> ffmpeg:CUDA", "ffmpeg:CUDA -> ffmpeg"}
    assert found.copied_bytes == 2 * 64 * 48 * 3 // 2


@pytest.mark.parametrize("format_", ["p010le", "yuv444p", "bgra"])
def test_other_formats(format_: str) -> None:
    there = sb.frame(by_device(picture(format_=format_))).map("cuda")
    for number, plane in enumerate(there.map("cpu", copy=True).planes):
        assert (np.asarray(plane) == 7 + number).all()


def test_a_mapping_outlives_the_frame_and_its_filter() -> None:
    there = sb.frame(by_ffmpeg(picture())).map("cuda")
    assert (np.asarray(there.map("cpu", copy=True).planes[0].native) == 7).all()


def test_the_pool_does_not_use_memory_that_is_mapped() -> None:
    device = sb.context("ffmpeg:CUDA")
    assert isinstance(device, HardwareDevice)
    pool = device.pool("NV12", *SIZE)
    first = pool.allocate()
    address = first.planes[0].handle("cuda_ptr")
    there = first.map("cuda")
    del first
    other = pool.allocate()
    assert other.planes[0].handle("cuda_ptr") != address
    del there, other
    again = [pool.allocate() for _ in range(2)]
    assert address in [one.planes[0].handle("cuda_ptr") for one in again]


def test_another_context_of_the_gpu() -> None:
    """It has addresses of its own: only a copy goes there."""
    frame = sb.frame(by_ffmpeg(picture()))
    with pytest.raises(CopyRequiredError, match="another CUDA context: derive"):
        frame.map(sb.context("cuda"))
    made = sb.context("cuda").allocate_frame("NV12", *SIZE)
    with pytest.raises(CopyRequiredError, match="another CUDA context: derive"):
        made.map(frame.context)


LOST = """
import ctypes, gc
import av
import samebytes as sb
from samebytes.errors import NativeError, NoRouteError
device, picture = sb.context("ffmpeg:CUDA"), av.VideoFrame(64, 48, "nv12")
frame = device.upload(picture)
mapped = frame.map("cuda")
assert not ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset_v2(0)
for use in (
    lambda: frame.map("cpu", copy=True),
    lambda: mapped.map("cpu", copy=True),
    lambda: device.upload(picture),
    lambda: mapped.context.allocate((4,)),
):
    try:
        use()
    except (NativeError, NoRouteError) as error:
        print(type(error).__name__)
del frame, mapped, use
gc.collect()
print("end")
"""


def test_a_device_that_is_lost_with_frames_out() -> None:
    """Another part of the program resets it: errors of ours, and no crash as the frames end."""
    if "software" not in str(sb.context("ffmpeg:CUDA")):
        pytest.skip("NVIDIA's driver does not define what a CUcontext does that is gone")
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60, check=False
    )
    expected = ["NoRouteError", "NativeError", "NoRouteError", "NativeError", "end"]
    assert (done.returncode, done.stdout.split()) == (0, expected), done.stderr


def test_a_frame_that_was_given_back() -> None:
    native = by_device(picture())
    frame = sb.frame(native)
    there = frame.map("cuda")
    av_frame = PYAV.AVFrame.from_address(frame_address(native))
    kept, av_frame.format = av_frame.format, -1
    with pytest.raises(LayoutError, match="returned to its pool"):
        frame.map("cuda")
    assert there.planes[0].handle("cuda_ptr")
    av_frame.format = kept


def test_rows_that_are_too_short() -> None:
    native = by_device(picture())
    frame = PYAV.AVFrame.from_address(frame_address(native))
    kept, frame.linesize[1] = frame.linesize[1], 40
    with pytest.raises(LayoutError, match="40"):
        sb.frame(native)
    frame.linesize[1] = kept
    kept, frame.data[1] = frame.data[1], None
    with pytest.raises(LayoutError, match="no address"):
        sb.frame(native)
    frame.data[1] = kept


def test_formats_that_ffmpeg_lacks_on_a_gpu() -> None:
    device: Any = sb.context("ffmpeg:CUDA")
    with pytest.raises(NoRouteError, match="does not support frames of RGB"):
        device.upload(picture(format_="rgb24"))
    made = sb.context("cuda").allocate_frame("RGB", *SIZE)
    with pytest.raises(NoRouteError, match="does not support frames of RGB"):
        made.map("ffmpeg:CUDA")


def test_names_of_devices() -> None:
    first = sb.context("ffmpeg:CUDA")
    assert sb.context("ffmpeg:CUDA.0") is first
    assert sb.context("cuda").derive("ffmpeg:CUDA") is first
    assert first.derive("cuda") is sb.context("cuda")
    assert first.device == sb.context("cuda").device
    for name in ("ffmpeg:CUDA.97", "ffmpeg:CUDA.x"):
        with pytest.raises(UnknownNameError, match="CUDA device"):
            sb.context(name)


class _Uploading(SoftwareDecoding):
    """Decodes in software, to frames whose device nothing of samebytes holds, as NVDEC's."""

    memory = "ffmpeg:CUDA"

    def __init__(self) -> None:
        super().__init__("for a test")
        shared = sb.context("ffmpeg:CUDA")
        assert isinstance(shared, HardwareDevice)
        # A device of its own: whoever holds the one that all share holds that context, too.
        pool = type(shared)._opened_on(PYAV, None).pool("NV12", *SIZE)
        self._frames = [pool.get() for _ in range(FRAMES)]

    def decoder(self, stream: Any, threads: int) -> Decoder:
        frames = self._frames

        class Uploaded(StreamDecoder):
            def decode(self, packet: av.Packet[Any]) -> Sequence[av.VideoFrame]:
                return [frames.pop() for _ in super().decode(packet)]  # type: ignore[misc]

        return Uploaded(stream, threads)


def test_the_context_lasts_from_frame_to_frame(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    with av.open(str(clip), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height = SIZE
        for number in range(FRAMES):
            frame = picture(format_="yuv420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    source = Input(
        lambda text: ElementError("ffmpeg.source", text), str(clip), number=0, threads=1, start=0,
        waking=None, lenient=False, options={}, decoding=_Uploading(),
    )  # fmt: skip
    try:
        source.prime()
        contexts = set()
        for _ in range(FRAMES):
            mapped = sb.frame(source.read()).map("cuda")
            assert mapped.parent is not None
            contexts.add(weakref.ref(mapped.parent.context))
            mapped.close()
            del mapped
        # One, though nobody holds a frame while the next one is decoded: its routes are compiled.
        (context,) = contexts
        assert context() is not None
    finally:
        source.close()
    gc.collect()
    assert context() is None
