# SPDX-License-Identifier: Apache-2.0
"""The context of OpenCV's OpenCL memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2

from samebytes import Context, Device, TensorInfo
from samebytes.errors import LayoutError, MissingDependencyError, UnknownNameError
from samebytes.plugins import deferred, intern

from ._umat_layout import mat_type
from ._umat_tensor import UMatStorage, UMatTensor, in_our_words

if TYPE_CHECKING:
    pass

__all__ = ["UMatContext"]

_DEVICE_KINDS = {1 << 1: "CPU", 1 << 2: "GPU"}
"""CL_DEVICE_TYPE_*, CL/cl.h; in OpenCV, the bits above them tell GPUs apart."""


class UMatContext(Context[UMatTensor]):
    """The OpenCL context in which OpenCV keeps its UMats. There is one for the process.

    OpenCV chooses the device by itself, or by OPENCV_OPENCL_DEVICE. Python cannot give it a
    context. Memory allocated here can be mapped to OpenCL and from there back to a UMat without a
    copy; OpenCL memory of other origin cannot.
    """

    memory_type = "opencv_umat"
    node = "opencv_umat"
    tensor_class = UMatTensor
    primary_handle = "cl_mem"

    def __init__(self) -> None:
        super().__init__(_device(), handles={"cl_context": cv2.UMat.context()})

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Any:
        """The context.

        Raises:
            MissingDependencyError: OpenCV finds no OpenCL, or no device.
            UnknownNameError: a device was named.
        """
        if device is not None:
            raise UnknownNameError("device of opencv_umat (see OPENCV_OPENCL_DEVICE)", device, ())
        if not cv2.ocl.haveOpenCL():
            raise MissingDependencyError(
                "opencv", "an OpenCL library that OpenCV can load",
                "apt install ocl-icd-libopencl1 and a driver, or name it in OPENCV_OPENCL_RUNTIME",
            )  # fmt: skip
        cv2.ocl.setUseOpenCL(True)
        if not cv2.UMat.context():
            raise MissingDependencyError(
                "opencv", "an OpenCL device that OpenCV takes",
                "set OPENCV_OPENCL_DEVICE (\":CPU:\" takes a CPU); `samebytes doctor` lists them",
            )  # fmt: skip
        return intern(cls())

    def find_handle(self, key: str) -> int | None:
        """A handle, as for every context; "cl_queue" is OpenCV's queue of the calling thread."""
        return int(cv2.UMat.queue()) if key == "cl_queue" else super().find_handle(key)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> UMatTensor:
        """A new UMat of (rows, columns) or (rows, columns, channels). Its contents are undefined.

        The memory is OpenCV's, which counts its holders itself, so close() returns None.

        Raises:
            LayoutError: another number of axes, or elements that OpenCV lacks.
        """
        info = TensorInfo(dtype, shape)
        if info.ndim not in (2, 3) or not info.size:
            raise LayoutError(f"a UMat has rows, columns and optional channels, not shape {shape}")
        channels = info.shape[2] if info.ndim == 3 else 1
        rows, columns = info.shape[:2]
        kind = mat_type(info.dtype, channels)
        with deferred():  # as CpuToUMat
            native = in_our_words("cv2.UMat", cv2.UMat, rows, columns, kind)
        return UMatTensor.borrowed(native, self, keep=UMatStorage(native), info=info)


def _device() -> Device:
    device = cv2.ocl.Device.getDefault()
    kind = next((k for bit, k in _DEVICE_KINDS.items() if device.type() & bit), "GPU")
    return Device(kind, device.name())
