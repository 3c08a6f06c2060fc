# SPDX-License-Identifier: Apache-2.0
"""Streams of CUDA on which FFmpeg makes frames, and those on which they are used."""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes as sb
import samebytes_ffmpeg
from samebytes.errors import (
    DeviceMismatchError,
    ExportError,
    ParameterError,
    UnsupportedObjectError,
)
from samebytes.plugins import DeviceArray
from samebytes_ffmpeg import HardwareDevice
from samebytes_ffmpeg._avutil import PYAV
from samebytes_ffmpeg._elements._cuda_decoding import _hwaccel
from samebytes_ffmpeg._hardware import cuda_streams, libcuda
from samebytes_ffmpeg._hardware.cuda_device import CUDADevice
from samebytes_ffmpeg._hardware.cuda_streams import have_stream, stream_of
from samebytes_ffmpeg._hardware.hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext
from samebytes_ffmpeg._owned import buffer_data
from samebytes_ffmpeg._reference import references_held

from .cuda_pictures import by_device, by_ffmpeg, picture

pytestmark = [pytest.mark.usefixtures("cuda", "cuda_plugin"), pytest.mark.pyav17]


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
