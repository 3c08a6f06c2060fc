# SPDX-License-Identifier: Apache-2.0
"""Streams: whoever reads after a mapping or an export reads the new bytes.

A stream is delayed by functions of the host, and sets the bytes after that. Whatever is not
ordered after the stream reads the old ones: `test_the_tests_of_ordering_can_fail` runs these tests
with the events taken out.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_cuda
from samebytes.errors import DeviceMismatchError, ExportError, LayoutError, UnsupportedObjectError
from samebytes_cuda import CudaContext

from .conftest import Again, ByDLPack, ByInterface

ordering = pytest.mark.ordering
BYTES = 1 << 16
WITHOUT_EVENTS = Path(__file__).parents[1] / "tools" / "without_events.py"
BY = pytest.mark.parametrize("by", ["dlpack", "interface"])


@pytest.fixture(autouse=True, scope="module")
def _warm(gpu: Any) -> None:
    """Run what is slow at first use, in Python and the driver: it must not hide a lack of order."""
    one, other = gpu.allocate(BYTES), gpu.allocate(BYTES)
    gpu.do("cuMemcpyDtoDAsync", one, other, BYTES, gpu.stream())
    gpu.synchronize()
    gpu.free(one)
    gpu.free(other)
    for lender in (ByDLPack, ByInterface):
        mapped = samebytes.tensor(lender(gpu, BYTES, gpu.stream()))
        mapped.map("cpu", copy=True)
        mapped.map("cpu", copy=True, queue=gpu.stream())
        mapped.__dlpack__(stream=gpu.stream())


@ordering
@BY
def test_a_download_has_what_the_lender_enqueued(gpu: Any, lend: Any, by: str) -> None:
    stream = gpu.stream()
    array = lend(BYTES, stream, by)
    gpu.set_later(array.address, 7, BYTES, stream)
    mapped = samebytes.tensor(array).map("cpu", copy=True)
    assert (np.asarray(mapped) == 7).all()


@ordering
@BY
def test_what_is_enqueued_after_wrapping_is_waited_for(gpu: Any, lend: Any, by: str) -> None:
    stream = gpu.stream()
    array = lend(BYTES, stream, by)
    tensor = samebytes.tensor(array)
    gpu.set_later(array.address, 7, BYTES, stream)
    assert (np.asarray(tensor.map("cpu", copy=True)) == 7).all()


@ordering
@BY
def test_the_stream_is_that_of_the_moment_of_wrapping(gpu: Any, lend: Any, by: str) -> None:
    """As in `with torch.cuda.stream(...)`: later, and in other threads, another one is current."""
    stream = gpu.stream()
    array = lend(BYTES, stream, by)
    gpu.set_later(array.address, 7, BYTES, stream)
    tensor = samebytes.tensor(array)
    array.stream = None
    assert (np.asarray(tensor.map("cpu", copy=True)) == 7).all()


@ordering
@BY
def test_a_consumer_waits_on_its_stream(gpu: Any, lend: Any, by: str) -> None:
    stream, consumer, target = gpu.stream(), gpu.stream(), gpu.allocate(BYTES)
    array = lend(BYTES, stream, by)
    with gpu.stays_busy(stream):
        gpu.set_later(array.address, 7, BYTES, stream)
        tensor = samebytes.tensor(array)
        capsule = tensor.__dlpack__(stream=consumer)
    gpu.do("cuMemcpyDtoDAsync", target, array.address, BYTES, consumer)
    gpu.do("cuStreamSynchronize", consumer)
    assert (gpu.peek(target, BYTES) == 7).all()
    del capsule
    gpu.free(target)


@ordering
@pytest.mark.parametrize("stream", [None, 1, 2])
def test_the_default_streams_of_a_consumer(gpu: Any, lend: Any, stream: int | None) -> None:
    """None and 1 are the legacy default stream, 2 is the thread's own."""
    lender, target = gpu.stream(), gpu.allocate(BYTES)
    array = lend(BYTES, lender)
    gpu.set_later(array.address, 7, BYTES, lender)
    capsule = samebytes.tensor(array).__dlpack__(stream=stream)
    gpu.do("cuMemcpyDtoDAsync", target, array.address, BYTES, stream or 1)
    gpu.do("cuStreamSynchronize", stream or 1)
    assert (gpu.peek(target, BYTES) == 7).all()
    del capsule
    gpu.free(target)


