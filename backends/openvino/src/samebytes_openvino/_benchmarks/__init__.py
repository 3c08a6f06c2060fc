# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `samebytes bench` for OpenVINO: host memory, and memory of GPU and NPU."""

from __future__ import annotations

from functools import partial

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_HOST = "samebytes_openvino._benchmarks.host"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320))

_GPU = "samebytes_openvino._benchmarks.gpu"
_AGAIN_US = 10.0
_row = partial(Benchmark, sizes=((640, 360),))

_GPU_ROWS = [
    _row(
        name="vaapi -> openvino:GPU, first time",
        what="A new surface becomes two remote tensors",
        make=f"{_GPU}:surface_first",
        edges=("vaapi -> openvino:GPU frame import",),
        requires=("vaapi",),
        beside="create_tensor() with VA_SURFACE twice",
    ),
    _row(
        name="vaapi -> openvino:GPU, again",
        what="A surface of a pool of 16 becomes two remote tensors, from the second round on,",
        make=f"{_GPU}:surface_again",
        edges=("vaapi -> openvino:GPU frame import",),
        requires=("vaapi",),
        beside="create_tensor() with VA_SURFACE twice",
        goal_us=_AGAIN_US,
    ),
    _row(
        name="opencl -> openvino:GPU, first time",
        what="A new OpenCL buffer becomes a remote tensor",
        make=f"{_GPU}:buffer_first",
        edges=("opencl -> openvino:GPU tensor alias",),
        requires=("opencl",),
        beside="create_tensor() with OCL_BUFFER",
    ),
    _row(
        name="opencl -> openvino:GPU, again",
        what="An OpenCL buffer becomes a remote tensor once more",
        make=f"{_GPU}:buffer_again",
        edges=("opencl -> openvino:GPU tensor alias",),
        requires=("opencl",),
        beside="create_tensor() with OCL_BUFFER",
        goal_us=_AGAIN_US,
    ),
    _row(
        name="opencl -> openvino:GPU, USM again",
        what="USM of OpenCL becomes a remote tensor once more",
        make=f"{_GPU}:usm_again",
        edges=("opencl -> openvino:GPU tensor alias",),
        requires=("opencl",),
        beside="create_tensor() with USM_USER_BUFFER",
        goal_us=_AGAIN_US,
    ),
    _row(
        name="opencl -> openvino:GPU, NV12 again",
        what="The OpenCL buffers of both planes become remote tensors once more",
        make=f"{_GPU}:frame_again",
        edges=("opencl -> openvino:GPU frame alias",),
        requires=("opencl",),
        beside="create_tensor() with OCL_BUFFER twice",
    ),
    _row(
        name="cpu -> openvino:GPU, first time",
        what="Memory of the CPU becomes a remote tensor",
        make=f"{_GPU}:array_first",
        edges=("cpu -> openvino:GPU tensor alias",),
        beside="create_tensor() with CPU_VA",
    ),
    _row(
        name="cpu -> openvino:GPU, again",
        what="The same memory of the CPU becomes a remote tensor once more",
        make=f"{_GPU}:array_again",
        edges=("cpu -> openvino:GPU tensor alias",),
        beside="create_tensor() with CPU_VA",
        goal_us=_AGAIN_US,
    ),
    _row(
        name="cpu -> openvino:GPU, NV12 again",
        what="Both planes in memory of the CPU become remote tensors once more",
        make=f"{_GPU}:cpu_frame_again",
        edges=("cpu -> openvino:GPU frame alias",),
        beside="create_tensor() with CPU_VA twice",
    ),
    _row(
        name="cpu -> openvino:GPU, copied",
        what="An array is copied into a new remote tensor, because copy=True asks for it,",
        make=f"{_GPU}:array_copied",
        edges=("cpu -> openvino:GPU tensor copy",),
        beside="create_tensor() and copy_from()",
    ),
    _row(
        name="cpu -> openvino:GPU, NV12, copied",
        what="Both planes are copied into new remote tensors, because copy=True asks for it,",
        make=f"{_GPU}:frame_copied",
        edges=("cpu -> openvino:GPU frame copy",),
        beside="create_tensor() and copy_from() twice",
    ),
    _row(
        name="openvino:GPU -> cpu, in place",
        what="A remote tensor in host USM becomes an array",
        make=f"{_GPU}:to_cpu",
        edges=("openvino:GPU -> cpu tensor alias",),
        alone="OpenVINO copies remote tensors to the CPU, and maps none",
    ),
    _row(
        name="openvino:GPU -> cpu, NV12, in place",
        what="The remote tensors of both planes become arrays",
        make=f"{_GPU}:frame_to_cpu",
        edges=("openvino:GPU -> cpu frame alias",),
        alone="OpenVINO copies remote tensors to the CPU, and maps none",
    ),
    _row(
        name="openvino:GPU -> cpu, copied",
        what="A remote tensor is copied to the CPU, because copy=True asks for it,",
        make=f"{_GPU}:copied_to_cpu",
        edges=("openvino:GPU -> cpu tensor copy",),
        beside="copy_to() of a new openvino.Tensor",
    ),
    _row(
        name="openvino:GPU -> cpu, NV12, copied",
        what="Both planes are copied to the CPU, because copy=True asks for it,",
        make=f"{_GPU}:frame_copied_to_cpu",
        edges=("openvino:GPU -> cpu frame copy",),
        beside="copy_to() of new openvino.Tensors",
    ),
    _row(
        name="set_tensor() of a remote tensor",
        what="A remote tensor becomes the input of a request",
        make=f"{_GPU}:bound",
        beside="request.set_tensor(name, tensor)",
        goal_us=5,
    ),
]


