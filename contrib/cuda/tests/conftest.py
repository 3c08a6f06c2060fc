# SPDX-License-Identifier: Apache-2.0
"""The GPU under test, used without samebytes, and programs in processes of their own.

The tests run on the software CUDA driver (`pytest --softdevices=cuda`) or, without that option, on
an NVIDIA GPU.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pytest

from samebytes.testing import missing_device, run_program

if TYPE_CHECKING:
    from samebytes_cuda import CudaContext

pytest.importorskip(
    "cuda.bindings", reason="missing package cuda-bindings: pip install cuda-bindings"
)

NO_DEVICE = missing_device("CUDA")
# Milliseconds by which a stream is delayed: without waiting, a test reads sooner.
DELAY = 150
# Seconds after which a stream that is held continues in any case: a call that wrongly waits for it
# must fail, not hang.
HELD = 5.0

# NVIDIA's driver spreads streams over this many queues of the hardware, by default 8. A delayed
# stream delays those that share its queue, which would hide that nothing orders them.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

Array = np.ndarray[Any, Any]

# The tests of ordering must fail without the events that order streams: a test runs them that way.
WITHOUT_EVENTS = "SAMEBYTES_TEST_WITHOUT_EVENTS"


class Gpu:
    """A device, used by cuda-bindings without samebytes, in its primary context."""

    def __init__(self, ordinal: int = 0) -> None:
        from cuda.bindings import driver

        self.driver = driver
        self.ok(driver.cuInit(0))
        self.ordinal = ordinal
        self.context = self.ok(driver.cuDevicePrimaryCtxRetain(ordinal))
        self._host = HostFunctions()
        self.name = self.ok(driver.cuDeviceGetName(100, ordinal)).split(b"\0")[0].decode()

    @property
    def is_software(self) -> bool:
        """True if this is the software device."""
        return "software" in self.name

    def ok(self, answer: tuple[Any, ...]) -> Any:
        """The values that a call returns beside its status, which must be success."""
        assert int(answer[0]) == 0, answer[0]
        return answer[1] if len(answer) == 2 else answer[1:]

    def do(self, function: str, *arguments: Any) -> Any:
        """Call a function in the device's primary context."""
        self.ok(self.driver.cuCtxPushCurrent(self.context))
        try:
            return self.ok(getattr(self.driver, function)(*arguments))
        finally:
            self.driver.cuCtxPopCurrent()

    def allocate(self, nbytes: int) -> int:
        """Device memory, which is zero."""
        address = int(self.do("cuMemAlloc", max(nbytes, 1)))
        self.do("cuMemsetD8", address, 0, max(nbytes, 1))
        self.synchronize()
        return address

    def knows(self, address: int) -> bool:
        """True if memory of CUDA, or registered with it, is at an address."""
        question = self.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        self.ok(self.driver.cuCtxPushCurrent(self.context))
        try:
            return int(self.driver.cuPointerGetAttribute(question, address)[0]) == 0
        finally:
            self.driver.cuCtxPopCurrent()

    def free(self, address: int) -> None:
        """Free device memory."""
        self.do("cuMemFree", address)

    def read(self, address: int, nbytes: int) -> Array:
        """A copy of bytes, complete when this returns."""
        data = np.empty(nbytes, np.uint8)
        if nbytes:
            self.synchronize()
            self.do("cuMemcpy", data.ctypes.data, address, nbytes)
        return data

    def peek(self, address: int, nbytes: int) -> Array:
        """A copy of the bytes as they are now, without waiting for a stream."""
        data = np.empty(nbytes, np.uint8)
        stream = self.stream()
        self.do("cuMemcpyDtoHAsync", data.ctypes.data, address, nbytes, stream)
        self.do("cuStreamSynchronize", stream)
        self.do("cuStreamDestroy", stream)
        return data

    def write(self, address: int, data: Array) -> None:
        """Set bytes; the write is complete when this returns."""
        data = np.ascontiguousarray(data)
        if data.nbytes:
            self.synchronize()
            self.do("cuMemcpy", address, data.ctypes.data, data.nbytes)
            self.synchronize()

    def stream(self) -> int:
        """A new stream, which does not wait for the default stream."""
        return int(self.do("cuStreamCreate", 1))

    def delay(self, stream: int, milliseconds: int = DELAY) -> None:
        """Make a stream do nothing for a while."""
        self._launch(stream, "usleep", milliseconds * 1000)

    def _launch(self, stream: int, function: str, argument: int) -> None:
        self.ok(self.driver.cuCtxPushCurrent(self.context))
        try:
            self._host.launch(stream, function, argument)
        finally:
            self.driver.cuCtxPopCurrent()

    def set_later(self, address: int, value: int, nbytes: int, stream: int) -> None:
        """Make a stream set all bytes after a delay."""
        self.delay(stream)
        self.do("cuMemsetD8Async", address, value, nbytes, stream)

    def is_busy(self, stream: int) -> bool:
        """True if a stream has work left."""
        self.ok(self.driver.cuCtxPushCurrent(self.context))
        try:
            return int(self.driver.cuStreamQuery(stream)[0]) != 0
        finally:
            self.driver.cuCtxPopCurrent()

    @contextmanager
    def stays_busy(self, stream: int) -> Iterator[None]:
        """A block during which a stream does nothing, however long that takes.

        No call in the block may wait for the stream: the error names the one that did.
        """
        watch, gate = Watch(self, stream), self._host.gate()
        # Garbage of other tests may hold device memory, and the driver waits when it is freed.
        collects = gc.isenabled()
        gc.disable()
        rescue = threading.Timer(HELD, self._host.open, (gate,))
        try:
            self._launch(stream, "sem_wait", gate)
            rescue.start()
            with pytest.MonkeyPatch.context() as patch:
                watch.watch(patch)
                yield
                still = watch.is_busy()
        finally:
            rescue.cancel()
            self._host.open(gate)
            if collects:
                gc.enable()
        assert still, watch.report()

    def synchronize(self) -> None:
        """Wait until all streams are done."""
        self.do("cuCtxSynchronize")


