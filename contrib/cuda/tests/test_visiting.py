# SPDX-License-Identifier: Apache-2.0
"""Memory of a framework that has a stream of its own, and that uses its memory again."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.errors import DeviceMismatchError
from samebytes.plugins import DeviceArray
from samebytes_cuda import CudaContext, CudaTensor, _streams
from samebytes_cuda._array import CudaArray
from samebytes_cuda._driver import driver

from .conftest import Gpu

ordering = pytest.mark.ordering
BYTES = 1 << 16


class Pool:
    """A framework with one piece of memory, which says when it has that back."""

    def __init__(self, gpu: Gpu, stream: int | None = None) -> None:
        self.gpu = gpu
        self.stream = stream or gpu.stream()
        self.address = gpu.allocate(BYTES)
        self.back = 0

    def lend(self, context: CudaContext, *, readonly: bool = False) -> CudaArray:
        """The memory as an array."""
        places = [(self.address, TensorInfo("uint8", (BYTES,)))]
        (array,), _ = context.import_planes(
            places, keep=Kept(self), stream=self.stream, readonly=readonly
        )
        return array

    def seen(self) -> Any:
        """A copy of the bytes as the framework's own stream sees them next."""
        data = np.empty(BYTES, np.uint8)
        self.gpu.do("cuMemcpyDtoHAsync", data.ctypes.data, self.address, BYTES, self.stream)
        self.gpu.do("cuStreamSynchronize", self.stream)
        return data


class Kept:
    """Gives the memory back when it is dropped."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def __del__(self) -> None:
        self.pool.back += 1


@pytest.fixture
def pool(gpu: Gpu, context: CudaContext) -> Any:
    made = Pool(gpu)
    # What is slow at first use would hide that nothing is ordered.
    made.seen()
    CudaTensor.wrap(made.lend(context)).map("cpu", copy=True)
    made.back = 0
    yield made
    gpu.synchronize()
    gpu.free(made.address)


@ordering
def test_what_the_framework_enqueued_comes_first(
    gpu: Gpu, pool: Pool, context: CudaContext
) -> None:
    with gpu.stays_busy(pool.stream):
        gpu.set_later(pool.address, 7, BYTES, pool.stream)
        array = pool.lend(context)
    assert (np.asarray(CudaTensor.wrap(array).map("cpu", copy=True)) == 7).all()


def test_the_driver_is_asked_about_a_stream_once_while_its_holder_lives(
    gpu: Gpu, pool: Pool, context: CudaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Holder:
        """A stream's owner."""

    asked: list[str] = []

    def call(function: Any, *arguments: Any) -> Any:
        asked.append(function.__name__)
        return unchanged(function, *arguments)

    def lend(holder: object, stream: int) -> list[str]:
        asked.clear()
        places = [(pool.address, TensorInfo("uint8", (BYTES,)))]
        arrays, _ = context.import_planes(
            places, keep=None, stream=stream, readonly=True, holder=holder
        )
        del arrays
        return [name for name in asked if "Get" in name]

    unchanged: Any = vars(_streams)["call"]
    monkeypatch.setattr(_streams, "call", call)
    questions = ["cuStreamGetCtx", "cuStreamGetFlags"]
    holder, other = Holder(), gpu.stream()
    assert lend(holder, pool.stream) == questions
    assert lend(holder, pool.stream) == []
    assert lend(holder, other) == questions
    for _ in range(3):  # mostly at one address
        assert lend(Holder(), other) == questions
    nobodies: list[object] = [None, 7, []]  # the last one cannot be hashed
    for nobody in nobodies:
        assert lend(nobody, other) == lend(nobody, other) == questions


class Queue:
    """A stream as torch has it."""

    def __init__(self, stream: int) -> None:
        self.cuda_stream = stream