_NPU = "samebytes_openvino._benchmarks.npu"
_FD = "create_tensor() with SHARED_BUF"
_PAGES = "create_tensor() with CPU_VA"
_ADDRESS = "get_params() and numpy"

_NPU_ROWS = [
    _row(
        name="dma -> openvino:NPU, first time",
        what="A new DMA-BUF becomes a tensor of the NPU",
        make=f"{_NPU}:dma_first",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        beside=_FD,
    ),
    _row(
        name="dma -> openvino:NPU, again",
        what="A DMA-BUF becomes a tensor of the NPU once more",
        make=f"{_NPU}:dma_again",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        beside=_FD,
    ),
    _row(
        name="dma -> openvino:NPU, NV12",
        what="Both planes in a DMA-BUF become tensors of the NPU once more",
        make=f"{_NPU}:dma_frame",
        edges=("dma -> openvino:NPU frame import",),
        requires=("dma",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="level_zero -> openvino:NPU, first time",
        what="New USM of Level Zero becomes a tensor of the NPU",
        make=f"{_NPU}:usm_first",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        beside=f"{_FD}, of the memory's descriptor",
    ),
    _row(
        name="level_zero -> openvino:NPU, again",
        what="USM of Level Zero becomes a tensor of the NPU once more",
        make=f"{_NPU}:usm_again",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        beside=f"{_FD}, of the memory's descriptor",
    ),
    _row(
        name="level_zero -> openvino:NPU, NV12",
        what="Both planes in USM become tensors of the NPU once more",
        make=f"{_NPU}:usm_frame",
        edges=("level_zero -> openvino:NPU frame import",),
        requires=("level_zero",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="cpu -> openvino:NPU, first time",
        what="New pages of the CPU become a tensor of the NPU",
        make=f"{_NPU}:pages_first",
        edges=("cpu -> openvino:NPU tensor alias",),
        beside=_PAGES,
    ),
    _row(
        name="cpu -> openvino:NPU, again",
        what="Pages of the CPU become a tensor of the NPU once more",
        make=f"{_NPU}:pages_again",
        edges=("cpu -> openvino:NPU tensor alias",),
        beside=_PAGES,
    ),
    _row(
        name="cpu -> openvino:NPU, NV12",
        what="Both planes in pages of the CPU become tensors of the NPU once more",
        make=f"{_NPU}:pages_frame",
        edges=("cpu -> openvino:NPU frame alias",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="cpu -> openvino:NPU, copied",
        what="An array is copied into a new tensor of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:copied",
        edges=("cpu -> openvino:NPU tensor copy",),
        beside="create_tensor() and copy_from()",
    ),
    _row(
        name="cpu -> openvino:NPU, NV12, copied",
        what="Both planes are copied into tensors of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:frame_copied",
        edges=("cpu -> openvino:NPU frame copy",),
        beside="create_tensor() and copy_from() twice",
    ),
    _row(
        name="openvino:NPU -> cpu",
        what="A tensor of the NPU becomes an array",
        make=f"{_NPU}:to_cpu",
        edges=("openvino:NPU -> cpu tensor alias",),
        beside=_ADDRESS,
    ),
    _row(
        name="openvino:NPU -> cpu, NV12",
        what="Both planes in tensors of the NPU become arrays",
        make=f"{_NPU}:frame_to_cpu",
        edges=("openvino:NPU -> cpu frame alias",),
        beside="numpy at addresses that are known",
    ),
    _row(
        name="openvino:NPU -> cpu, copied",
        what="A tensor of the NPU is copied to the CPU, because copy=True asks for it,",
        make=f"{_NPU}:copied_to_cpu",
        edges=("openvino:NPU -> cpu tensor copy",),
        beside="copy_to() of a new openvino.Tensor",
    ),
    _row(
        name="openvino:NPU -> level_zero",
        what="A tensor of the NPU becomes USM of Level Zero",
        make=f"{_NPU}:to_level_zero",
        edges=("openvino:NPU -> level_zero tensor alias",),
        requires=("level_zero",),
        beside='get_params()["MEM_HANDLE"]',
    ),
    _row(
        name="openvino:NPU -> level_zero, NV12",
        what="Both planes in tensors of the NPU become USM of Level Zero",
        make=f"{_NPU}:frame_to_level_zero",
        edges=("openvino:NPU -> level_zero frame alias",),
        requires=("level_zero",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
]


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
    *_GPU_ROWS,
    *_NPU_ROWS,
]
