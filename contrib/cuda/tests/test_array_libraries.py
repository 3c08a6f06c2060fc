# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch, CuPy, Numba and JAX on a GPU: wrapped in place, and given back by address.

The software CUDA driver runs no kernels, which these libraries need.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np
import pytest

import samebytes
from samebytes_cuda import CudaContext, CudaTensor

from .conftest import Gpu

# What these libraries warn of, at import too, is theirs. What a destructor raises may be ours.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"),
]

NBYTES = 1 << 20


class Library:
    """An array library as the tests use it.

    Attributes:
        lends: the protocols by which its arrays are lent.
        takes: how it makes an array over memory of others, by protocol.
        holds: the protocols by which its array holds the lender.
        kinds: the kinds of memory that it takes as memory of a GPU.
        ordered: the protocols by which it says which of its streams is to be waited for.
        waits: the protocols by which it waits for what others have enqueued.
    """

    lends: ClassVar[tuple[str, ...]] = ("dlpack", "interface")
    holds: ClassVar[tuple[str, ...]] = ("dlpack", "interface")
    kinds: ClassVar[tuple[str, ...]] = ("device", "managed", "exportable")
    ordered: ClassVar[tuple[str, ...]] = ("dlpack", "interface")
    waits: ClassVar[tuple[str, ...]] = ("dlpack", "interface")
    takes: dict[str, Callable[[Any], Any]]

    def zeros(self) -> Any:
        """An array of NBYTES bytes, complete."""
        raise NotImplementedError

    def pointer(self, array: Any) -> int:
        """The address of its first element."""
        return int(array.__cuda_array_interface__["data"][0])

    def read(self, array: Any) -> Any:
        """Its bytes, by the library's own means."""
        raise NotImplementedError

    def writing(self, gpu: Gpu, value: int) -> AbstractContextManager[Any]:
        """An array whose bytes the library sets to `value`, which may be pending within."""
        raise NotImplementedError

    def stream(self) -> Any:
        """A new stream of the library's that waits for no other."""
        return None

    def handle(self, stream: Any) -> int:
        """The CUstream."""
        raise NotImplementedError

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Make it the library's current stream."""
        assert stream is None
        return nullcontext()


class Torch(Library):
    """PyTorch. Its array interface is of version 2, which has no stream."""

    ordered = ("dlpack",)
    waits = ("dlpack",)

    def __init__(self, gpu: Gpu) -> None:
        self.torch = _module("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("missing package torch with CUDA: the installed one uses the CPU alone")
        self.device = f"cuda:{gpu.ordinal}"
        self.takes = {
            "dlpack": self.torch.from_dlpack,
            "interface": lambda item: self.torch.as_tensor(item, device=self.device),
        }

    def zeros(self) -> Any:
        array = self.torch.zeros(NBYTES, dtype=self.torch.uint8, device=self.device)
        self.torch.cuda.synchronize()
        return array

    def pointer(self, array: Any) -> int:
        return int(array.data_ptr())

    def read(self, array: Any) -> Any:
        return array.cpu().numpy()

    @contextmanager
    def writing(self, gpu: Gpu, value: int) -> Iterator[Any]:
        array, stream = self.zeros(), self.stream()
        with self.on(stream):
            gpu.delay(self.handle(stream))
            array.fill_(value)
            yield array

    def stream(self) -> Any:
        return self.torch.cuda.Stream()

    def handle(self, stream: Any) -> int:
        return int(stream.cuda_stream)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = self.torch.cuda.stream(stream)
        return found


class Cupy(Library):
    """CuPy."""

    def __init__(self) -> None:
        self.cupy = _module("cupy")
        self.takes = {"dlpack": self.cupy.from_dlpack, "interface": self.cupy.asarray}

    def zeros(self) -> Any:
        array = self.cupy.zeros(NBYTES, "uint8")
        self.cupy.cuda.Device().synchronize()
        return array

    def read(self, array: Any) -> Any:
        return self.cupy.asnumpy(array)

    @contextmanager
    def writing(self, gpu: Gpu, value: int) -> Iterator[Any]:
        warm = self.zeros()
        warm.fill(0)  # compiles the kernel, which takes longer than the delay
        array, stream = self.zeros(), self.stream()
        with self.on(stream):
            gpu.delay(self.handle(stream))
            array.fill(value)
            yield array

    def stream(self) -> Any:
        return self.cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream: Any) -> int:
        return int(stream.ptr)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = stream
        return found


