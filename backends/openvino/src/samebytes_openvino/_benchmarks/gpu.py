# SPDX-License-Identifier: Apache-2.0
"""Remote tensors of the GPU, beside the properties that OpenVINO takes for them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo
from samebytes.benchmarks import Ways, along
from samebytes.plugins import data_address

__all__ = [
    "array_again", "array_copied", "array_first", "bound", "buffer_again", "buffer_first",
    "copied_to_cpu", "cpu_frame_again", "frame_again", "frame_copied", "frame_copied_to_cpu",
    "frame_to_cpu", "surface_again", "surface_first", "to_cpu", "usm_again",
]  # fmt: skip

_POOL = 16


def _gpu() -> Any:
    return sb.context("openvino:GPU")


def _picture(width: int, height: int) -> tuple[int, int, int, int]:
    return (1, height, width, 3)


def _plane_shapes(width: int, height: int) -> tuple[ov.Shape, ov.Shape]:
    return ov.Shape([1, height, width, 1]), ov.Shape([1, height // 2, width // 2, 2])


def _surface_by_hand(target: Any, number: int, shapes: tuple[ov.Shape, ov.Shape]) -> object:
    return [
        target.native.create_tensor(
            ov.Type.u8, shape,
            {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": number, "VA_PLANE": plane},
        )
        for plane, shape in enumerate(shapes)
    ]  # fmt: skip


def surface_first(width: int, height: int) -> Ways:
    """A surface that OpenVINO has not seen."""
    vaapi = sb.context("vaapi")
    target, shapes = vaapi.derive("openvino:GPU"), _plane_shapes(width, height)

    def fresh() -> sb.Frame:
        return vaapi.allocate_frame("NV12", width, height)

    go = along("vaapi -> openvino:GPU frame import", fresh(), target)
    return Ways(
        ours=lambda frame: list(go(frame)),
        by_hand=lambda f: _surface_by_hand(target, f.planes[0].handle("va_surface"), shapes),
        fresh=fresh,
    )


def surface_again(width: int, height: int) -> Ways:
    """A surface that comes round, as a decoder's do."""
    vaapi = sb.context("vaapi")
    target, shapes = vaapi.derive("openvino:GPU"), _plane_shapes(width, height)
    pool = [vaapi.allocate_frame("NV12", width, height) for _ in range(_POOL)]
    numbers = [frame.planes[0].handle("va_surface") for frame in pool]
    go = along("vaapi -> openvino:GPU frame import", pool[0], target)
    return Ways(
        ours=lambda: [list(go(frame)) for frame in pool],
        by_hand=lambda: [_surface_by_hand(target, number, shapes) for number in numbers],
        each=_POOL,
    )


def _tensor_by_hand(gpu: Any, shape: Any, kind: str, handle: int) -> Any:
    properties = {"SHARED_MEM_TYPE": kind, "MEM_HANDLE": hex(handle)}
    return gpu.native.create_tensor(ov.Type.u8, ov.Shape(list(shape)), properties)


def _over_pages(gpu: Any, shape: Any, address: int) -> Any:
    nbytes = -(-prod(shape) // 64) * 64
    properties = {
        "SHARED_MEM_TYPE": "CPU_VA",
        "CPU_VA": hex(address),
        "CPU_VA_SIZE": nbytes,
        "CPU_VA_ACCESS": "READ_WRITE",
    }
    return gpu.native.create_tensor(ov.Type.u8, ov.Shape(list(shape)), properties)


def buffer_first(width: int, height: int) -> Ways:
    """A buffer that OpenVINO has not seen."""
    gpu, shape = _gpu(), _picture(width, height)
    cl = gpu.derive("opencl")

    def fresh() -> Any:
        return cl.allocate(shape)

    go = along("opencl -> openvino:GPU tensor alias", fresh(), gpu)
    return Ways(
        ours=go,
        by_hand=lambda t: _tensor_by_hand(gpu, shape, "OCL_BUFFER", t.handle("cl_mem")),
        fresh=fresh,
    )


def buffer_again(width: int, height: int) -> Ways:
    """The same buffer."""
    gpu, shape = _gpu(), _picture(width, height)
    buffer = gpu.derive("opencl").allocate(shape)
    go = along("opencl -> openvino:GPU tensor alias", buffer, gpu)
    mem = buffer.handle("cl_mem")
    return Ways(
        ours=lambda: go(buffer), by_hand=lambda: _tensor_by_hand(gpu, shape, "OCL_BUFFER", mem)
    )


def usm_again(width: int, height: int) -> Ways:
    """The same pointer."""
    gpu, shape = _gpu(), _picture(width, height)
    usm = gpu.derive("opencl").allocate(shape, kind="usm_host")
    go = along("opencl -> openvino:GPU tensor alias", usm, gpu)
    pointer = usm.handle("usm_ptr")
    return Ways(
        ours=lambda: go(usm),
        by_hand=lambda: _tensor_by_hand(gpu, shape, "USM_USER_BUFFER", pointer),
    )


def frame_again(width: int, height: int) -> Ways:
    """The same buffers."""
    gpu, shapes = _gpu(), _plane_shapes(width, height)
    frame = gpu.derive("opencl").allocate_frame("NV12", width, height)
    go = along("opencl -> openvino:GPU frame alias", frame, gpu)
    places = [(shape, p.handle("cl_mem")) for shape, p in zip(shapes, frame.planes, strict=True)]
    return Ways(
        ours=lambda: list(go(frame)),
        by_hand=lambda: [_tensor_by_hand(gpu, shape, "OCL_BUFFER", mem) for shape, mem in places],
    )


def array_first(width: int, height: int) -> Ways:
    """Memory that OpenVINO has not seen."""
    gpu, cpu, shape = _gpu(), sb.context("cpu"), _picture(width, height)

    def fresh() -> Any:
        return cpu.allocate(shape)

    go = along("cpu -> openvino:GPU tensor alias", fresh(), gpu)
    return Ways(
        ours=go,
        by_hand=lambda tensor: _over_pages(gpu, shape, data_address(tensor.native)),
        fresh=fresh,
    )


def array_again(width: int, height: int) -> Ways:
    """The same memory."""
    gpu, shape = _gpu(), _picture(width, height)
    tensor = sb.context("cpu").allocate(shape)
    go, address = (
        along("cpu -> openvino:GPU tensor alias", tensor, gpu),
        data_address(tensor.native),
    )
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _over_pages(gpu, shape, address))


