# SPDX-License-Identifier: Apache-2.0
"""The table of handle keys: the native handles by which plugins meet without knowing each other.

`Tensor.handle(key)` and `Context.handle(key)` give one as an int. The handle stays with its
owner: it is valid while the object it was asked from lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Literal

from ..errors import LayoutError, UnknownNameError

__all__ = [
    "DRM_FORMAT_MOD_INVALID",
    "DRM_FORMAT_MOD_LINEAR",
    "HANDLE_KEYS",
    "HandleKey",
    "check_handle_key",
    "check_modifier",
    "is_linear_modifier",
    "register_handle_key",
]

DRM_FORMAT_MOD_LINEAR = 0
"""A `drm_modifier` of memory that lies in rows, drm/drm_fourcc.h."""
DRM_FORMAT_MOD_INVALID = (1 << 56) - 1
"""One of memory whose layout is unknown, drm/drm_fourcc.h."""


def is_linear_modifier(modifier: int) -> bool:
    """True if memory with that `drm_modifier` is used as rows.

    That includes memory of unknown layout: exporters that know no tiling know no modifiers, and
    those that tile say so.

    Args:
        modifier: 64 bits, as in drm_fourcc.h.
    """
    return modifier in (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)


def check_modifier(modifier: int) -> int:
    """A `drm_modifier` that a caller passed, as an int.

    Args:
        modifier: what was given.

    Raises:
        LayoutError: it is not an unsigned 64-bit number.
    """
    try:
        number = index(modifier)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise LayoutError(f"a DRM modifier must be an unsigned 64-bit number, not {modifier!r}")
    return number


@dataclass(frozen=True, slots=True)
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
)

HANDLE_KEYS: dict[str, HandleKey] = {key.name: key for key in _KEYS}


def register_handle_key(key: HandleKey) -> None:
    """Add a key of a framework that the table does not know.

    Args:
        key: the new key.

    Raises:
        ValueError: the name is taken by a different key.
    """
    if HANDLE_KEYS.setdefault(key.name, key) != key:
        raise ValueError(f"handle key {key.name!r} is already {HANDLE_KEYS[key.name]}")


def check_handle_key(name: str) -> HandleKey:
    """The key of that name, or UnknownNameError with the nearest ones.

    Args:
        name: of the key.

    Raises:
        UnknownNameError: there is no such key; the message has the nearest ones.
    """
    try:
        return HANDLE_KEYS[name]
    except KeyError:
        raise UnknownNameError("handle key", name, HANDLE_KEYS) from None
