# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `samebytes bench` for OpenVINO: host memory, and memory of GPU and NPU."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

from ._device_rows import GPU_ROWS, NPU_ROWS

__all__ = ["BENCHMARKS"]

_HOST = "samebytes_openvino._benchmarks.host"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320))

BENCHMARKS = [
    Benchmark(
        name="cpu -> openvino",
        what="A CPU tensor becomes an OpenVINO tensor",
        make=f"{_HOST}:to_openvino",
        edges=("cpu -> openvino tensor alias",),
        sizes=_SIZES,
        beside="openvino.Tensor(array, shared_memory=True)",
        goal=1.3,
    ),
    Benchmark(
        name='tensor(array) and map("openvino")',
        what="An array becomes an OpenVINO tensor",
        make=f"{_HOST}:array_to_openvino",
        sizes=_SIZES[:3],
        beside="openvino.Tensor(array, shared_memory=True)",
        goal=1.5,
    ),
    Benchmark(
        name="cpu -> openvino, NV12",
        what="Both planes of a frame of arrays become OpenVINO tensors",
        make=f"{_HOST}:frame_to_openvino",
        edges=("cpu -> openvino frame alias",),
        beside="openvino.Tensor(plane, shared_memory=True) twice",
    ),
    Benchmark(
        name="openvino -> cpu, float32",
        what="An OpenVINO tensor of float32 becomes an array",
        make=f"{_HOST}:float_to_cpu",
        edges=("openvino -> cpu tensor alias",),
        beside="tensor.data",
        goal=2,
    ),
    Benchmark(
        name="openvino -> cpu, uint8",
        what="An OpenVINO tensor of uint8 becomes an array",
        make=f"{_HOST}:bytes_to_cpu",
        edges=("openvino -> cpu tensor alias",),
        beside="tensor.data",
        goal=2,
    ),
    Benchmark(
        name="openvino -> cpu, NV12",
        what="The OpenVINO tensors of both planes become arrays",
        make=f"{_HOST}:frame_to_cpu",
        edges=("openvino -> cpu frame alias",),
        beside="tensor.data twice",
    ),
    Benchmark(
        name="set_tensor(), by name",
        what="An OpenVINO tensor becomes the input of a request",
        make=f"{_HOST}:by_name",
        beside="request.set_tensor(name, tensor)",
        goal=1.2,
    ),
    Benchmark(
        name="set_input_tensor(), by index",
        what="An OpenVINO tensor becomes the input of a request, by its index,",
        make=f"{_HOST}:by_index",
        beside="request.set_input_tensor(0, tensor)",
        goal=1.2,
    ),
    Benchmark(
        name="set_tensor() of a CPU tensor",
        what="A CPU tensor becomes the input of a request",
        make=f"{_HOST}:of_cpu_tensor",
        beside="request.set_tensor(name, openvino.Tensor(array, shared_memory=True))",
        goal=1.2,
    ),
    Benchmark(
        name="set_tensor() of an array",
        what="An array becomes the input of a request",
        make=f"{_HOST}:of_array",
        beside="request.set_tensor(name, openvino.Tensor(array, shared_memory=True))",
    ),
    *GPU_ROWS,
    *NPU_ROWS,
]
