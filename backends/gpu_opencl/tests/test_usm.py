# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory, and SVM where there is none."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes.errors import (
    CopyRequiredError,
    DeviceMismatchError,
    LayoutError,
    MissingDependencyError,
    NativeError,
    NoRouteError,
    NotHostVisibleError,
    UnsupportedObjectError,
)

KINDS = ("usm_host", "usm_device", "usm_shared")
DOUBLE = "kernel void run(global float* a) { a[get_global_id(0)] *= 2; }"


@pytest.mark.parametrize("kind", KINDS)
def test_allocated(usm: Any, kind: str) -> None:
    tensor = usm.allocate((4, 6), "float32", kind)
    assert tensor.kind == kind
    assert tensor.handle("usm_ptr") == tensor.native.pointer
    assert tensor.native.nbytes == 96
    found = sbo.usm_tensor(tensor.native.pointer, (24,), "float32", context=usm)
    assert found.kind == kind
    tensor.close()
    assert tensor.closed


@pytest.mark.parametrize("kind", ["usm_host", "usm_shared"])
def test_the_cpu_reads_it_in_place(usm: Any, kind: str, kernel: Callable[..., Any]) -> None:
    tensor = usm.allocate((64,), "float32", kind)
    np.asarray(tensor)[...] = 21
    run = kernel(usm, DOUBLE)
    tensor.native.set_arg(run, 0)
    cl.enqueue_nd_range_kernel(usm.queue, run, (64,), None)
    mapped = tensor.map("cpu", "rw")
    assert mapped.handle("data") == tensor.handle("usm_ptr")
    assert mapped.native.tolist() == [42.0] * 64
    array = mapped.native
    assert tensor.close() is False
    del tensor, mapped
    assert array[5] == 42


def test_device_usm_is_never_read_by_the_cpu(usm: Any, kernel: Callable[..., Any]) -> None:
    tensor = usm.allocate((64,), "float32", "usm_device")
    for use in (tensor.host_array, tensor.__dlpack__, lambda: np.asarray(tensor)):
        with pytest.raises(NotHostVisibleError, match="usm_device"):
            use()
    with pytest.raises(CopyRequiredError, match="cannot read device USM"):
        tensor.map("cpu")
    with pytest.raises(NoRouteError) as caught:
        tensor.map("cpu", "rw", copy=True)
    assert "pass copy=True" not in str(caught.value)
    ones = cl.Buffer(usm.native, cl.mem_flags.READ_WRITE, 256)
    cl.enqueue_fill_buffer(usm.queue, ones, np.array(1, np.float32), 0, 256)
    run = kernel(usm, "kernel void run(global float* a, global float* b)"
                      "{ int i = get_global_id(0); a[i] = b[i] + i; }")  # fmt: skip
    tensor.native.set_arg(run, 0)
    run.set_arg(1, ones)
    cl.enqueue_nd_range_kernel(usm.queue, run, (64,), None)
    samebytes.reset_stats()
    copied = tensor.map("cpu", copy=True)
    assert samebytes.stats().copies == 1
    assert copied.native.tolist() == [i + 1 for i in range(64)]
    assert copied.readonly


def test_parts(usm: Any) -> None:
    tensor = usm.allocate((16, 16), kind="usm_host")
    np.asarray(tensor)[...] = np.arange(16)[:, None]
    part = tensor.sub(3 * 16 + 1, (2, 15), strides=(16, 1))
    assert part.handle("usm_ptr") == tensor.handle("usm_ptr") + 49
    assert np.unique(np.asarray(part)).tolist() == [3, 4]
    del tensor
    assert np.unique(np.asarray(part)).tolist() == [3, 4]
    with pytest.raises(LayoutError):
        part.sub(0, (3, 16))


def test_pointers_of_the_user(usm: Any) -> None:
    owner = usm.allocate((256,), kind="usm_host")
    pointer = owner.handle("usm_ptr")
    inside = sbo.usm_tensor(pointer + 64, (4, 16), context=usm, keep=owner)
    np.asarray(owner)[...] = np.arange(256)
    assert np.asarray(inside)[0, 0] == 64
    same = sbo.usm_tensor(ctypes.c_void_p(pointer + 64), (4, 16), context=usm)
    assert same.handle("usm_ptr") == pointer + 64
    with pytest.raises(UnsupportedObjectError, match="a USM pointer must be an int"):
        sbo.usm_tensor("4096", (4,), context=usm)
    with pytest.raises(LayoutError, match="ends 192 bytes after it"):
        sbo.usm_tensor(pointer + 64, (193,), context=usm)
    gone = weakref.ref(owner)
    del owner
    assert gone() is not None
    inside.close()
    gc.collect()
    assert gone() is None


def test_what_is_not_usm_of_this_context(usm: Any) -> None:
    array = np.zeros(64, np.uint8)
    with pytest.raises(DeviceMismatchError, match="plain memory"):
        sbo.usm_tensor(array.ctypes.data, (64,), context=usm)
    tensor = usm.allocate((64,), kind="usm_host")
    pointer = tensor.handle("usm_ptr")
    other = sbo.context(cl.Context([usm.native_device]))
    with pytest.raises(DeviceMismatchError):
        sbo.tensor(tensor.native, context=other)
    tensor.close()
    with pytest.raises(DeviceMismatchError, match="freed"):
        sbo.usm_tensor(pointer, (64,), context=usm)


