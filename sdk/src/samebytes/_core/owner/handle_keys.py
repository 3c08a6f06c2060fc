# SPDX-License-Identifier: Apache-2.0
"""The table of handle keys, by which plugins meet without knowing each other.

`handle(key)` of tensors, frames and contexts gives one as an int, which stays with its owner.
"""

from __future__ import annotations

from typing import Literal

from ..._frozen import frozen
from ...errors import UnknownNameError

__all__ = ["HANDLE_KEYS", "HandleKey", "check_handle_key"]


@frozen()
class HandleKey:
    """One kind of native handle.

    Attributes:
        name: the key.
        c_type: its type in C, as in the header that declares it.
        of: whether tensors, contexts, or frames have it.
        doc: what it is and who owns it.
    """

    name: str
    c_type: str
    of: Literal["tensor", "context", "frame"]
    doc: str

    def register(self) -> None:
        """Add it to the table, for a framework that the core does not know.

        Raises:
            ValueError: the name is taken by a different key.
        """
        if HANDLE_KEYS.setdefault(self.name, self) != self:
            raise ValueError(f"handle key {self.name!r} is already {HANDLE_KEYS[self.name]}")


_KEYS = (
    HandleKey("data", "void*", "tensor", "first element, readable by the CPU; owned by storage"),
    HandleKey("offset", "size_t", "tensor", "bytes from the start of the native object"),
    HandleKey("plane_index", "int", "tensor", "which plane of a native frame this tensor is"),
    HandleKey("dma_fd", "int", "tensor", "DMA-BUF descriptor, owned by the tensor's Fd: dup it"),
    HandleKey("pitch", "uint32_t", "tensor", "bytes from row to row, also of tiled memory"),
    HandleKey("drm_modifier", "uint64_t", "tensor", "layout modifier, see drm_fourcc.h"),
    HandleKey("va_surface", "VASurfaceID", "tensor", "surface of the context's va_display"),
    HandleKey("cl_mem", "cl_mem", "tensor", "one reference is the tensor's: retain to keep"),
    HandleKey("usm_ptr", "void*", "tensor", "USM pointer, valid in the tensor's context only"),
    HandleKey("ze_usm_type", "ze_memory_type_t", "tensor", "host, device or shared USM"),
    HandleKey("gst_memory", "GstMemory*", "tensor", "one reference is the tensor's"),
    HandleKey("d3d11_texture", "ID3D11Texture2D*", "tensor", "one reference is the tensor's"),
    HandleKey("cuda_ptr", "CUdeviceptr", "tensor", "first element; valid in the tensor's context"),
    HandleKey("av_frame", "AVFrame*", "frame", "owned by the av.VideoFrame or av.AudioFrame"),
    HandleKey("gst_buffer", "GstBuffer*", "frame", "one reference is the frame's"),
    HandleKey("va_display", "VADisplay", "context", "owned by the context that opened it"),
    HandleKey("drm_fd", "int", "context", "DRM node, owned by the context's Fd: dup it"),
    HandleKey("cl_context", "cl_context", "context", "one reference is the context's"),
    HandleKey("cl_queue", "cl_command_queue", "context", "one reference is the context's"),
    HandleKey("cl_device", "cl_device_id", "context", "root devices have no owner"),
    HandleKey("ze_driver", "ze_driver_handle_t", "context", "owned by the loader"),
    HandleKey("ze_device", "ze_device_handle_t", "context", "owned by the driver"),
    HandleKey("ze_context", "ze_context_handle_t", "context", "owned by its creator"),
    HandleKey("sycl_queue", "sycl::queue*", "context", "owned by the Python object"),
    HandleKey("d3d11_device", "ID3D11Device*", "context", "one reference is the context's"),
    HandleKey("cuda_context", "CUcontext", "context", "owned by its creator or the driver"),
    HandleKey("cuda_device", "CUdevice", "context", "the device's ordinal; it has no owner"),
    HandleKey("cuda_stream", "CUstream", "context", "what orders the work on the context's memory"),
)

HANDLE_KEYS: dict[str, HandleKey] = {key.name: key for key in _KEYS}


def check_handle_key(name: str) -> None:
    """Raise UnknownNameError, with the nearest keys, unless the table has this one."""
    if name not in HANDLE_KEYS:
        raise UnknownNameError("handle key", name, HANDLE_KEYS)
