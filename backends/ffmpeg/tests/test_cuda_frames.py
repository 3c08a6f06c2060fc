# SPDX-License-Identifier: Apache-2.0
"""Frames that FFmpeg has in CUDA memory: the same bytes as CUDA's arrays, there and back."""

from __future__ import annotations

import ctypes
import gc
import importlib
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
from av.filter import Graph

import samebytes as sb
import samebytes_ffmpeg
from samebytes.errors import (
    CopyRequiredError,
    DeviceMismatchError,
    ElementError,
    ExportError,
    LayoutError,
    NoRouteError,
    ParameterError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import DeviceArray
from samebytes_ffmpeg import FFmpegHardwareFrame, HardwareDevice
from samebytes_ffmpeg._avutil import PYAV
from samebytes_ffmpeg._elements._cuda_decoding import _hwaccel
from samebytes_ffmpeg._elements._decoders import Decoder, SoftwareDecoding, StreamDecoder
from samebytes_ffmpeg._elements._input import Input
from samebytes_ffmpeg._hardware import cuda_streams, libcuda
from samebytes_ffmpeg._hardware.cuda_device import CUDADevice
from samebytes_ffmpeg._hardware.cuda_streams import have_stream, stream_of
from samebytes_ffmpeg._hardware.hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext
from samebytes_ffmpeg._owned import buffer_data
from samebytes_ffmpeg._pyav import frame_address
from samebytes_ffmpeg._reference import references_held

from .test_hardware_conformance import CUDA_ARRAYS, CUDA_FRAMES

pytestmark = [pytest.mark.usefixtures("cuda", "cuda_plugin"), pytest.mark.pyav17]

SIZE = (64, 48)
FRAMES = 4
Upload = Callable[[av.VideoFrame], av.VideoFrame]


def picture(value: int = 7, format_: str = "nv12") -> av.VideoFrame:
    native = av.VideoFrame(*SIZE, format_)
    for number, plane in enumerate(sb.frame(native).map("cpu", "rw").native):
        plane[...] = value + number
    native.pts, native.time_base = 3, Fraction(1, 25)
    return native


def by_ffmpeg(native: av.VideoFrame) -> av.VideoFrame:
    """Uploaded by a filter of FFmpeg's, which makes a CUDA context of its own."""
    graph = Graph()
    source = graph.add_buffer(
        width=native.width, height=native.height, format=native.format, time_base=Fraction(1, 25)
    )
    upload, sink = graph.add("hwupload_cuda"), graph.add("buffersink")
    source.link_to(upload)
    upload.link_to(sink)
    graph.configure()
    graph.push(native)
    found = graph.pull()
    assert isinstance(found, av.VideoFrame)
    return found


def by_device(native: av.VideoFrame) -> av.VideoFrame:
    """Uploaded into the context that torch uses."""
    device = sb.context("ffmpeg:CUDA")
    assert isinstance(device, HardwareDevice)
    uploaded = device.upload(native).native
    assert isinstance(uploaded, av.VideoFrame)
    return uploaded


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


def test_each_decoder_has_a_stream_of_its_own() -> None:
    """It is one that CUDA orders by the default stream, which FFmpeg would use otherwise."""
    context = sb.context("ffmpeg:CUDA").handle("cuda_context")
    devices = []
    for _ in range(2):
        with libcuda.current(context):
            codec: Any = av.CodecContext.create("h264", "r", hwaccel=_hwaccel(0))
        assert have_stream(codec, context)
        device: Any = cuda_streams._device(codec)
        assert device.cuda_ctx == context
        devices.append((codec, device.stream))
        assert not have_stream(codec, context)  # it has one
    assert devices[0][1] != devices[1][1]
    flags = ctypes.c_uint(9)
    get = ctypes.CDLL("libcuda.so.1").cuStreamGetFlags
    assert get(ctypes.c_void_p(devices[0][1]), ctypes.byref(flags)) == 0
    assert flags.value == 0
    software: Any = av.CodecContext.create("h264", "r")
    assert not have_stream(software, context)


class Queue:
    """A stream as torch has it."""

    def __init__(self, stream: int) -> None:
        self.cuda_stream = stream


class CudaCoreStream:
    """A stream as cuda.core has it."""

    def __init__(self, stream: int) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._stream


class CudaCoreStreamOfOld(CudaCoreStream):
    """A stream as cuda.core had it at first, where that is a property."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found() if name == "__cuda_stream__" else found


class NumbaStream:
    """A stream as Numba has it."""

    def __init__(self, stream: int) -> None:
        self.handle = ctypes.c_void_p(stream)


def of_cuda_bindings(stream: int) -> Any:
    """A CUstream of cuda-bindings."""
    return pytest.importorskip("cuda.bindings.driver").CUstream(stream)


def new_stream(flags: int = 1) -> int:
    """One that CUDA does not order by the default stream, as torch's are."""
    made = ctypes.c_void_p()
    context = sb.context("ffmpeg:CUDA").handle("cuda_context")
    with libcuda.current(context):
        assert not ctypes.CDLL("libcuda.so.1").cuStreamCreate(ctypes.byref(made), flags)
    return made.value or 0


KINDS = [
    Queue, CudaCoreStream, CudaCoreStreamOfOld, NumbaStream, of_cuda_bindings, ctypes.c_void_p, int,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoder_works_on_the_callers_stream(kind: Callable[[int], Any]) -> None:
    context, stream = sb.context("ffmpeg:CUDA").handle("cuda_context"), new_stream()
    with libcuda.current(context):
        codec: Any = av.CodecContext.create("h264", "r", hwaccel=_hwaccel(0))
    queue = kind(stream)
    assert have_stream(codec, context, stream_of(queue, context))
    assert cuda_streams._device(codec).stream == stream
    if kind is Queue:  # FFmpeg's frames may outlive it
        gone = weakref.ref(queue)
        del queue
        assert gone() is not None


def test_default_streams_and_what_is_not_a_stream() -> None:
    context = sb.context("ffmpeg:CUDA").handle("cuda_context")
    assert [stream_of(Queue(number), context) for number in range(3)] == [0, 0, 0]
    with pytest.raises(UnsupportedObjectError, match="a str is not a CUDA stream"):
        stream_of("fast", context)
    # The driver would read at that address.
    for number in (3, 4095, -1, 2**64):
        with pytest.raises(UnsupportedObjectError, match="is not the handle of a CUDA stream"):
            stream_of(number, context)
    frame = sb.frame(by_ffmpeg(picture()))
    stream = libcuda.new_stream(frame.context.handle("cuda_context"))
    with pytest.raises(DeviceMismatchError, match="belongs to the CUcontext"):
        stream_of(stream, context)


def test_a_queue_is_of_cuda_alone(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match='pass hwaccel="cuda" too'):
        samebytes_ffmpeg.open(tmp_path / "film.mp4", queue=new_stream())


def lent(plane: sb.Tensor, stream: int | None) -> DeviceArray:
    """The plane as an array library on the GPU takes it."""
    return DeviceArray.by_dlpack(plane, frozenset((2,)), stream)


def on_stream(stream: int) -> HardwareDevice:
    """A device of FFmpeg's on a stream, as decoders have it."""
    reference = CUDADevice._of_cuda_context(PYAV, sb.context("ffmpeg:CUDA").handle("cuda_context"))
    device: Any = DEVICE_CONTEXTS[PYAV.major].from_address(buffer_data(reference.address))
    AVCUDADeviceContext.from_address(device.hwctx).stream = stream
    return HardwareDevice.over(PYAV, reference.address)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[int, ...]]]:
    """Note, of what samebytes does from now on, which stream waits for which."""
    streams: Any = importlib.import_module("samebytes_cuda._streams")
    seen: list[tuple[int, tuple[int, ...]]] = []
    unchanged = streams.order_known

    def order_known(context: Any, first: int, later: Sequence[int], **how: bool) -> None:
        if not how:  # else it calls itself
            seen.append((first, tuple(later)))
        unchanged(context, first, later, **how)

    monkeypatch.setattr(streams, "order_known", order_known)
    return seen


