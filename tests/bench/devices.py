# SPDX-License-Identifier: Apache-2.0
"""Edges between devices: the first time, and with the same memory again.

`python3 dev.py bench devices` measures on the software devices, whose times are not those of
hardware; `python3 -m tests.bench.devices` on the devices that the machine has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import pyopencl
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo

from .measure import Row, compare, plain, print_rows

__all__ = ["device_rows"]

_POOL = 16
_SIZE = (320, 240)
_REMEMBERED = 10.0  # microseconds


def device_rows() -> list[Row]:
    """Into OpenVINO's remote tensors, and between OpenCL and the CPU."""
    gpu = sb.context("openvino:GPU")
    return [*_surfaces(), *_opencl_to_gpu(gpu), *_arrays_to_gpu(gpu), *_mapped()]


def _surfaces() -> list[Row]:
    vaapi = sb.context("vaapi")
    target: Any = vaapi.derive("openvino:GPU")
    pool = [vaapi.allocate_frame("NV12", *_SIZE) for _ in range(_POOL)]

    width, height = _SIZE
    shapes = (ov.Shape([1, height, width, 1]), ov.Shape([1, height // 2, width // 2, 2]))
    numbers = [frame.planes[0].handle("va_surface") for frame in pool]

    def by_hand() -> object:
        made = []
        for number in numbers:
            for plane, shape in enumerate(shapes):
                what = {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": number,
                        "VA_PLANE": plane}  # fmt: skip
                made.append(target.native.create_tensor(ov.Type.u8, shape, what))
        return made

    def mapped() -> object:
        return [list(frame.map(target)) for frame in pool]

    title = f"vaapi -> openvino:GPU, pool of {_POOL}, NV12"
    return [
        _each(compare(f"{title}, against create_tensor", by_hand, mapped), _POOL),
        _each(plain(title, mapped, _POOL * _REMEMBERED), _POOL),
    ]


def _each(row: Row, count: int) -> Row:
    native = None if row.native is None else row.native / count
    target = row.target if row.ratio is not None or row.target is None else row.target / count
    return Row(row.name, native, row.ours / count, row.ratio, target, row.unit)


def _opencl_to_gpu(gpu: Any) -> list[Row]:
    cl = gpu.derive("opencl")
    buffer = cl.allocate((1, 240, 320, 3))
    usm = cl.allocate((1, 240, 320, 3), kind="usm_host")
    shape, mem = ov.Shape([1, 240, 320, 3]), hex(buffer.handle("cl_mem"))
    properties = {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": mem}

    def by_hand() -> object:
        return gpu.native.create_tensor(ov.Type.u8, shape, properties)

    rows = [compare("opencl -> openvino:GPU, against create_tensor", by_hand,
                    lambda: buffer.map(gpu))]  # fmt: skip
    rows.append(
        plain("opencl -> openvino:GPU, a buffer again", lambda: buffer.map(gpu), _REMEMBERED)
    )
    rows.append(plain("opencl -> openvino:GPU, USM again", lambda: usm.map(gpu), _REMEMBERED))
    return rows


def _arrays_to_gpu(gpu: Any) -> list[Row]:
    tensor = sb.context("cpu").allocate((1, 240, 320, 3))
    array = tensor.native
    return [
        plain("cpu -> openvino:GPU, again", lambda: tensor.map(gpu), _REMEMBERED),
        plain("cpu -> openvino:GPU, tensor() of the same array", lambda: sb.tensor(array).map(gpu)),
        _bound(gpu),
    ]


def _bound(gpu: Any) -> Row:
    """A remote tensor as an input of a request."""
    x = ops.parameter([1, 64], np.float32, name="x")
    x.output(0).set_names({"x"})
    compiled = sbo.compile_model(ov.Model([ops.result(ops.relu(x))], [x]), gpu)
    request = sbo.InferRequest(compiled)
    remote = sb.context("cpu").allocate((1, 64), "float32").map(gpu)
    return plain("set_tensor() of a remote tensor", lambda: request.set_tensor("x", remote), 5)


def _mapped() -> list[Row]:
    cl = sb.context("opencl")
    buffer = cl.allocate((240, 320, 3))
    mem, queue = (
        buffer.native,
        pyopencl.CommandQueue(pyopencl.Context.from_int_ptr(cl.handle("cl_context"))),
    )

    by_pyopencl: Any = pyopencl.enqueue_map_buffer

    def by_hand() -> None:
        array: Any = by_pyopencl(queue, mem, pyopencl.map_flags.READ, 0, (240, 320, 3), np.uint8)[0]
        array.base.release(queue)
        queue.finish()

    return [compare("opencl -> cpu, map and close, against pyopencl", by_hand,
                    lambda: buffer.map("cpu").close(), 1.5)]  # fmt: skip


if __name__ == "__main__":
    print_rows("Devices", device_rows())
