# SPDX-License-Identifier: Apache-2.0
"""UMats as OpenCL memory and back: the same bytes for UMats of ours, a copy on the device else."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Context, Tensor
from samebytes.errors import CopyRequiredError, NoRouteError
from samebytes.testing import missing_device

pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")

cl = pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
cv2 = pytest.importorskip("cv2", reason="missing package cv2: pip install opencv-python-headless")


@pytest.fixture
def umats() -> Context:
    if not cv2.ocl.haveOpenCL():
        pytest.skip(missing_device("GPU"))
    sb.reset_stats()
    return sb.context("opencv_umat")


def image() -> np.ndarray[Any, Any]:
    return np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def fill(tensor: Tensor, array: np.ndarray[Any, Any]) -> None:
    with tensor.map("cpu", "w") as view:
        view.native[...] = array


def test_a_umat_of_ours_goes_both_ways_without_a_copy(umats: Context) -> None:
    tensor = umats.allocate((6, 8, 3))
    there = tensor.map("opencl", "rw")
    assert there.handle("cl_mem") == tensor.handle("cl_mem")
    fill(there, image())
    back = there.map("opencv_umat", "rw")
    assert back.handle("cl_mem") == tensor.handle("cl_mem")
    np.testing.assert_array_equal(back.native.get(), image())
    assert sb.stats().copies == 0


def test_a_kernel_sees_what_opencv_computed(umats: Context) -> None:
    tensor = umats.allocate((6, 8, 3))
    fill(tensor.map("opencl", "w"), image())
    cv2.bitwise_not(tensor.native, dst=tensor.native)
    there: Any = tensor.map("opencl", "rw")
    context = there.context
    program = cl.Program(
        context.native, "kernel void f(global uchar *x) { x[get_global_id(0)] ^= 1; }"
    ).build()
    cl.Kernel(program, "f")(context.queue, (tensor.info.nbytes,), None, there.native)
    np.testing.assert_array_equal(there.map("cpu"), ~image() ^ 1)
    assert sb.stats().copies == 0


def test_opencv_sees_what_a_kernel_computed(umats: Context) -> None:
    tensor = umats.allocate((4, 4), "float32")
    there: Any = tensor.map("opencl", "w")
    cl.enqueue_fill_buffer(there.context.queue, there.native, np.float32(2), 0, 64)
    there.map("opencv_umat")
    doubled = cv2.add(tensor.native, tensor.native)
    assert (doubled.get() == 4).all()


def test_opencv_waits_for_a_queue_that_is_not_its_own(umats: Context) -> None:
    import samebytes_gpu_opencl as sbcl

    native = cl.Context.from_int_ptr(umats.handle("cl_context"), retain=True)
    with sbcl.context(cl.CommandQueue(native)) as opencl:
        there: Any = umats.allocate((4, 4)).map(opencl, "rw")
        gate = cl.UserEvent(native)
        cl.enqueue_barrier(opencl.queue, wait_for=[gate])
        filled = cl.enqueue_fill_buffer(opencl.queue, there.native, np.uint8(3), 0, 16)
        opencl.queue.flush()
        complete = cl.command_execution_status.COMPLETE
        opener = threading.Timer(0.2, gate.set_status, [complete])
        opener.start()
        there.map("opencv_umat")
        status = filled.command_execution_status
        opener.join()
        assert status == complete


def test_a_region_of_a_umat_is_mapped_at_its_offset(umats: Context) -> None:
    del umats
    whole = cv2.UMat(np.arange(64 * 256, dtype=np.uint8).reshape(64, 256))
    part = sb.tensor(cv2.UMat(whole, [2, 6], [0, 256]))
    there = part.map("opencl")
    np.testing.assert_array_equal(there.map("cpu"), whole.get()[2:6])


def test_the_memory_outlives_the_umat(umats: Context) -> None:
    tensor = umats.allocate((6, 8, 3))
    there = tensor.map("opencl", "rw")
    fill(there, image())
    del tensor
    gc.collect()
    # OpenCV's pool would hand the buffer out again, had the UMat been released.
    others = [umats.allocate((6, 8, 3)) for _ in range(20)]
    assert there.handle("cl_mem") not in {other.handle("cl_mem") for other in others}
    np.testing.assert_array_equal(there.map("cpu"), image())


def test_the_native_buffer_alone_keeps_the_umat(umats: Context) -> None:
    tensor = umats.allocate((6, 8, 3))
    native = tensor.map("opencl", "rw").native
    address = tensor.handle("cl_mem")
    del tensor
    gc.collect()
    others = [umats.allocate((6, 8, 3)) for _ in range(20)]
    assert address not in {other.handle("cl_mem") for other in others}
    assert native.int_ptr == address


def test_other_memory_is_copied_on_the_device(umats: Context) -> None:
    source = umats.derive("opencl").allocate((6, 8, 3))
    fill(source, image())
    with pytest.raises(CopyRequiredError, match="opencl -> opencv_umat"):
        source.map("opencv_umat")
    copied = source.map("opencv_umat", copy=True)
    np.testing.assert_array_equal(copied.native.get(), image())
    assert list(sb.stats().by_edge) == ["opencl -> opencv_umat"]
    fill(source, image() * 0)
    np.testing.assert_array_equal(copied.native.get(), image())


def test_a_copy_on_the_callers_queue_is_waited_for(umats: Context) -> None:
    context: Any = umats.derive("opencl")
    source = context.allocate((6, 8, 3))
    fill(source, image())
    queue = cl.CommandQueue(context.native)
    copied = source.map("opencv_umat", copy=True, queue=queue)
    copied.wait()
    np.testing.assert_array_equal(copied.native.get(), image())


def test_memory_of_another_context_goes_by_way_of_the_cpu(umats: Context) -> None:
    device = cl.Context.from_int_ptr(umats.handle("cl_context"), retain=True).devices[0]
    import samebytes_gpu_opencl as sbcl

    other = sbcl.context(cl.Context([device])).allocate((4, 4))
    fill(other, np.full((4, 4), 7, np.uint8))
    route = sb.route(other, "opencv_umat", copy=True)
    copied = other.map("opencv_umat", copy=True)
    assert (copied.native.get() == 7).all()
    # What was promised is what happened, and the reason names the way that needs no CPU.
    hops = [hop.spec.name for hop in route.hops]
    assert hops[0] == "opencl -> cpu"
    assert list(sb.stats().by_edge) == hops[1:] == ["cpu -> opencv_umat"]
    assert "samebytes.context('opencv_umat').derive('opencl')" in route.explain()


def test_the_route_of_what_the_device_cannot_copy(umats: Context) -> None:
    context: Any = umats.derive("opencl")
    whole = context.allocate((4, 64))
    fill(whole, np.full((4, 64), 7, np.uint8))
    for source in (whole, whole.sub(0, (4, 16), strides=(64, 1))):
        sb.reset_stats()
        route = sb.route(source, "opencv_umat", copy=True)
        copied = source.map("opencv_umat", copy=True)
        assert (copied.native.get() == 7).all()
        copying = [hop.spec.name for hop in route.hops if hop.spec.transfer.name == "COPY"]
        assert list(sb.stats().by_edge) == copying


def test_elements_that_no_umat_has(umats: Context) -> None:
    source = umats.derive("opencl").allocate((4, 4), "bfloat16")
    with pytest.raises((NoRouteError, CopyRequiredError)):
        source.map("opencv_umat", copy=True)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4, 5)])
def test_shapes_that_no_umat_has_are_named(umats: Context, shape: tuple[int, ...]) -> None:
    source = umats.derive("opencl").allocate(shape)
    with pytest.raises(NoRouteError) as caught:
        source.map("opencv_umat", copy=True)
    reasons = [line for line in str(caught.value).splitlines() if "optional channels" in line]
    assert [line.endswith(f"not shape {shape}") for line in reasons] == [True] * len(reasons) != []
