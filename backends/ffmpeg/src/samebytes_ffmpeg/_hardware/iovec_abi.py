# SPDX-License-Identifier: Apache-2.0
"""sys/uio.h for ctypes: what process_vm_readv(2) takes."""

from __future__ import annotations

from ctypes import Structure, c_size_t, c_void_p

__all__ = ["iovec"]


class iovec(Structure):
    """A piece of memory."""

    _fields_ = (("iov_base", c_void_p), ("iov_len", c_size_t))
