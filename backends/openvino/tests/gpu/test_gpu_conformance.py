# SPDX-License-Identifier: Apache-2.0
"""GPU memory that the CPU reads, in the suites that every edge inherits."""

from __future__ import annotations

import mmap
import re
from typing import Any, ClassVar

import numpy as np
import openvino
import pytest

from samebytes import Context, Tensor, TensorInfo
from samebytes.testing import ArrayMemory, MapperSuite, Memory
from samebytes_openvino.intel_gpu import ClContext

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("core")
# Whole pages, since the suites place arrays at the end of pages, and CPU_VA needs whole lines.
CASES = (
    TensorInfo("uint8", (1, 64, 64, 1)),
    TensorInfo("float32", (1, 3, 32, 32)),
    TensorInfo("float16", (2, 2048)),
)


class Bytes:
    """Memory at an address, and the native object that owns it."""

    def __init__(self, native: Any, address: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.native = native
        self.__array_interface__ = {
            "shape": shape, "typestr": np.dtype(dtype).str, "data": (address, False), "version": 3,
        }  # fmt: skip


class AlignedArrays(ArrayMemory):
    """Arrays that begin with a cache line."""

    def make(self, info: TensorInfo) -> Array:
        pages = np.frombuffer(mmap.mmap(-1, max(info.extent[1], mmap.PAGESIZE)), np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, pages, 0, info.strides)


class HostGpuMemory(Memory):
    """USM of the host, and memory of the CPU that was given to the GPU plugin."""

    memory_type = "openvino"
    readonly_enforced = False
    allocates = False
    _dtypes: ClassVar[dict[str, str]] = {"u8": "uint8", "f32": "float32", "f16": "float16"}

    def context(self) -> Context:
        return ClContext.default()

    def make(self, info: TensorInfo) -> Any:
        element = next(k for k, v in self._dtypes.items() if v == str(info.dtype))
        return ClContext.default().native.create_tensor(
            getattr(openvino.Type, element),
            openvino.Shape(info.shape),
            {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"},
        )

    def tensor(self, native: Any) -> Tensor:
        return ClContext.default().wrap_tensor(native)

    def view(self, native: Any) -> Array:
        params = {key: value.astype(str) for key, value in native.get_params().items()}
        key = "CPU_VA" if params["SHARED_MEM_TYPE"] == "CPU_VA" else "MEM_HANDLE"
        element = re.findall(r"type: (\w+)", repr(native))[0]
        shape = tuple(native.get_shape())
        return np.asarray(Bytes(native, int(params[key], 16), shape, self._dtypes[element]))


GPU = HostGpuMemory()


class TestCpuToGpu(MapperSuite):
    source = AlignedArrays()
    target = GPU
    cases = CASES
    refused = (
        (TensorInfo("uint8", (20, 32), (64, 1)), "would give wrong numbers"),
        (TensorInfo("complex64", (8, 8)), "no element type for complex64"),
    )


class TestGpuToCpu(MapperSuite):
    source = GPU
    target = ArrayMemory()
    cases = CASES