def test_the_driver_is_asked_about_a_callers_stream_once(
    gpu: Gpu, context: CudaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its handle, and without a weak reference, which torch leaves behind as it is."""
    asked: list[int] = []
    monkeypatch.setattr(_streams, "check_device", lambda _, stream: asked.append(stream))
    streams = [gpu.stream() for _ in range(2)]
    queue = Queue(streams[0])
    for number in range(3):
        _streams.check_queue(context, streams[0], queue if number else Queue(streams[0]))
        _streams.check_queue(context, streams[1], streams[1])
    assert asked == [streams[0], streams[1], streams[1], streams[1]]
    assert weakref.getweakrefcount(queue) == 0


def test_the_stream_of_a_callers_object_is_read_each_time(gpu: Gpu, context: CudaContext) -> None:
    streams = [gpu.stream() for _ in range(2)]
    queue = Queue(streams[0])
    assert [_streams.known_handle(context, queue) for _ in range(2)] == [streams[0]] * 2
    queue.cuda_stream = streams[1]
    assert _streams.known_handle(context, queue) == streams[1]
    if gpu.is_software:  # NVIDIA's driver ends the process over some handles of no stream
        queue.cuda_stream = 0xDEAD0
        with pytest.raises(DeviceMismatchError):
            _streams.known_handle(context, queue)


def test_what_is_to_be_read_is_exported_so(pool: Pool, context: CudaContext) -> None:
    array = pool.lend(context)
    found = []
    for readonly in (False, True):
        tensor = CudaTensor.borrowed(array, context, keep=array.pin, readonly=readonly)
        found.append(DeviceArray.by_dlpack(tensor, frozenset((2,)), 1).readonly)
    assert found == [False, True]


def test_few_streams_of_callers_are_held(
    gpu: Gpu, context: CudaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_streams, "_MOST_QUEUES", 2)
    queues = [Queue(gpu.stream()) for _ in range(3)]
    for queue in queues:
        _streams.check_queue(context, queue.cuda_stream, queue)
    held = list(context.queues.values())
    assert queues[0] not in held
    assert held == queues[1:]
    _streams.free_events(context)
    assert not context.queues


@ordering
def test_work_on_the_default_stream_comes_before_the_next_use(
    gpu: Gpu, pool: Pool, context: CudaContext
) -> None:
    """And the CPU does not wait for it."""
    home = 1
    array = pool.lend(context)
    capsule = array.__dlpack__(stream=home)
    with gpu.stays_busy(home):
        gpu.set_later(pool.address, 9, BYTES, home)
        del capsule, array
        assert pool.back == 1
    assert (pool.seen() == 9).all()


@ordering
def test_a_stream_that_nobody_holds_is_waited_for(
    gpu: Gpu, pool: Pool, context: CudaContext
) -> None:
    """It may be gone when the memory is given back."""
    consumer = gpu.stream()
    array = pool.lend(context)
    capsule = array.__dlpack__(stream=consumer)
    gpu.set_later(pool.address, 5, BYTES, consumer)
    del capsule, array
    assert pool.back == 1
    assert (gpu.peek(pool.address, BYTES) == 5).all()


@ordering
def test_the_default_stream_of_a_thread_is_waited_for(
    gpu: Gpu, pool: Pool, context: CudaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread has another stream by that name, and may be who gives the memory back."""
    of_thread = 2
    monkeypatch.setattr("samebytes_cuda._context.ordering_queue", lambda: of_thread)
    held: list[object] = [array := pool.lend(context)]
    held.append(array.__dlpack__(stream=of_thread))
    del array
    gpu.set_later(pool.address, 6, BYTES, of_thread)
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert pool.back == 1
    assert (gpu.peek(pool.address, BYTES) == 6).all()


@ordering
def test_publishing_orders_writes_before_the_framework(
    gpu: Gpu, pool: Pool, context: CudaContext
) -> None:
    array = pool.lend(context)
    gpu.set_later(pool.address, 4, BYTES, 1)
    assert array.pin.flush is not None
    array.pin.flush()
    assert pool.back == 0
    assert (pool.seen() == 4).all()


def test_a_stream_that_cuda_orders_by_the_default_stream(gpu: Gpu, context: CudaContext) -> None:
    """There is no event, and each use comes after the one before."""
    pool = Pool(gpu, int(gpu.do("cuStreamCreate", 0)))
    with gpu.stays_busy(pool.stream):
        gpu.set_later(pool.address, 7, BYTES, pool.stream)
        array = pool.lend(context)
    assert (np.asarray(CudaTensor.wrap(array).map("cpu", copy=True)) == 7).all()
    array, pool.back, home = pool.lend(context), 0, 1
    capsule = array.__dlpack__(stream=home)
    with gpu.stays_busy(home):
        gpu.set_later(pool.address, 9, BYTES, home)
        del capsule, array
        assert pool.back == 1
    assert (pool.seen() == 9).all()
    gpu.free(pool.address)


def test_events_are_used_again(pool: Pool, context: CudaContext) -> None:
    counted = {"created": 0}
    create = driver.cuEventCreate

    def counting(flags: int) -> Any:
        counted["created"] += 1
        return create(flags)

    pool.lend(context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "cuEventCreate", counting)
        for _ in range(5):
            pool.lend(context)
    assert counted["created"] == 0
    context.close()
    assert not _streams._spare.get(context.ordinal)


def test_it_is_given_back_with_its_last_holder(pool: Pool, context: CudaContext) -> None:
    array = pool.lend(context, readonly=True)
    assert array.pin.flush is None
    capsules = [array.__dlpack__(stream=1, max_version=(1, 0)) for _ in range(2)]
    del array
    assert pool.back == 0
    capsules.clear()
    assert pool.back == 1


def test_dropped_in_a_function_of_a_stream(gpu: Gpu, pool: Pool, context: CudaContext) -> None:
    """It cannot call CUDA: the memory goes back when a thread that calls samebytes can."""
    held: list[Any] = [pool.lend(context)]
    held[0].__cuda_array_interface__  # noqa: B018 - hands it out
    callback: Callable[[], None] = held.clear
    run_in_stream(gpu, callback)
    assert pool.back == 0
    context.allocate((1,))  # gives back, as it ends
    assert pool.back == 1


def run_in_stream(gpu: Gpu, function: Callable[[], None]) -> None:
    """Have a stream call a function of Python."""
    made = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: function())
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
    launch.argtypes = [ctypes.c_void_p] * 3
    stream = gpu.stream()
    gpu.ok(gpu.driver.cuCtxPushCurrent(gpu.context))
    try:
        assert launch(stream, ctypes.cast(made, ctypes.c_void_p), None) == 0
    finally:
        gpu.driver.cuCtxPopCurrent()
    wait = ctypes.CDLL("libcuda.so.1").cuStreamSynchronize
    wait.argtypes = [ctypes.c_void_p]
    assert wait(stream) == 0


