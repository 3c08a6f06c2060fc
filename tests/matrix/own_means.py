# SPDX-License-Identifier: Apache-2.0
"""The means by which each framework reads and writes its own objects, without samebytes.

`MEANS[node]` is for the tensors of a node. Of a tensor only `native` is used, and where natives do
not know it (a cl_mem), the layout and the cl_context that samebytes says.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import cv2
import dpctl.memory
import numpy as np
import openvino
import pyopencl as cl
from cuda.bindings import driver as cuda

from samebytes import Tensor, TensorInfo

from . import gstreamer_means, opencl_means, va_means
from .places import Place, file_of

__all__ = ["MEANS", "Array", "Means"]

Array = np.ndarray[Any, Any]
_CV_ACCESS_READ = 1 << 24  # cv::ACCESS_READ, opencv2/core/mat.hpp
_UMat: Any = cv2.UMat  # its stubs refuse arrays


class Means:
    """The means of one framework to access its natives. Host memory: by an array in place."""

    def array(self, part: Tensor) -> Array:
        """The elements in place."""
        raise NotImplementedError

    def read(self, part: Tensor) -> Array:
        """A copy of the elements."""
        return self.array(part).reshape(part.info.shape).copy()

    def write(self, part: Tensor, values: Array) -> None:
        """Set the elements."""
        array = self.array(part)
        array[...] = values.reshape(array.shape)

    def place(self, part: Tensor) -> Place:
        """The place of the first element."""
        return {"address": _address(self.array(part))}


class Arrays(Means):
    """numpy's."""

    def array(self, part: Tensor) -> Array:
        return np.asarray(part.native)


class VideoPlanes(Means):
    """Planes of PyAV's frames."""

    def array(self, part: Tensor) -> Array:
        pitch = part.native.line_size
        return _strided(part.native, part.info, (pitch, *(part.info.strides or ())[1:]))


class HostTensors(Means):
    """The means of openvino.Tensor."""

    def array(self, part: Tensor) -> Array:
        data: Array = part.native.data
        return data


class DMABufs(Means):
    """Descriptors, which mmap maps."""

    def array(self, part: Tensor) -> Array:
        buffer = part.native.buffer
        pages = mmap.mmap(buffer.fileno(), buffer.size)
        return _strided(pages, part.info, part.info.strides, part.native.offset)

    def place(self, part: Tensor) -> Place:
        return {"file": file_of(part.native.buffer.fileno(), part.native.offset)}


class OpenCLMemory(Means):
    """Buffers, images and SVM of pyopencl's, and USM."""

    def read(self, part: Tensor) -> Array:
        if isinstance(part.native, cl.Image):
            return opencl_means.read_image(part)
        return _strided(opencl_means.read_bytes(part), part.info, part.info.strides).copy()

    def write(self, part: Tensor, values: Array) -> None:
        if isinstance(part.native, cl.Image):
            opencl_means.write_image(part, values)
            return
        whole = opencl_means.read_bytes(part)
        _strided(whole, part.info, part.info.strides)[...] = values
        opencl_means.write_bytes(part, whole)

    def place(self, part: Tensor) -> Place:
        return opencl_means.place(part)


class UMats(Means):
    """The means of cv2.UMat."""

    def read(self, part: Tensor) -> Array:
        found: Array = part.native.get()
        return found.reshape(part.info.shape)

    def write(self, part: Tensor, values: Array) -> None:
        native: Any = part.native
        copy: Any = cv2.copyTo  # its stubs want a mask
        result = copy(_UMat(values), None, native)
        assert result.handle(_CV_ACCESS_READ) == native.handle(_CV_ACCESS_READ)
        cv2.ocl.finish()

    def place(self, part: Tensor) -> Place:
        native: Any = part.native
        return {"cl_mem": (native.handle(_CV_ACCESS_READ), native.offset)}


class USMPointers(Means):
    """Level Zero's: addresses, which ctypes follows."""

    def array(self, part: Tensor) -> Array:
        _, nbytes = part.info.extent
        memory = (ctypes.c_uint8 * nbytes).from_address(part.native.address)
        return _strided(memory, part.info, part.info.strides)


class Surfaces(Means):
    """Planes of VA-API's surfaces, FFmpeg's among them."""

    def array(self, part: Tensor) -> Array:
        return va_means.array_of(part)

    def place(self, part: Tensor) -> Place:
        return va_means.place_of(part)


class DRMFrames(Means):
    """Planes of FFmpeg's AV_PIX_FMT_DRM_PRIME, which mmap maps."""

    def array(self, part: Tensor) -> Array:
        fd, info = part.handle("dma_fd"), part.info
        pages = mmap.mmap(fd, os.lseek(fd, 0, os.SEEK_END))
        inner = np.zeros(info.shape[1:], info.dtype.carrier).strides
        return _strided(pages, info, (part.handle("pitch"), *inner), part.handle("offset"))

    def place(self, part: Tensor) -> Place:
        return {"file": file_of(part.handle("dma_fd"), part.handle("offset"))}


