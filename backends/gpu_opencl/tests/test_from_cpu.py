# SPDX-License-Identifier: Apache-2.0
"""CPU memory as buffers: shared where a driver really shares it, else copied when asked."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
from samebytes import CpuTensor, Storage
from samebytes.errors import AccessError, CopyRequiredError, NoRouteError

ADD = "kernel void run(global uchar* a) { a[get_global_id(0)] += 1; }"


def pages(nbytes: int = 4096) -> np.ndarray[Any, Any]:
    return np.frombuffer(mmap.mmap(-1, nbytes), np.uint8)


def test_a_kernel_works_on_the_array(unified: Any, kernel: Callable[..., Any]) -> None:
    array = pages()
    array[...] = 1
    tensor = samebytes.tensor(array).map(unified, "rw")
    assert tensor.native.flags & cl.mem_flags.USE_HOST_PTR
    run = kernel(unified, ADD)
    run(unified.queue, (4096,), None, tensor.native)
    tensor.flush()
    assert np.unique(array).tolist() == [2]
    run(unified.queue, (4096,), None, tensor.native)
    tensor.close()
    assert np.unique(array).tolist() == [3], "it is the host's when the last mapping is gone"


def test_one_buffer_for_one_piece_of_memory(unified: Any) -> None:
    """OpenCL forbids two buffers over the same host memory."""
    host = samebytes.context("cpu").allocate((2, 64, 64))
    first, second = host.map(unified, "rw"), host.map(unified)
    parent = [t.native.associated_memobject or t.native for t in (first, second)]
    assert parent[0].int_ptr == parent[1].int_ptr
    assert second.readonly
    array = pages()
    tensor = samebytes.tensor(array)
    assert tensor.map(unified, "rw").handle() != samebytes.tensor(pages()).map(unified).handle()
    held = tensor.map(unified, "rw")
    assert samebytes.tensor(array[:]).map(unified, "rw").handle() == held.handle()


def test_planes_in_one_piece_are_sub_buffers(unified: Any) -> None:
    frame = samebytes.context("cpu").allocate_frame("NV12", 64, 32)
    for plane, value in zip(frame, (1, 2), strict=True):
        plane.native[...] = value
    samebytes.reset_stats()
    mapped = frame.map(unified, "rw")
    assert samebytes.stats().copies == 0
    y, uv = mapped.native
    assert uv.offset - y.offset == 64 * 32
    assert [np.unique(p.map("cpu").native).tolist() for p in mapped] == [[1], [2]]
    assert frame.close() is False


def test_the_memory_is_given_back_with_the_last_mapping(unified: Any) -> None:
    released: list[bool] = []
    memory, cpu = pages(), samebytes.context("cpu")
    storage = Storage(
        lambda: released.append(True), address=memory.ctypes.data, nbytes=memory.nbytes
    )
    host = CpuTensor.owned(np.asarray(storage), cpu, storage)
    first, second = host.map(unified, "rw"), host.map(unified, "rw")
    native = first.native
    del first, second, storage
    assert host.close() is False
    assert not released
    del native
    assert released


@pytest.mark.parametrize(
    ("start", "nbytes", "reason"),
    [(64, 4096, "begins 64 bytes after a page"), (0, 4000, "is 4000 bytes long")],
)
def test_what_a_driver_would_copy_is_refused(
    unified: Any, start: int, nbytes: int, reason: str
) -> None:
    array = pages(8192)[start : start + nbytes]
    with pytest.raises(CopyRequiredError, match=reason):
        samebytes.tensor(array).map(unified)


def test_misaligned_planes_are_refused(unified: Any) -> None:
    host = samebytes.context("cpu").allocate((8192,))
    part = samebytes.tensor(host.native[1:4097])
    with pytest.raises(CopyRequiredError, match="after a page"):
        part.map(unified)


def test_read_only_memory(unified: Any) -> None:
    array = np.frombuffer(mmap.mmap(-1, 4096, prot=mmap.PROT_READ), np.uint8)
    tensor = samebytes.tensor(array).map(unified)
    assert tensor.readonly
    assert tensor.native.flags & cl.mem_flags.READ_ONLY
    with pytest.raises(AccessError):
        samebytes.tensor(array).map(unified, "rw")
    assert tensor.map("cpu").native.tolist() == [0] * 4096
    tensor.close()


def test_devices_with_memory_of_their_own(unified: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Discrete:
        host_unified_memory = False
        name = "a discrete GPU"

    assert unified.queue is not None
    monkeypatch.setattr(unified, "native_device", Discrete())
    with pytest.raises(CopyRequiredError, match="HOST_UNIFIED_MEMORY"):
        samebytes.tensor(pages()).map(unified)


@pytest.mark.parametrize("order", ["dense", "padded", "transposed", "flipped"])
def test_copies(opencl: Any, order: str) -> None:
    whole = np.arange(40 * 24, dtype=np.int32).reshape(40, 24)
    array = {
        "dense": whole[:, :], "padded": whole[3:, :17], "transposed": whole[1:, 1:].T,
        "flipped": whole[::-1],
    }[order]  # fmt: skip
    samebytes.reset_stats()
    tensor = samebytes.tensor(array).map(opencl, copy=True)
    # What no command copies is made dense on the host first, which a device may then share.
    shared = bool(opencl.native_device.host_unified_memory)
    assert samebytes.stats().copies == (1 if order in ("dense", "padded") or shared else 2)
    assert tensor.readonly
    assert tensor.info.is_contiguous
    found = tensor.map("cpu").native
    np.testing.assert_array_equal(found, array)
    whole[...] = 0
    assert found.any(), "it is a copy"


def test_a_copy_on_the_callers_queue(opencl: Any, gate: Any) -> None:
    queue = cl.CommandQueue(opencl.native)
    array = np.arange(1000, dtype=np.uint16)
    cl.enqueue_barrier(queue, wait_for=[gate])
    tensor = samebytes.tensor(array).map(opencl, copy=True, queue=queue)
    gate.set_status(cl.command_execution_status.COMPLETE)
    tensor.wait()
    assert tensor.map("cpu").native.tolist() == array.tolist()


def test_each_mapping_of_one_buffer_works_on_its_own_queue(unified: Any, gate: Any) -> None:
    host = samebytes.context("cpu").allocate((4096,))
    theirs = host.map(unified, "rw", queue=cl.CommandQueue(unified.native))
    ours = host.map(unified, "rw")
    cl.enqueue_barrier(unified.queue, wait_for=[gate])
    filled = cl.enqueue_fill_buffer(unified.queue, ours.native, np.array(5, np.uint8), 0, 4096)
    unified.queue.flush()
    complete = cl.command_execution_status.COMPLETE
    opener = threading.Timer(0.2, gate.set_status, [complete])
    opener.start()
    ours.flush()
    status = filled.command_execution_status
    opener.join()
    assert status == complete
    assert (host.native == 5).all()
    del ours
    theirs.close()


def test_memory_goes_back_when_all_its_queues_are_done(unified: Any, gate: Any) -> None:
    host = samebytes.context("cpu").allocate((4096,))
    first = host.map(unified, "rw")
    queue = cl.CommandQueue(unified.native)
    second = host.map(unified, "rw", queue=queue)
    cl.enqueue_barrier(queue, wait_for=[gate])
    filled = cl.enqueue_fill_buffer(queue, second.native, np.array(6, np.uint8), 0, 4096)
    queue.flush()
    complete = cl.command_execution_status.COMPLETE
    opener = threading.Timer(0.2, gate.set_status, [complete])
    opener.start()
    second.close()
    first.close()
    status = filled.command_execution_status
    opener.join()
    assert status == complete


def test_empty_arrays(opencl: Any) -> None:
    empty = samebytes.tensor(np.empty((0, 4), np.float32))
    with pytest.raises((NoRouteError, CopyRequiredError)):
        empty.map(opencl)
    assert empty.map(opencl, copy=True).shape == (0, 4)
