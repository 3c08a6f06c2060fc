# SPDX-License-Identifier: Apache-2.0
"""Mapping to the CPU: what is published when, who orders it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes.errors import (
    AccessError,
    DeviceMismatchError,
    NoRouteError,
    UnsupportedObjectError,
)

ADD = "kernel void run(global uchar* a) { a[get_global_id(0)] += 1; }"


def test_a_kernel_on_a_tensor(opencl: Any, kernel: Callable[..., Any]) -> None:
    tensor = opencl.allocate((64,))
    with tensor.map("cpu", "w") as view:
        view.native[...] = 41
    run = kernel(opencl, ADD)
    run(opencl.queue, (64,), None, tensor.native)
    with tensor.map("cpu") as view:
        assert view.native.tolist() == [42] * 64
        assert not view.native.flags.writeable


def test_writes_reach_the_device_at_flush_and_close(
    opencl: Any, kernel: Callable[..., Any]
) -> None:
    tensor = opencl.allocate((4096,))
    run = kernel(opencl, "kernel void run(global uchar* a, global uchar* b)"
                         "{ b[get_global_id(0)] = a[get_global_id(0)]; }")  # fmt: skip
    seen = opencl.allocate((4096,))

    def on_the_device() -> Any:
        run(opencl.queue, (4096,), None, tensor.native, seen.native)
        return np.unique(seen.map("cpu").native).tolist()

    mapped = tensor.map("cpu", "w")
    array = mapped.native
    for value in (1, 2, 3):  # the array stays where it is, whatever flush() does
        array[...] = value
        mapped.flush()
        assert on_the_device() == [value]
    array[...] = 4
    del array
    mapped.close()
    assert on_the_device() == [4]


def test_rows_keep_what_lies_between_them(opencl: Any) -> None:
    whole = opencl.allocate((8, 64))
    with whole.map("cpu", "w") as view:
        view.native[...] = 9
    left = sbo.tensor(whole.native, (8, 32), strides=(64, 1))
    with left.map("cpu", "w") as view:
        view.native[...] = 1
    found = whole.map("cpu").native
    assert np.unique(found[:, :32]).tolist() == [1]
    assert np.unique(found[:, 32:]).tolist() == [9]


def test_mappings_for_writing_are_one(opencl: Any) -> None:
    """OpenCL forbids a second mapping for writing of the same bytes."""
    tensor = opencl.allocate((64,))
    first, second = tensor.map("cpu", "w"), tensor.map("cpu", "rw")
    reading = tensor.map("cpu")
    assert first.handle("data") == second.handle("data") == reading.handle("data")
    assert reading.readonly
    assert not reading.native.flags.writeable
    first.native[...] = 3
    first.close()
    assert second.native.tolist() == [3] * 64
    second.native[...] = 4
    second.close()
    assert reading.native.tolist() == [4] * 64
    reading.close()
    assert tensor.map("cpu").native.tolist() == [4] * 64


def test_a_mapping_whose_release_has_begun_is_not_shared(
    opencl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may find it by a weak reference while it is unmapped."""
    tensor = opencl.allocate((64,))
    first = tensor.map("cpu", "rw")
    shared = first.storage.keep
    assert tensor.map("cpu", "rw").storage.keep is shared
    monkeypatch.setattr(type(shared), "ending", property(lambda _: True))
    assert tensor.map("cpu", "rw").storage.keep is not shared


def test_unmapped_once_in_its_own_queue(opencl: Any, gate: Any) -> None:
    queue, other = cl.CommandQueue(opencl.native), cl.CommandQueue(opencl.native)
    tensor = opencl.allocate((64,))
    buffer = tensor.native
    map_buffer: Any = cl.enqueue_map_buffer
    theirs, _ = map_buffer(other, buffer, cl.map_flags.READ, 0, (64,), np.uint8)
    mapped = tensor.map("cpu", "rw", queue=queue)
    array = mapped.native
    assert mapped.close() is False
    assert buffer.map_count == 2
    # Nothing of the context's queue can run before the gate opens.
    cl.enqueue_barrier(opencl.queue, wait_for=[gate])
    opencl.queue.flush()
    del array
    mapped.close()
    mapped.close()
    queue.finish()
    assert buffer.map_count == 1
    theirs.base.release(other)


def test_released_by_its_owner_while_mapped(opencl: Any) -> None:
    buffer = cl.Buffer(opencl.native, cl.mem_flags.READ_WRITE, 4096)
    mapped = samebytes.tensor(buffer).map("cpu", "rw")
    mapped.native[...] = 1
    buffer.release()
    mapped.native[...] = 2
    assert mapped.native.sum() == 8192
    mapped.close()