def _cpu_frame(width: int, height: int) -> tuple[sb.Frame, list[Any]]:
    """A frame on its own pages, and its planes as arrays."""
    frame = sb.context("cpu").allocate_frame("NV12", width, height)
    arrays = [plane.host_array() for plane in frame.planes]
    for array in arrays:
        array[...] = 1
    return frame, arrays


def cpu_frame_again(width: int, height: int) -> Ways:
    """The same memory."""
    gpu, shapes = _gpu(), _plane_shapes(width, height)
    frame, arrays = _cpu_frame(width, height)
    go = along("cpu -> openvino:GPU frame alias", frame, gpu)
    places = [(shape, data_address(a)) for shape, a in zip(shapes, arrays, strict=True)]
    return Ways(
        ours=lambda: list(go(frame)),
        by_hand=lambda: [_over_pages(gpu, shape, address) for shape, address in places],
    )


def _upload(gpu: Any, array: Any) -> object:
    made = gpu.native.create_tensor(ov.Type.u8, ov.Shape(list(array.shape)), {})
    made.copy_from(ov.Tensor(array, shared_memory=True))
    return made


def _download(native: Any) -> object:
    made = ov.Tensor(ov.Type.u8, native.get_shape())
    native.copy_to(made)
    return made


def array_copied(width: int, height: int) -> Ways:
    """A copy into memory of the GPU plugin."""
    gpu, array = _gpu(), np.ones(_picture(width, height), np.uint8)
    tensor = sb.tensor(array)
    go = along("cpu -> openvino:GPU tensor copy", tensor, gpu)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _upload(gpu, array))


def frame_copied(width: int, height: int) -> Ways:
    """Both planes."""
    gpu, shapes = _gpu(), _plane_shapes(width, height)
    frame, arrays = _cpu_frame(width, height)
    go = along("cpu -> openvino:GPU frame copy", frame, gpu)
    shaped = [a.reshape(list(shape)) for shape, a in zip(shapes, arrays, strict=True)]
    return Ways(
        ours=lambda: list(go(frame)), by_hand=lambda: [_upload(gpu, array) for array in shaped]
    )


def to_cpu(width: int, height: int) -> Ways:
    """A mapping to the CPU. OpenVINO has no call for it: `RemoteTensor.data` raises."""
    tensor = _gpu().create_usm_host_tensor("uint8", _picture(width, height))
    cpu = sb.context("cpu")
    go = along("openvino:GPU -> cpu tensor alias", tensor, cpu)
    return Ways(ours=lambda: go(tensor).close(), copying=lambda: _download(tensor.native))


def frame_to_cpu(width: int, height: int) -> Ways:
    """The same for a frame."""
    cpu, (frame, _) = sb.context("cpu"), _cpu_frame(width, height)
    there = frame.map(_gpu(), "rw")
    go = along("openvino:GPU -> cpu frame alias", there, cpu)
    natives: Any = there.native
    return Ways(
        ours=lambda: go(there).close(), copying=lambda: [_download(native) for native in natives]
    )


def copied_to_cpu(width: int, height: int) -> Ways:
    """A copy from the GPU plugin's memory."""
    tensor, cpu = _gpu().allocate(_picture(width, height)), sb.context("cpu")
    go = along("openvino:GPU -> cpu tensor copy", tensor, cpu)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _download(tensor.native))


def frame_copied_to_cpu(width: int, height: int) -> Ways:
    """Both planes."""
    frame, cpu = _gpu().allocate_frame("NV12", width, height), sb.context("cpu")
    go = along("openvino:GPU -> cpu frame copy", frame, cpu)
    natives: Any = frame.native
    return Ways(ours=lambda: go(frame), by_hand=lambda: [_download(native) for native in natives])


def bound(width: int, height: int) -> Ways:
    """A tensor that is set as an input of a request."""
    size = width * height
    gpu = _gpu()
    x = ops.parameter([1, size], np.float32, name="x")
    x.output(0).set_names({"x"})
    compiled = sbo.compile_model(ov.Model([ops.result(ops.relu(x))], [x]), gpu)
    request = sbo.InferRequest(compiled)
    theirs: Any = ov.CompiledModel.create_infer_request(compiled)
    remote = sb.context("cpu").allocate((1, size), "float32").map(gpu)
    set_by_hand: Callable[[str, Any], None] = theirs.set_tensor
    return Ways(
        ours=lambda: request.set_tensor("x", remote),
        by_hand=lambda: set_by_hand("x", remote.native),
    )