@ordering
def test_the_array_interface_names_a_stream_that_is_ordered(gpu: Any, lend: Any) -> None:
    lender, consumer, target = gpu.stream(), gpu.stream(), gpu.allocate(BYTES)
    array = lend(BYTES, lender)
    gpu.set_later(array.address, 7, BYTES, lender)
    interface = samebytes_cuda.tensor(array).__cuda_array_interface__
    assert (interface["version"], interface["shape"]) == (3, (BYTES,))
    assert interface["data"] == (array.address, False)
    event = gpu.do("cuEventCreate", 2)
    gpu.do("cuEventRecord", event, interface["stream"])
    gpu.do("cuStreamWaitEvent", consumer, event, 0)
    gpu.do("cuMemcpyDtoDAsync", target, array.address, BYTES, consumer)
    gpu.do("cuStreamSynchronize", consumer)
    gpu.do("cuEventDestroy", event)
    assert (gpu.peek(target, BYTES) == 7).all()
    gpu.free(target)


@ordering
def test_mapping_with_a_queue_orders_and_does_not_wait(gpu: Any, lend: Any) -> None:
    lender, queue, target = gpu.stream(), gpu.stream(), gpu.allocate(BYTES)
    array = lend(BYTES, lender)
    with gpu.stays_busy(lender):
        gpu.set_later(array.address, 7, BYTES, lender)
        mapped = samebytes.tensor(array).map("cuda", queue=queue)
    gpu.do("cuMemcpyDtoDAsync", target, mapped.handle("cuda_ptr"), BYTES, queue)
    gpu.do("cuStreamSynchronize", queue)
    assert (gpu.peek(target, BYTES) == 7).all()
    gpu.free(target)


@ordering
def test_a_download_with_a_queue(gpu: Any, lend: Any) -> None:
    lender, queue = gpu.stream(), gpu.stream()
    array = lend(BYTES, lender)
    with gpu.stays_busy(lender):
        gpu.set_later(array.address, 7, BYTES, lender)
        mapped = samebytes.tensor(array).map("cpu", copy=True, queue=queue)
    gpu.do("cuStreamSynchronize", queue)
    assert (np.asarray(mapped) == 7).all()


@ordering
@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_that_the_cpu_reads_is_complete(gpu: Any, context: CudaContext, kind: Any) -> None:
    tensor = context.allocate((BYTES,), "uint8", kind)
    np.asarray(tensor)[...] = 0
    capsule = tensor.__dlpack__(dl_device=(2, 0), stream=1)
    gpu.set_later(tensor.handle(), 7, BYTES, 1)
    assert (tensor.map("cpu").native == 7).all()
    gpu.set_later(tensor.handle(), 8, BYTES, 1)
    assert (np.asarray(tensor) == 8).all()
    gpu.set_later(tensor.handle(), 9, BYTES, 1)
    assert (np.from_dlpack(tensor, device="cpu") == 9).all()
    del capsule


@ordering
@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_a_consumers_own_stream_is_waited_for(gpu: Any, context: CudaContext, kind: Any) -> None:
    stream = gpu.stream()
    tensor = context.allocate((BYTES,), "uint8", kind)
    np.asarray(tensor)[...] = 0
    capsule = tensor.__dlpack__(dl_device=(2, 0), stream=stream)
    gpu.set_later(tensor.handle(), 7, BYTES, stream)
    assert (tensor.map("cpu").native == 7).all()
    del capsule


@ordering
def test_memory_lives_until_its_consumers_are_done(gpu: Any, context: CudaContext) -> None:
    """The consumer drops the last holder while its stream still works."""
    stream, target = gpu.stream(), gpu.allocate(BYTES)
    tensor = context.allocate((BYTES,))
    gpu.write(tensor.handle(), np.full(BYTES, 7, np.uint8))
    capsule = tensor.__dlpack__(stream=stream)
    address = tensor.handle()
    with gpu.stays_busy(stream):
        gpu.delay(stream)
        gpu.do("cuMemcpyDtoDAsync", target, address, BYTES, stream)
    del tensor, capsule
    gc.collect()
    assert not gpu.is_busy(stream), "the memory was freed while a stream used it"
    assert (gpu.peek(target, BYTES) == 7).all()
    gpu.free(target)


