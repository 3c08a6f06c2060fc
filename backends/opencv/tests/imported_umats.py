# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the calls with which OpenCV imports DMA-BUFs, which no released cv2 has.

They do what the calls of OpenCV's pull request 29760 do: the memory object is made by the driver,
by cl_khr_external_memory_dma_buf, in OpenCV's own cl_context, and becomes a UMat's as that of
cv::ocl::convertFromBuffer does.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import cv2
import pyopencl as cl
import pyopencl._cl

from samebytes_opencv._umat_layout import _header

__all__ = ["StandIn"]

_DMA_BUF = 0x2067  # CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
_CONTINUOUS = 1 << 14  # cv::UMat::CONTINUOUS_FLAG
# Places in cv::UMatData, opencv2/core/mat.hpp.
_SIZE, _HANDLE, _ALLOCATOR_FLAGS = 40, 56, 72

# The library that pyopencl uses: what was loaded for all to see, or what it bundles.
_OPENCL = ctypes.CDLL(None)
if not hasattr(_OPENCL, "clCreateBufferWithProperties"):
    _OPENCL = ctypes.CDLL(pyopencl._cl.__file__)
_CREATE = _OPENCL.clCreateBufferWithProperties
_CREATE.restype = c_void_p
_CREATE.argtypes = c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, c_void_p
_FIND = _OPENCL.clGetExtensionFunctionAddressForPlatform
_FIND.restype, _FIND.argtypes = c_void_p, (c_void_p, ctypes.c_char_p)
_HAND = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p, c_void_p)


class StandIn:
    """The three calls, and what they were called for."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.imports: list[tuple[int, ...]] = []
        self.context = cl.Context.from_int_ptr(cv2.UMat.context(), retain=True)
        self.platform = self.context.devices[0].platform.int_ptr

    def create(self, fd: int, size: int, step: int, rows: int, cols: int, kind: int) -> Any:
        """createUMatFromDmaBuf(), which leaves the descriptor to its caller."""
        umat = cv2.UMat(rows, cols, kind)
        pixel = _header(umat).step[1]
        if step < cols * pixel or step * (rows - 1) + cols * pixel > size:
            raise cv2.error("the image does not lie in the memory")
        properties, code = (c_uint64 * 3)(_DMA_BUF, os.dup(fd), 0), c_int32()
        handle = _CREATE(
            self.context.int_ptr, properties, int(cl.mem_flags.READ_WRITE), size, None, byref(code)
        )
        os.close(properties[1])
        if code.value:
            raise cv2.error(f"clCreateBufferWithProperties: {code.value}")
        _become(umat, handle, step, size)
        self.imports.append((fd, size, step, rows, cols, kind))
        return umat

    def acquire(self, umat: Any) -> None:
        """acquireExternalMemory()."""
        self._hand("Acquire", umat)

    def release(self, umat: Any) -> None:
        """releaseExternalMemory(), which waits."""
        self._hand("Release", umat)

    def _hand(self, what: str, umat: Any) -> None:
        name = f"clEnqueue{what}ExternalMemObjectsKHR"
        function = _HAND(_FIND(self.platform, name.encode()))
        memory = c_void_p(umat.handle(3 << 24))
        code = function(cv2.UMat.queue(), 1, byref(memory), 0, None, None)
        assert not code, (what, code)
        cv2.ocl.finish()
        self.calls.append(what)


def _become(umat: Any, handle: int, step: int, size: int) -> None:
    """Give a UMat other memory, which its last holder releases."""
    header = _header(umat)
    assert header.u is not None
    place = c_void_p.from_address(header.u + _HANDLE)
    own = umat.handle(3 << 24)
    assert place.value == own
    allocated: Any = cl.Buffer.from_int_ptr(own, retain=False)
    allocated.release()
    place.value = handle
    c_size_t.from_address(header.u + _SIZE).value = size
    # Without flags clReleaseMemObject() ends it; that of OpenCV's pool would keep it.
    ctypes.c_int.from_address(header.u + _ALLOCATOR_FLAGS).value = 0
    if step != header.step[0]:
        header.step[0] = step
        header.flags &= ~_CONTINUOUS
