# SPDX-License-Identifier: Apache-2.0
"""OpenCL's memory, and memory that becomes OpenCL's."""

from __future__ import annotations

from ctypes import c_uint8
from typing import Any

import numpy as np
import pyopencl as cl

import samebytes as sb
from samebytes.benchmarks import Ways, along

__all__ = [
    "array_again", "array_copied", "array_first", "buffer_to_cpu", "device_usm_to_cpu",
    "dma_again", "dma_first", "remote_frame_to_opencl", "remote_to_opencl", "to_dma",
    "umat_to_opencl", "usm_to_cpu",
]  # fmt: skip

_OVER = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR


def _context() -> Any:
    return sb.context("opencl")


def _queue(context: Any) -> cl.CommandQueue:
    return cl.CommandQueue(cl.Context.from_int_ptr(context.handle("cl_context")))


def buffer_to_cpu(width: int, height: int) -> Ways:
    """A buffer mapped for reading; both sides wait for the queue."""
    context, cpu, shape = _context(), sb.context("cpu"), (height, width, 3)
    buffer, queue, there = context.allocate(shape), _queue(context), np.empty(shape, np.uint8)
    go, mem = along("opencl -> cpu tensor map", buffer, cpu), buffer.native
    enqueue_map: Any = cl.enqueue_map_buffer

    def by_hand() -> None:
        array = enqueue_map(queue, mem, cl.map_flags.READ, 0, shape, np.uint8)[0]
        array.base.release(queue)
        queue.finish()

    return Ways(
        ours=lambda: go(buffer).close(),
        by_hand=by_hand,
        copying=lambda: cl.enqueue_copy(queue, there, mem).wait(),
    )


def usm_to_cpu(width: int, height: int) -> Ways:
    """USM that the CPU reads in place."""
    context, cpu, shape = _context(), sb.context("cpu"), (height, width, 3)
    usm, queue = context.allocate(shape, kind="usm_host"), _queue(context)
    go, nbytes = along("opencl -> cpu tensor alias", usm, cpu), width * height * 3

    def by_hand() -> object:
        queue.finish()
        address = usm.native.pointer
        memory: Any = (c_uint8 * nbytes).from_address(address)  # numpy's stubs know no ctypes
        return np.frombuffer(memory, np.uint8)

    return Ways(ours=lambda: go(usm).close(), by_hand=by_hand)


def device_usm_to_cpu(width: int, height: int) -> Ways:
    """Device USM to the CPU; pyopencl has no call for it."""
    usm, cpu = _context().allocate((height, width, 3), kind="usm_device"), sb.context("cpu")
    go = along("opencl -> cpu tensor copy", usm, cpu)
    return Ways(ours=lambda: go(usm))


def array_first(width: int, height: int) -> Ways:
    """Memory that OpenCL has not seen."""
    context, cpu, shape = _context(), sb.context("cpu"), (height, width, 3)
    theirs = context.native

    def fresh() -> Any:
        return cpu.allocate(shape)

    go = along("cpu -> opencl tensor alias", fresh(), context)
    return Ways(ours=go, by_hand=lambda t: cl.Buffer(theirs, _OVER, hostbuf=t.native), fresh=fresh)


def array_again(width: int, height: int) -> Ways:
    """The same memory again; the previous buffer is gone."""
    context, tensor = _context(), sb.context("cpu").allocate((height, width, 3))
    theirs, array = context.native, tensor.native
    go = along("cpu -> opencl tensor alias", tensor, context)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: cl.Buffer(theirs, _OVER, hostbuf=array))


def array_copied(width: int, height: int) -> Ways:
    """A copy into memory of the device."""
    context, array = _context(), np.ones((height, width, 3), np.uint8)
    tensor, theirs, queue = sb.tensor(array), context.native, _queue(context)
    go = along("cpu -> opencl tensor copy", tensor, context)

    def by_hand() -> object:
        made = cl.Buffer(theirs, cl.mem_flags.READ_WRITE, array.nbytes)
        cl.enqueue_copy(queue, made, array)
        queue.finish()
        return made

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def _remote_mem(native: Any) -> int:
    return int(native.get_params()["MEM_HANDLE"].astype(str), 16)


def remote_to_opencl(width: int, height: int) -> Ways:
    """The cl_mem of OpenVINO's tensor."""
    gpu: Any = sb.context("openvino:GPU")
    tensor, target = gpu.allocate((1, height, width, 3)), gpu.derive("opencl")
    go = along("openvino:GPU -> opencl tensor alias", tensor, target)
    return Ways(
        ours=lambda: go(tensor),
        by_hand=lambda: cl.Buffer.from_int_ptr(_remote_mem(tensor.native)),
    )


def remote_frame_to_opencl(width: int, height: int) -> Ways:
    """The cl_mem of both planes."""
    gpu: Any = sb.context("openvino:GPU")
    frame, target = gpu.allocate_frame("NV12", width, height), gpu.derive("opencl")
    go = along("openvino:GPU -> opencl frame alias", frame, target)
    return Ways(
        ours=lambda: list(go(frame)),
        by_hand=lambda: [cl.Buffer.from_int_ptr(_remote_mem(native)) for native in frame.native],
    )


def umat_to_opencl(width: int, height: int) -> Ways:
    """The cl_mem of OpenCV's UMat."""
    context: Any = sb.context("opencv_umat")
    umat, target = context.allocate((height, width, 3)), context.derive("opencl")
    go = along("opencv_umat -> opencl tensor alias", umat, target)
    read_write = 1 << 24 | 1 << 25  # opencv2/core/mat.hpp: ACCESS_RW

    def by_hand() -> object:
        return cl.Buffer.from_int_ptr(umat.native.handle(read_write))

    return Ways(ours=lambda: go(umat), by_hand=by_hand)


def dma_first(width: int, height: int) -> Ways:
    """A buffer that OpenCL has not seen. pyopencl has no call for it."""
    context, dma, shape = _context(), sb.context("dma"), (height, width, 3)

    def fresh() -> Any:
        return dma.allocate(shape)

    return Ways(ours=along("dma -> opencl tensor import", fresh(), context), fresh=fresh)


def dma_again(width: int, height: int) -> Ways:
    """The same buffer, imported once, while a mapping of it is held."""
    context, tensor = _context(), sb.context("dma").allocate((height, width, 3))
    go = along("dma -> opencl tensor import", tensor, context)
    held = go(tensor)
    return Ways(ours=lambda: (go(tensor), held)[0])


def to_dma(width: int, height: int) -> Ways:
    """A buffer exported to "dma", on drivers that report a descriptor for it."""
    buffer, dma = _context().allocate((height, width, 3)), sb.context("dma")
    go = along("opencl -> dma tensor import", buffer, dma)
    return Ways(ours=lambda: go(buffer))