def test_each_mapping_publishes_on_its_own_queue(opencl: Any, gate: Any) -> None:
    tensor = opencl.allocate((64,))
    ours = tensor.map("cpu", "rw")
    theirs = tensor.map("cpu", "rw", queue=cl.CommandQueue(opencl.native))
    # Nothing of the context's queue can run before the gate opens: if it were used, we would hang.
    cl.enqueue_barrier(opencl.queue, wait_for=[gate])
    opencl.queue.flush()
    theirs.native[...] = 9
    theirs.flush()
    theirs.wait()
    gate.set_status(cl.command_execution_status.COMPLETE)
    theirs.close()
    ours.close()
    assert tensor.map("cpu").native.tolist() == [9] * 64


def test_the_callers_queue(opencl: Any, gate: Any, kernel: Callable[..., Any]) -> None:
    """Nothing waits: the mapping comes after what is in the queue, and before what follows."""
    queue = cl.CommandQueue(opencl.native)
    tensor = opencl.allocate((64,))
    with tensor.map("cpu", "w") as view:
        view.native[...] = 1
    run = kernel(opencl, ADD)
    # Nothing of this queue can run before the gate opens: if anything waited, we would hang.
    cl.enqueue_barrier(queue, wait_for=[gate])
    run(queue, (64,), None, tensor.native)
    mapped = tensor.map("cpu", queue=queue)
    gate.set_status(cl.command_execution_status.COMPLETE)
    mapped.wait()
    assert mapped.native.tolist() == [2] * 64
    mapped.close()
    queue.finish()


def test_flush_and_close_on_the_callers_queue(opencl: Any, kernel: Callable[..., Any]) -> None:
    queue = cl.CommandQueue(opencl.native)
    tensor = opencl.allocate((64,))
    run = kernel(opencl, ADD)
    with tensor.map("cpu", "rw", queue=queue) as mapped:
        mapped.wait()
        mapped.native[...] = 5
    run(queue, (64,), None, tensor.native)
    opencl.sync(queue)
    assert tensor.map("cpu").native.tolist() == [6] * 64


def test_queues_that_are_none(opencl: Any) -> None:
    tensor = opencl.allocate((64,))
    elsewhere = cl.Context([opencl.native_device])
    other = cl.CommandQueue(elsewhere)
    with pytest.raises(DeviceMismatchError, match="own cl_context"):
        tensor.map("cpu", queue=other)
    with pytest.raises(DeviceMismatchError):
        opencl.sync(other)
    for queue in ("queue", 5, opencl.native):
        with pytest.raises(UnsupportedObjectError, match=r"pyopencl\.CommandQueue"):
            tensor.map("cpu", queue=queue)
    assert tensor.map("cpu").shape == (64,)


def test_work_on_another_queue(opencl: Any, kernel: Callable[..., Any]) -> None:
    """It is unknown to samebytes; sync() is how it becomes known."""
    queue = cl.CommandQueue(opencl.native)
    tensor = opencl.allocate((1 << 20,))
    with tensor.map("cpu", "w") as view:
        view.native[...] = 0
    run = kernel(opencl, ADD)
    for _ in range(20):
        run(queue, (1 << 20,), None, tensor.native)
    opencl.sync(queue)
    assert np.unique(tensor.map("cpu").native).tolist() == [20]


def test_read_only_tensors(opencl: Any) -> None:
    buffer = cl.Buffer(opencl.native, cl.mem_flags.READ_ONLY, 64)
    tensor = sbo.tensor(buffer, readonly=True)
    assert tensor.map("cpu").readonly
    with pytest.raises(AccessError):
        tensor.map("cpu", "rw")


def test_empty_tensors(opencl: Any) -> None:
    tensor = opencl.allocate((0, 4), "float32")
    assert tensor.map("cpu").native.shape == (0, 4)


def test_types_that_numpy_lacks(opencl: Any) -> None:
    tensor = opencl.allocate((4, 8), "bfloat16")
    with tensor.map("cpu", "w") as view:
        assert str(view.dtype) == "bfloat16"
        view.native[...] = 0x3F80
    assert (tensor.map("cpu").native == 0x3F80).all()
    packed = opencl.allocate((16,), "uint4")
    with packed.map("cpu", "w") as view:
        assert view.native.shape == (8,)
        view.native[...] = 0x12
    assert packed.map("cpu").shape == (16,)


def test_no_route_leads_to_another_opencl_context(opencl: Any) -> None:
    other = sbo.context(cl.Context([opencl.native_device]))
    with pytest.raises(NoRouteError):
        opencl.allocate((64,)).map(other)