class HostFunctions:
    """Functions of libc that streams call, by the driver's own cuLaunchHostFunc.

    That of cuda-bindings will not do: in version 13.3 it calls them holding Python's lock, so the
    test stops with the stream, and any next call seems to wait.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._function = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
        self._function.argtypes = [ctypes.c_void_p] * 3
        self._gates: list[Any] = []  # the driver's thread may still be in one that was opened

    def launch(self, stream: int, function: str, argument: int) -> None:
        """Make a stream call a function with one argument."""
        address = ctypes.cast(getattr(self._libc, function), ctypes.c_void_p)
        code = self._function(stream, address, argument)
        assert code == 0, f"cuLaunchHostFunc: {code}"

    def gate(self) -> int:
        """The address of a semaphore at which `sem_wait` waits until it is opened."""
        gate = ctypes.create_string_buffer(64)  # a sem_t, which is smaller
        self._gates.append(gate)
        address = ctypes.addressof(gate)
        assert self._libc.sem_init(ctypes.c_void_p(address), 0, 0) == 0
        return address

    def open(self, gate: int) -> None:
        """Let those who wait at a gate continue."""
        self._libc.sem_post(ctypes.c_void_p(gate))


class Watch:
    """Checks after every call of the driver whether a stream is still busy.

    Attributes:
        calls: the name of each call, how many milliseconds it took, and whether the stream was
            busy before and after it.
    """

    def __init__(self, gpu: Gpu, stream: int) -> None:
        self.gpu = gpu
        self.stream = stream
        self.query = gpu.driver.cuStreamQuery
        self.push, self.pop = gpu.driver.cuCtxPushCurrent, gpu.driver.cuCtxPopCurrent
        self.calls: list[tuple[str, float, bool, bool]] = []

    def is_busy(self) -> bool:
        """True if the stream has work left."""
        self.push(self.gpu.context)
        try:
            return int(self.query(self.stream)[0]) != 0
        finally:
            self.pop()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Watch all calls from now on, whoever makes them."""
        import samebytes_cuda._pointers as pointers

        driver = self.gpu.driver
        for name in dir(driver):
            function = getattr(driver, name)
            if name.startswith("cu") and callable(function) and not isinstance(function, type):
                patch.setattr(driver, name, self._watched(name, function))
        attributes = self._watched("cuPointerGetAttributes", pointers._function())
        patch.setattr(pointers, "_function", lambda: attributes)

    def _watched(self, name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            before, start = self.is_busy(), time.perf_counter()
            answer = function(*arguments)
            took = (time.perf_counter() - start) * 1e3
            self.calls.append((name, took, before, self.is_busy()))
            return answer

        call.__name__ = name  # by which errors call it
        return call

    def report(self) -> str:
        """The calls up to and including the one that waited."""
        lines = []
        for name, took, before, after in self.calls:
            said = "" if after else ", waited" if before else ", called when the stream was done"
            lines.append(f"{name}: {took:.2f} ms{said}")
            if not after:
                break
        else:
            lines.append("no call of the driver waited, but the stream is done")
        return "\n".join(["something waited on the CPU:", *lines])


class Lender:
    """An application's array in device memory, which it frees when the array is gone.

    It orders its stream before the consumer's, as array libraries do.

    Attributes:
        at_end: a function that is called before the memory is freed.
    """

    def __init__(self, gpu: Gpu, nbytes: int, stream: int | None = None) -> None:
        self.gpu = gpu
        self.nbytes = nbytes
        self.address = gpu.allocate(nbytes)
        self.stream = stream
        self.asked: list[Any] = []
        self.at_end: Callable[[], object] = bool

    def interface(self) -> dict[str, Any]:
        """The CUDA array interface."""
        return {
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self.stream,
        }

    def __del__(self) -> None:
        self.at_end()
        self.gpu.free(self.address)


class ByInterface(Lender):
    """An application's array with the CUDA array interface."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface()


class ByDLPack(Lender):
    """An application's array with DLPack."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.gpu.ordinal)

    def __dlpack__(self, *, stream: Any = None, **more: Any) -> object:
        from samebytes import TensorInfo
        from samebytes.plugins import PointerArray

        self.asked.append(stream)
        orders = not os.environ.get(WITHOUT_EVENTS)
        if orders and self.stream is not None and stream is not None and stream != -1:
            event = self.gpu.do("cuEventCreate", 2)
            self.gpu.do("cuEventRecord", event, self.stream)
            self.gpu.do("cuStreamWaitEvent", stream, event, 0)
            self.gpu.do("cuEventDestroy", event)
        info = TensorInfo("uint8", (self.nbytes,))
        array = PointerArray(None, self.address, info, "device", pin=self)
        return array.dlpack_capsule(self.__dlpack_device__(), max_version=more.get("max_version"))


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The first device, or the test is skipped."""
    try:
        return Gpu()
    except (RuntimeError, AssertionError):  # no library, or no device
        pytest.skip(NO_DEVICE)


@pytest.fixture(scope="session")
def second_gpu(gpu: Gpu) -> Gpu:
    """The second device."""
    if gpu.ok(gpu.driver.cuDeviceGetCount()) < 2:
        pytest.skip("this machine has one GPU, and this is a test of two")
    return Gpu(1)


@pytest.fixture
def dma() -> Any:
    """The package of DMA-BUFs."""
    return pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
    )


@pytest.fixture
def buffers(gpu: Gpu, dma: Any) -> None:
    """Descriptors of device memory that the CPU can map, or the test is skipped."""
    assert dma
    if not gpu.is_software:
        pytest.skip("the CPU cannot map NVIDIA's DMA-BUFs, and nothing here reads them otherwise")


@pytest.fixture
def imports_buffers() -> None:
    """A driver that imports DMA-BUFs, or the test is skipped."""
    if not os.environ.get("SOFTCUDA_DMA_BUF_IMPORT"):
        pytest.skip(
            "the driver imports no DMA-BUFs: "
            "test_dma_edges.py runs this again on a software driver that does"
        )


@pytest.fixture
def lend(gpu: Gpu) -> Any:
    """Make an application's array: `lend(nbytes, stream, by="dlpack")`."""

    def make(nbytes: int, stream: int | None = None, by: str = "dlpack") -> Lender:
        return {"dlpack": ByDLPack, "interface": ByInterface}[by](gpu, nbytes, stream)

    return make


@pytest.fixture
def context(request: pytest.FixtureRequest) -> CudaContext:
    """The context of the first device."""
    request.getfixturevalue("gpu")
    import samebytes
    from samebytes_cuda import CudaContext

    found = samebytes.context("cuda")
    assert isinstance(found, CudaContext)
    return found


@pytest.fixture(autouse=True)
def _without_events(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Remove the events that order streams, for the test that tests of ordering can fail."""
    if not os.environ.get(WITHOUT_EVENTS) or "ordering" not in request.keywords:
        yield
        return
    gpu = request.getfixturevalue("gpu")
    from samebytes_cuda import _streams

    monkeypatch.setattr(_streams, "order_known", lambda *_: None)
    for wait in ("finish", "synchronize"):
        monkeypatch.setattr(f"samebytes_cuda._context.CudaContext.{wait}", lambda *_: None)
    yield
    gpu.synchronize()  # one test's work must not meet the next test's


class Again(Protocol):
    """Runs tests of a file again, in a process of their own."""

    def __call__(self, file: str, *chosen: str, **environment: str) -> tuple[int, str]:
        """The exit status and the output; `chosen` are arguments of pytest."""


@pytest.fixture
def again(pytestconfig: pytest.Config) -> Again:
    """Another pytest, on the same device."""

    def run(file: str, *chosen: str, **environment: str) -> tuple[int, str]:
        devices = pytestconfig.getoption("--softdevices", default="")
        command = [sys.executable, "-m", "pytest", "-q", "-rp", *chosen, "-p", "no:cacheprovider",
                   "-n0" if pytestconfig.pluginmanager.has_plugin("xdist") else "-q",
                   *([f"--softdevices={devices}"] if devices else []),
                   str(Path(__file__).with_name(file))]  # fmt: skip
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            cwd=pytestconfig.rootpath,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def run(gpu: None) -> Callable[..., str]:  # noqa: ARG001 - there is a device
    """Run a program, dedented, with more environment variables, and return its output."""
    return run_program