class Numba(Library):
    """Numba, which has no DLPack. Its copies from the CPU are on the default stream."""

    lends = ordered = waits = ("interface",)

    def __init__(self) -> None:
        _module("numba")
        self.cuda = _module("numba.cuda")
        if not self.cuda.is_available():
            pytest.skip("missing package numba with CUDA: the installed one does not find the GPU")
        self.takes = {"interface": self.cuda.as_cuda_array}

    def zeros(self) -> Any:
        return self.cuda.to_device(np.zeros(NBYTES, np.uint8))

    def read(self, array: Any) -> Any:
        return array.copy_to_host()

    @contextmanager
    def writing(self, gpu: Gpu, value: int) -> Iterator[Any]:
        assert gpu.ordinal == 0
        array = self.zeros()
        array.copy_to_device(np.full(NBYTES, value, np.uint8))
        yield array


class Jax(Library):
    """JAX, whose arrays never change: what it writes is a new one.

    An array that it makes from an array interface does not hold the lender.
    """

    holds = ("dlpack",)
    kinds = ("device",)

    def __init__(self) -> None:
        # Else it takes three quarters of the GPU's memory at its first use.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = _module("jax")
        try:
            self.device = self.jax.devices("cuda")[0]
        except RuntimeError as error:
            pytest.skip(f"missing package jax with CUDA: {error}")
        self.takes = {"dlpack": self.jax.dlpack.from_dlpack, "interface": self.jax.numpy.asarray}

    def zeros(self) -> Any:
        array = self.jax.device_put(np.zeros(NBYTES, np.uint8), self.device)
        return array.block_until_ready()

    def pointer(self, array: Any) -> int:
        return int(array.unsafe_buffer_pointer())

    def read(self, array: Any) -> Any:
        return np.asarray(array)

    @contextmanager
    def writing(self, gpu: Gpu, value: int) -> Iterator[Any]:
        assert gpu.ordinal == 0
        yield self.jax.jit(lambda array: array + np.uint8(value))(self.zeros())


def _module(name: str) -> Any:
    top = name.partition(".")[0]
    return pytest.importorskip(
        name, reason=f"missing package {top}: see its page on CUDA", exc_type=ImportError
    )


@pytest.fixture(params=["torch", "cupy", "numba", "jax"])
def library(request: pytest.FixtureRequest, real: Gpu) -> Library:
    """One library after the other."""
    made: dict[str, Callable[[], Library]] = {
        "torch": lambda: Torch(real), "cupy": Cupy, "numba": Numba, "jax": Jax,
    }  # fmt: skip
    return made[request.param]()


@pytest.fixture
def torch(real: Gpu) -> Torch:
    """torch alone."""
    return Torch(real)


@pytest.fixture
def real(gpu: Gpu) -> Gpu:
    """A GPU that runs kernels, or the test is skipped."""
    if gpu.is_software:
        pytest.skip("the software CUDA driver runs no kernels, which array libraries need")
    return gpu


class ByInterface:
    """Shows nothing of an object but the CUDA array interface."""

    def __init__(self, item: Any) -> None:
        self.item = item

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self.item.__cuda_array_interface__
        return found


def _by(protocol: str, item: Any) -> Any:
    return ByInterface(item) if protocol == "interface" else item