class GstMemories(Means):
    """The means of Gst.Memory, which GStreamer maps."""

    def array(self, part: Tensor) -> Array:
        return gstreamer_means.array_of(part)

    def place(self, part: Tensor) -> Place:
        return gstreamer_means.place_of(part)


class SYCLMemory(Means):
    """USM of dpctl's, copied by its queue."""

    def read(self, part: Tensor) -> Array:
        return _strided(self._bytes(part), part.info, part.info.strides).copy()

    def write(self, part: Tensor, values: Array) -> None:
        whole = self._bytes(part).copy()
        _strided(whole, part.info, part.info.strides)[...] = values
        self._memory(part).copy_from_host(whole)

    def place(self, part: Tensor) -> Place:
        return {"address": part.native.__sycl_usm_array_interface__["data"][0]}

    def _memory(self, part: Tensor) -> Any:
        return dpctl.memory.as_usm_memory(part.native)

    def _bytes(self, part: Tensor) -> Array:
        return np.frombuffer(self._memory(part).copy_to_host(), np.uint8)


class CudaMemory(Means):
    """Copies by cuda-bindings."""

    def read(self, part: Tensor) -> Array:
        return _strided(self._bytes(part), part.info, part.info.strides).copy()

    def write(self, part: Tensor, values: Array) -> None:
        whole = self._bytes(part)
        _strided(whole, part.info, part.info.strides)[...] = values
        self._copy(part, self._pointer(part), whole.ctypes.data, whole.nbytes)

    def place(self, part: Tensor) -> Place:
        return {"address": self._pointer(part)}

    def _pointer(self, part: Tensor) -> int:
        return int(part.native.__cuda_array_interface__["data"][0])

    def _bytes(self, part: Tensor) -> Array:
        data = np.empty(part.info.extent[1], np.uint8)
        self._copy(part, data.ctypes.data, self._pointer(part), data.nbytes)
        return data

    def _copy(self, part: Tensor, to: int, source: int, nbytes: int) -> None:
        for answer in (
            cuda.cuCtxPushCurrent(cuda.CUcontext(part.context.handle("cuda_context"))),
            cuda.cuCtxSynchronize(),
            cuda.cuMemcpy(to, source, nbytes),
            cuda.cuCtxSynchronize(),
            cuda.cuCtxPopCurrent(),
        ):
            assert int(answer[0]) == 0, answer


class RemoteTensors(Means):
    """The means of openvino.RemoteTensor, and of openvino.Tensors in the NPU plugin's memory."""

    def read(self, part: Tensor) -> Array:
        native: Any = part.native
        if not isinstance(native, openvino.RemoteTensor):
            return np.array(native.data)
        values = np.empty(part.info.shape, part.info.dtype.carrier)
        native.copy_to(openvino.Tensor(values, shared_memory=True))
        return values

    def write(self, part: Tensor, values: Array) -> None:
        new = np.ascontiguousarray(values.reshape(part.info.shape))
        if isinstance(part.native, openvino.RemoteTensor):
            part.native.copy_from(openvino.Tensor(new, shared_memory=True))
        else:
            part.native.data[...] = new

    def place(self, part: Tensor) -> Place:
        native: Any = part.native
        if not isinstance(native, openvino.RemoteTensor):
            return {"address": _address(native.data)}
        reported = {key: str(value.astype(str)) for key, value in native.get_params().items()}
        kind, handle = reported.get("SHARED_MEM_TYPE"), int(reported["MEM_HANDLE"], 16)
        if kind == "CPU_VA":
            return {"address": int(reported["CPU_VA"], 16)}
        if kind is None or kind.startswith("USM"):  # Level Zero's memory, or USM of OpenCL's
            return {"address": handle}
        return opencl_means.place_of_mem(part, handle)


def _strided(memory: Any, info: TensorInfo, strides: Any, offset: int = 0) -> Array:
    return np.ndarray(info.shape, info.dtype.carrier, memory, offset, strides)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


MEANS: dict[str, Means] = {
    "cpu": Arrays(),
    "dma": DMABufs(),
    "ffmpeg": VideoPlanes(),
    "ffmpeg:DRM": DRMFrames(),
    "ffmpeg:VAAPI": Surfaces(),
    "gstreamer": GstMemories(),
    "level_zero": USMPointers(),
    "opencl": OpenCLMemory(),
    "opencv": Arrays(),
    "opencv_umat": UMats(),
    "openvino": HostTensors(),
    "openvino:GPU": RemoteTensors(),
    "openvino:NPU": RemoteTensors(),
    "sycl": SYCLMemory(),
    "cuda": CudaMemory(),
    "vaapi": Surfaces(),
}