@ordering
def test_lent_memory_goes_back_when_its_consumers_are_done(gpu: Any, lend: Any) -> None:
    """A lender whose array is given back uses its memory again, for something else."""
    stream = gpu.stream()
    array = lend(BYTES)
    tensor = samebytes.tensor(array)
    capsule = tensor.__dlpack__(stream=stream)
    gpu.delay(stream)
    busy: list[bool] = []
    array.at_end = lambda: busy.append(gpu.is_busy(stream))
    del array, tensor, capsule
    gc.collect()
    assert busy == [False]


@ordering
def test_registered_pages_are_given_back_when_the_device_is_done(gpu: Any) -> None:
    stream, target = gpu.stream(), gpu.allocate(BYTES)
    pages = samebytes.context("cpu").allocate((BYTES,))
    pages.native[...] = 7
    mapped = pages.map("cuda")
    gpu.delay(stream)
    gpu.do("cuMemcpyAsync", target, mapped.handle(), BYTES, stream)
    mapped.close()
    assert not gpu.is_busy(stream)
    pages.native[...] = 1
    assert (gpu.peek(target, BYTES) == 7).all()
    gpu.free(target)


@pytest.mark.usefixtures("gpu")
def test_an_upload_may_be_followed_by_a_change_of_its_source(gpu: Any) -> None:
    for make in (np.zeros, _pinned):
        source = make(BYTES, np.uint8)
        source[...] = 7
        stream = gpu.stream()
        gpu.delay(stream)
        mapped = samebytes.tensor(source).map("cpu", "r")
        uploaded = mapped.map("cuda", copy=True, queue=stream)
        source[...] = 1
        gpu.do("cuStreamSynchronize", stream)
        if isinstance(uploaded, samebytes_cuda.CudaTensor) and uploaded.kind == "device":
            assert (gpu.read(uploaded.handle(), BYTES) == 7).all()


def _pinned(nbytes: int, dtype: Any) -> Any:
    del dtype
    return samebytes.context("cuda").allocate((nbytes,), kind="pinned").map("cpu", "rw").native  # type: ignore[call-arg]


def test_no_ordering_is_asked_for_by_minus_one(gpu: Any, lend: Any) -> None:
    lender = gpu.stream()
    array = lend(BYTES, lender)
    tensor = samebytes.tensor(array)
    asked = len(array.asked)
    with gpu.stays_busy(lender):
        tensor.__dlpack__(stream=-1)
    assert len(array.asked) == asked


@pytest.mark.parametrize("stream", [0, -2, "1", True, 1.0])
def test_streams_that_dlpack_does_not_know(context: CudaContext, stream: Any) -> None:
    with pytest.raises(ExportError, match="stream"):
        context.allocate((4,)).__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", [0, -1, "1", True])
def test_streams_that_the_array_interface_does_not_know(lend: Any, stream: Any) -> None:
    with pytest.raises(LayoutError, match="stream"):
        samebytes.tensor(lend(16, stream, "interface"))


def test_streams_of_other_libraries(gpu: Any, context: CudaContext) -> None:
    number = gpu.stream()
    made: Any = type("Stream", (), {})
    torch, cupy, core, numba = made(), made(), made(), made()
    torch.cuda_stream = cupy.ptr = numba.handle = number
    core.__cuda_stream__ = lambda: (0, number)
    tensor = context.allocate((4,))
    handles = number, ctypes.c_void_p(number), gpu.driver.CUstream(number)
    for queue in (*handles, torch, cupy, core, numba):
        assert tensor.map("cuda", queue=queue).handle() == tensor.handle()
    with pytest.raises(UnsupportedObjectError, match="not a CUDA stream: pass a CUstream"):
        tensor.map("cuda", queue=object())