def _check(found: Any, value: int, what: str) -> None:
    values, counts = np.unique(np.asarray(found), return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert seen == {value: NBYTES}, f"{what}: {seen} (value: how many bytes), not all {value}"


def test_an_array_is_wrapped_where_it_lies(library: Library) -> None:
    array = library.zeros()
    for protocol in library.lends:
        tensor = samebytes.tensor(_by(protocol, array))
        assert isinstance(tensor, CudaTensor), (protocol, tensor)
        assert tensor.handle("cuda_ptr") == library.pointer(array), protocol
        assert (tensor.shape, str(tensor.dtype), tensor.kind) == ((NBYTES,), "uint8", "device")
        assert tensor.context is samebytes.context("cuda"), "not in the primary context"


def test_an_array_goes_there_and_back(library: Library, real: Gpu) -> None:
    """By each protocol it is the same memory: bytes that are written there are read here."""
    samebytes.reset_stats()
    for value, protocol in enumerate(library.takes, 7):
        array = library.zeros()
        mapped = samebytes.tensor(array).map("cuda", "rw")
        assert mapped.handle("cuda_ptr") == library.pointer(array), protocol
        back = library.takes[protocol](_by(protocol, mapped))
        assert library.pointer(back) == library.pointer(array), f"{protocol}: it was copied"
        real.write(mapped.handle("cuda_ptr"), np.full(NBYTES, value, np.uint8))
        _check(library.read(back), value, protocol)
    assert samebytes.stats().copies == 0


def test_memory_of_samebytes_is_taken_where_it_lies(
    library: Library, real: Gpu, context: CudaContext
) -> None:
    for kind in library.kinds:
        for value, protocol in enumerate(library.takes, 7):
            tensor = context.allocate((NBYTES,), "uint8", kind)  # type: ignore[arg-type]  # a name
            real.write(tensor.handle("cuda_ptr"), np.full(NBYTES, value, np.uint8))
            taken = library.takes[protocol](_by(protocol, tensor))
            assert library.pointer(taken) == tensor.handle("cuda_ptr"), (kind, protocol)
            if protocol in library.holds:
                del tensor
            _check(library.read(taken), value, f"{kind} memory by {protocol}")


def test_what_a_library_writes_is_downloaded(library: Library, real: Gpu) -> None:
    """Also while it is pending on a stream of the library's own."""
    for value, protocol in enumerate(library.ordered, 7):
        samebytes.reset_stats()
        with library.writing(real, value) as array:
            copied = samebytes.tensor(_by(protocol, array)).map("cpu", copy=True)
            _check(copied.native, value, protocol)
        assert samebytes.stats().copies == 1


def test_what_is_pending_is_waited_for_by_the_library(
    library: Library, real: Gpu, context: CudaContext
) -> None:
    for value, protocol in enumerate(library.waits, 7):
        tensor = context.allocate((NBYTES,))
        real.write(tensor.handle("cuda_ptr"), np.zeros(NBYTES, np.uint8))
        stream = library.stream()
        with library.on(stream):
            real.set_later(tensor.handle("cuda_ptr"), value, NBYTES, 1)
            taken = library.takes[protocol](_by(protocol, tensor))
            _check(library.read(taken), value, protocol)


def test_a_stream_of_the_library_as_the_queue(library: Library, real: Gpu) -> None:
    """It waits for what another of its streams has pending, mapped in place and downloaded."""
    queue = library.stream()
    if queue is None:
        pytest.skip("this library's streams are tested by their handles alone: test_streams.py")
    target = real.allocate(NBYTES)
    for value, protocol in enumerate(library.ordered, 7):
        with library.writing(real, value) as array:
            tensor = samebytes.tensor(_by(protocol, array))
            mapped = tensor.map("cuda", "rw", queue=queue)
            assert mapped.handle("cuda_ptr") == library.pointer(array)
            real.do("cuMemcpyDtoDAsync", target, mapped.handle(), NBYTES, library.handle(queue))
            copied = tensor.map("cpu", copy=True, queue=queue)
            real.do("cuStreamSynchronize", library.handle(queue))
        _check(real.peek(target, NBYTES), value, f"{protocol}: in place")
        _check(copied.native, value, f"{protocol}: downloaded")
    real.free(target)


def test_pinned_memory_is_a_tensor_of_the_cpu_in_torch(torch: Torch, context: CudaContext) -> None:
    pinned = context.allocate((NBYTES,), "uint8", "pinned")
    taken = torch.torch.from_dlpack(pinned)
    assert taken.device.type == "cpu"
    assert taken.data_ptr() == pinned.handle("cuda_ptr") == pinned.handle("data")
    assert taken.is_pinned()
    taken.fill_(7)
    _check(pinned, 7, "written by torch")


def test_managed_memory_is_a_tensor_of_the_gpu_in_torch(torch: Torch, context: CudaContext) -> None:
    managed = context.allocate((NBYTES,), "uint8", "managed")
    taken = torch.torch.from_dlpack(managed)
    assert str(taken.device) == torch.device
    assert taken.data_ptr() == managed.handle("cuda_ptr") == managed.handle("data")
    taken.fill_(7)
    torch.torch.cuda.synchronize()
    _check(managed, 7, "written by torch")


EXPANDABLE = """
import torch, samebytes
large = torch.zeros(200 << 20, dtype=torch.uint8, device="cuda")
segments = torch.cuda.memory_snapshot()
assert any(segment.get("is_expandable") for segment in segments), "torch made plain memory"
for array in (large, large[10 << 20 : 150 << 20], torch.ones(16, device="cuda")):
    assert samebytes.tensor(array).handle("cuda_ptr") == array.data_ptr()
copied = samebytes.tensor(large.fill_(7)).map("cpu", copy=True)
assert (copied.native == 7).all()
print("taken")
"""


def test_expandable_segments_of_torch(torch: Torch) -> None:
    """One array over many mappings of cuMemMap, side by side."""
    assert torch.device
    done = subprocess.run(
        [sys.executable, "-c", EXPANDABLE],
        env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "taken\n", done.stdout + done.stderr