def test_streams_of_nobody(gpu: Gpu, context: CudaContext) -> None:
    if not gpu.is_software:
        pytest.skip("NVIDIA's driver ends the process over some handles of no stream")
    place = [(gpu.allocate(1), TensorInfo("uint8", (1,)))]
    with pytest.raises(DeviceMismatchError):
        context.import_planes(place, keep=None, stream=0xDEAD0, readonly=True)
    gpu.free(place[0][0])


@ordering
def test_a_queue_is_waited_for_on_the_device(gpu: Gpu, context: CudaContext) -> None:
    """FFmpeg's next use comes after the caller's stream, and the CPU waits for neither."""
    av = pytest.importorskip("av", reason="missing package av: pip install av")
    pytest.importorskip(
        "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    )
    device: Any = samebytes.context("ffmpeg:CUDA")
    frame, stream = device.upload(av.VideoFrame(64, 48, "nv12")), gpu.stream()
    assert frame.context.handle("cuda_context") == context.handle("cuda_context")
    rows = frame.planes[0].handle("pitch") * 48
    with gpu.stays_busy(stream):
        mapped = frame.map("cuda", "rw", queue=stream)
        gpu.set_later(mapped[0].handle("cuda_ptr"), 8, rows, stream)
        capsule = mapped[0].__dlpack__(stream=stream)
        del mapped, capsule
    assert (frame.native.to_ndarray(format="nv12")[:48] == 8).all()