@pytest.mark.parametrize("number", [-1, 3, 4095, 1 << 64, 2.0, "2"])
@pytest.mark.parametrize("of", ["itself", "cuda_stream", "__cuda_stream__"])
def test_what_is_not_the_handle_of_a_stream(context: CudaContext, number: Any, of: str) -> None:
    queue = number
    if of != "itself":
        value = (0, number) if of == "__cuda_stream__" else number
        queue = type("Stream", (), {of: value})()
    tensor = context.allocate((4,))
    frame = context.allocate_frame("GRAY8", 4, 4)
    for use in (
        lambda: tensor.map("cpu", copy=True, queue=queue),
        lambda: tensor.map("cuda", queue=queue),
        lambda: frame.map("cpu", copy=True, queue=queue),
        lambda: samebytes.tensor(np.ones(4, np.float32)).map("cuda", copy=True, queue=queue),
    ):
        with pytest.raises(UnsupportedObjectError, match="a CUDA stream"):
            use()


@pytest.mark.parametrize("number", [3, 1 << 64])
def test_numbers_without_a_stream(context: CudaContext, lend: Any, number: int) -> None:
    """The software driver knows its streams, NVIDIA's reads at any address: no call is made."""
    with pytest.raises(ExportError, match="is not a stream"):
        context.allocate((4,)).__dlpack__(stream=number)
    with pytest.raises(LayoutError, match="is not a stream"):
        samebytes.tensor(lend(16, number, "interface"))


def test_a_stream_of_another_device(second_gpu: Any, context: CudaContext, lend: Any) -> None:
    stream = second_gpu.stream()
    tensor = context.allocate((4,))
    with pytest.raises(DeviceMismatchError, match="belongs to"):
        tensor.__dlpack__(stream=stream)
    with pytest.raises(DeviceMismatchError):
        tensor.map("cuda", queue=stream)
    with pytest.raises(DeviceMismatchError):
        samebytes.tensor(lend(16, stream, "interface"))
    second_gpu.do("cuStreamDestroy", stream)


def test_a_producer_without_streams_is_waited_for(gpu: Any, lend: Any) -> None:
    """PyAV's planes refuse every stream."""
    stream = gpu.stream()
    array = lend(BYTES)
    export = array.__dlpack__

    class Plane:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self, *, stream: Any = None, **more: Any) -> object:
            if stream is not None:
                raise NotImplementedError("streams")
            return export(**more)

    gpu.set_later(array.address, 7, BYTES, stream)
    tensor = samebytes_cuda.tensor(Plane())
    assert not gpu.is_busy(stream)
    assert (np.asarray(tensor.map("cpu", copy=True)) == 7).all()


@pytest.mark.slow
@pytest.mark.skipif(
    not WITHOUT_EVENTS.exists(), reason="the tools lie in the repository, and this runs one"
)
@pytest.mark.parametrize("driver_waits", [False, True])
@pytest.mark.together
def test_the_tests_of_ordering_can_fail(
    gpu: Any, pytestconfig: pytest.Config, driver_waits: bool
) -> None:
    """Without events and waits, the lender's too, the tests of ordering read old bytes."""
    if not (gpu.is_software or driver_waits):
        pytest.skip("NVIDIA's driver always waits where it frees memory")
    devices = pytestconfig.getoption("--softdevices", default="")
    done = subprocess.run(
        [sys.executable, str(WITHOUT_EVENTS), *([f"--softdevices={devices}"] if devices else [])],
        env={**os.environ, "SOFTCUDA_WAITS": str(int(driver_waits))},
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    least = 19 if driver_waits else 21
    assert int(done.stdout.split()[-4]) >= least, done.stdout


@pytest.mark.slow
@pytest.mark.together
def test_ordering_where_the_driver_waits(gpu: Any, again: Again) -> None:
    """NVIDIA's driver waits where it frees or unregisters memory, and a driver may where it makes
    memory too: no order may need it not to, and what only enqueues calls none of these."""
    if not gpu.is_software:
        pytest.skip("this asks the software CUDA driver to wait; NVIDIA's does as it does")
    status, output = again("test_streams.py", "-m", "ordering", SOFTCUDA_WAITS="1")
    assert status == 0, output