def test_planes_are_lent_to_array_libraries_as_they_are(events: list[Any]) -> None:
    """On the default stream, by which CUDA orders what FFmpeg does; and the memory is held."""
    for frame in (
        sb.frame(by_device(picture())),
        on_stream(cuda_streams._next(sb.context("ffmpeg:CUDA").handle("cuda_context"))).upload(
            picture()
        ),
    ):
        planes, before = frame.planes, references_held()
        for stream in (1, None):
            found = lent(planes[1], stream)
            assert (found.address, found.info) == (planes[1].handle("cuda_ptr"), planes[1].info)
            assert (found.device, found.readonly) == ((2, 0), False)
            assert references_held() == before + 1
            del found
            assert references_held() == before
        shown = frame.map("ffmpeg:CUDA")[0]
        assert lent(shown, 1).readonly
    assert not events


def test_frames_on_the_callers_stream_need_no_event(events: list[Any]) -> None:
    queue, context = Queue(new_stream()), sb.context("ffmpeg:CUDA").handle("cuda_context")
    stream = stream_of(queue, context)
    frame = on_stream(stream).upload(picture())
    found = lent(frame[0], stream)
    assert found.address == frame[0].handle("cuda_ptr")
    del found
    mapped = frame.map("cuda", queue=queue)
    found = lent(mapped[0], stream)
    del found, mapped
    assert not events
    # On the default stream there must be, before and after.
    mapped = frame.map("cuda", queue=queue)
    found = lent(mapped[0], 1)
    assert events == [(stream, (1,))]
    del found, mapped
    assert events == [(stream, (1,)), (1, (stream,))]
    events.clear()
    found = lent(frame[0], 1)
    assert events == [(stream, (1,))]
    del found
    assert events == [(stream, (1,)), (1, (stream,))]


def test_other_streams_get_planes_by_way_of_cuda(events: list[Any]) -> None:
    frame, stream = sb.frame(by_device(picture())), new_stream()
    found = lent(frame[0], stream)
    assert (found.address, found.readonly) == (frame[0].handle("cuda_ptr"), False)
    assert (1, (stream,)) in events
    with pytest.raises(UnsupportedObjectError, match="exported in place only"):
        DeviceArray.by_dlpack(Copying(frame[0]), frozenset((2,)), 1)
    own = sb.frame(by_ffmpeg(picture()))[0]
    with pytest.raises(ExportError, match="a CUDA context of its own"):
        own.__dlpack_device__()


class Copying:
    """A consumer that wants a copy."""

    def __init__(self, plane: Any) -> None:
        self.plane = plane

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.plane.__dlpack_device__()  # type: ignore[no-any-return]  # two ints

    def __dlpack__(self, **asked: Any) -> Any:
        return self.plane.__dlpack__(**{**asked, "copy": True})


def test_streams_of_decoders_go_round() -> None:
    context = sb.context("ffmpeg:CUDA").handle("cuda_context")
    streams = [cuda_streams._next(context) for _ in range(3 * cuda_streams._MOST)]
    assert len(set(streams)) == cuda_streams._MOST


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