def test_wrong_arguments(usm: Any, kernel: Callable[..., Any]) -> None:
    tensor = usm.allocate((64,), kind="usm_host")
    with pytest.raises(NativeError, match="clSetKernelArgMemPointerINTEL"):
        tensor.native.set_arg(kernel(usm, DOUBLE), 9)


def test_freed_exactly_once(usm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    tensor = usm.allocate((64,), kind="usm_shared")
    pointer, native = tensor.handle("usm_ptr"), tensor.native
    assert tensor.close() is False
    assert sbo.usm_tensor(pointer, (64,), context=usm).kind == "usm_shared"
    del native
    with pytest.raises(DeviceMismatchError, match="freed"):
        sbo.usm_tensor(pointer, (64,), context=usm)
    tensor.close()
    assert not failures


def test_frames(usm: Any) -> None:
    frame = usm.allocate_frame("I420", 64, 32, kind="usm_shared")
    assert [n.kind for n in frame.native] == ["usm_shared"] * 3
    with frame.map("cpu", "w") as mapped:
        mapped.planes[2].native[...] = 4
    assert np.unique(np.asarray(frame.planes[2])).tolist() == [4]
    frame.close()


def test_a_device_without_usm(opencl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl.Device, "extensions", "cl_khr_icd")
    for kind in KINDS:
        with pytest.raises(MissingDependencyError, match="unified_shared_memory"):
            opencl.allocate((4,), kind=kind)


@pytest.fixture
def svm(opencl: Any) -> Any:
    coarse = cl.device_svm_capabilities.COARSE_GRAIN_BUFFER
    if not opencl.native_device.svm_capabilities & coarse:
        pytest.skip("device has no coarse-grained SVM")
    return opencl


def test_svm(svm: Any, kernel: Callable[..., Any]) -> None:
    tensor = svm.allocate((64,), "float32", "svm")
    assert tensor.kind == "svm"
    with tensor.map("cpu", "w") as view:
        assert view.handle("data") == tensor.handle("svm_ptr")
        view.native[...] = 21
    run = kernel(svm, DOUBLE)
    run(svm.queue, (64,), None, tensor.native)
    mapped = tensor.map("cpu", "rw")
    assert mapped.native.tolist() == [42.0] * 64
    mapped.native[...] = 1
    mapped.flush()
    seen = svm.allocate((64,), "float32")
    show = kernel(svm, "kernel void run(global float* a, global float* b)"
                       "{ b[get_global_id(0)] = a[get_global_id(0)]; }")  # fmt: skip
    show(svm.queue, (64,), None, tensor.native, seen.native)
    assert seen.map("cpu").native.tolist() == [1.0] * 64
    mapped.close()
    run(svm.queue, (64,), None, tensor.native)
    assert tensor.map("cpu").native.tolist() == [2.0] * 64
    native = tensor.native
    assert tensor.close() is False
    del native
    tensor.close()


class _StruckError(Exception):
    pass


def _flush_struck(view: Any, step: int) -> bool:
    """Flush while a signal handler raises at that call or return; False if there are fewer."""

    def strike(*_: object) -> None:
        nonlocal step
        step -= 1
        if step < 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGUSR1)

    def handler(*_: object) -> None:
        raise _StruckError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        sys.setprofile(strike)
        view.flush()
        step = max(step, 1)  # what follows belongs to the test
        sys.setprofile(None)
    except _StruckError:
        pass
    finally:
        signal.signal(signal.SIGUSR1, before)
    return step < 0


def test_an_interrupted_flush_leaves_svm_mapped(svm: Any) -> None:
    _interrupt_each_step_of_a_flush(svm.allocate((64,), "uint8", "svm"))


@pytest.mark.usefixtures("unified")
def test_an_interrupted_flush_leaves_a_host_pointer_mapped() -> None:
    tensor = samebytes.context("cpu").allocate((4096,), "uint8").map("opencl", "rw")
    assert tensor.native.flags & cl.mem_flags.USE_HOST_PTR
    _interrupt_each_step_of_a_flush(tensor)


def _interrupt_each_step_of_a_flush(tensor: Any) -> None:
    step = 0
    while True:
        view = tensor.map("cpu", "rw")
        view.native[...] = step % 251
        struck = _flush_struck(view, step)
        view.native[...] = 251 - step % 251
        view.close()
        assert tensor.map("cpu").native[7] == 251 - step % 251
        if not struck:
            break
        step += 1
    assert step > 10


def test_svm_of_the_user(svm: Any) -> None:
    memory = cl.SVMAllocation(svm.native, 256, 0, cl.svm_mem_flags.READ_WRITE, queue=svm.queue)
    with pytest.raises(UnsupportedObjectError, match="context="):
        sbo.tensor(memory)
    tensor = sbo.tensor(memory, (8, 8), "float32", context=svm)
    with tensor.map("cpu", "w") as view:
        view.native[...] = 3
    assert np.unique(tensor.map("cpu").native).tolist() == [3.0]
    with pytest.raises(LayoutError, match="the svm has 256"):
        sbo.tensor(memory, (257,), context=svm)
