# SPDX-License-Identifier: Apache-2.0
"""sycl <-> opencl, where SYCL runs on OpenCL: the same pointers in the same cl_context."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import RouteError
from samebytes_sycl import SYCLContext

samebytes_gpu_opencl = pytest.importorskip(
    "samebytes_gpu_opencl",
    reason="missing package samebytes_gpu_opencl: pip install samebytes-gpu-opencl",
)
cl: Any = pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")

DOUBLE = "kernel void twice(global uchar *p) { p[get_global_id(0)] *= 2; }"


def test_the_context_is_derived(context: SYCLContext) -> None:
    derived = context.derive("opencl")
    assert derived.handle("cl_context") == context.handle("cl_context")
    assert derived.handle("cl_device") == context.handle("cl_device")
    assert derived.parent is context
    assert context.derive("opencl") is derived


def test_handles_add_no_references(context: SYCLContext) -> None:
    import dpctl

    native = cl.Context.from_int_ptr(context.handle("cl_context"), retain=True)
    before = native.get_info(cl.context_info.REFERENCE_COUNT)
    queues = [dpctl.SyclQueue(context.queue.sycl_context, context.queue.sycl_device)] * 3
    made = [SYCLContext(queue) for queue in queues]
    assert native.get_info(cl.context_info.REFERENCE_COUNT) - before < len(made)


# The compiler's notes come as warnings.
@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
@pytest.mark.parametrize("kind", ["shared", "host", "device"])
def test_a_kernel_of_opencl_writes_what_sycl_reads(context: SYCLContext, kind: Any) -> None:
    tensor = context.allocate((64,), "uint8", kind)
    memory = tensor.native.memory()
    memory.copy_from_host(np.arange(64, dtype=np.uint8))
    samebytes.reset_stats()
    mapped = tensor.map("opencl", "rw")
    assert isinstance(mapped.native, samebytes_gpu_opencl.USMAllocation)
    assert (mapped.native.pointer, mapped.native.kind) == (tensor.handle("usm_ptr"), f"usm_{kind}")
    opencl = mapped.context
    assert isinstance(opencl, samebytes_gpu_opencl.OpenCLContext)
    kernel = cl.Program(opencl.native, DOUBLE).build().twice
    mapped.native.set_arg(kernel, 0)
    cl.enqueue_nd_range_kernel(opencl.queue, kernel, (64,), None)
    opencl.sync()
    back = np.frombuffer(memory.copy_to_host(), np.uint8)
    np.testing.assert_array_equal(back, np.arange(64, dtype=np.uint8) * 2)
    assert samebytes.stats().copies == 0


def test_the_end_of_a_mapping_waits_for_the_other_queue(context: SYCLContext) -> None:
    """The queue that the memory is of knows nothing of the work there."""
    tensor = context.allocate((1 << 20,))
    np.asarray(tensor)[...] = 1
    with tensor.map("opencl", "rw") as mapped:
        opencl = mapped.context
        assert isinstance(opencl, samebytes_gpu_opencl.OpenCLContext)
        gate = cl.UserEvent(opencl.native)
        last = cl.enqueue_marker(opencl.queue, wait_for=[gate])
        opener = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
        opener.start()
    assert last.command_execution_status == cl.command_execution_status.COMPLETE
    opener.join()


def test_back_again(context: SYCLContext) -> None:
    opencl = context.derive("opencl")
    source = opencl.allocate((4, 8), "float32", "usm_shared")  # type: ignore[call-arg]
    with source.map("cpu", "w") as view:
        view.native[...] = 5
    mapped = source.map(context, "rw")
    assert mapped.handle("usm_ptr") == source.handle("usm_ptr")
    assert mapped.native.memory()._pointer == source.handle("usm_ptr")
    np.asarray(mapped)[0, 0] = 6
    with source.map("cpu") as view:
        assert view.native[0, 0] == 6
        assert view.native[3, 7] == 5


def test_buffers_are_not_usm(context: SYCLContext) -> None:
    source = context.derive("opencl").allocate((16,))
    with pytest.raises(RouteError, match="not USM"):
        samebytes.route(source, context)


def test_the_error_names_the_context_to_use(context: SYCLContext) -> None:
    other = samebytes_gpu_opencl.context(cl.Context([cl.get_platforms()[0].get_devices()[0]]))
    source: Any = other.allocate((16,), "uint8", "usm_shared")
    with pytest.raises(RouteError, match=r"sycl_context\.derive\('opencl'\)"):
        source.map(context)


def test_usm_of_another_context_is_refused(context: SYCLContext) -> None:
    other = samebytes_gpu_opencl.context(cl.Context([cl.get_platforms()[0].get_devices()[0]]))
    tensor = context.allocate((16,))
    with pytest.raises(RouteError, match=r"derive\('opencl'\)"):
        samebytes.route(tensor, other).map(tensor)


def test_the_memory_outlives_its_tensor(context: SYCLContext) -> None:
    tensor = context.allocate((16,))
    np.asarray(tensor)[...] = 9
    native = tensor.map("opencl").native
    assert tensor.close() is False
    assert list(native.pin.keep and samebytes_gpu_opencl.tensor(native).map("cpu").native[:2]) == [
        9,
        9,
    ]


def test_what_was_mapped_in_order_to_copy_ends_with_the_copying(context: SYCLContext) -> None:
    buffer = samebytes.context("opencl").allocate((64, 64))
    with buffer.map("cpu", "w") as view:
        view.native[...] = 7
    copy = buffer.map(context, copy=True)  # by way of "cpu", where the buffer is mapped
    buffer.close()  # no BusyError: nothing of it is mapped any more
    assert (copy.map("cpu").native == 7).all()
