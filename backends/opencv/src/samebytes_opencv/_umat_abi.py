# SPDX-License-Identifier: Apache-2.0
"""The header of a cv::UMat, as opencv2/core/mat.hpp declares it.

Python sees neither the size nor the type of a cv2.UMat: only get() does, which copies the pixels.
The header is read where the Python object points to: a `cv::Ptr<cv::UMat>` follows the object's
own head (modules/python/src2/cv2.hpp).
"""

from __future__ import annotations

import ctypes

__all__ = ["POINTER_AT", "UMatHeader4", "UMatHeader5"]

POINTER_AT = object.__basicsize__
"""Bytes from the Python object to its pointer to the cv::UMat."""


class _Common(ctypes.Structure):
    _fields_ = [
        ("flags", ctypes.c_int),
        ("dims", ctypes.c_int),
        ("rows", ctypes.c_int),
        ("cols", ctypes.c_int),
        ("allocator", ctypes.c_void_p),
        ("usage_flags", ctypes.c_int),
        ("u", ctypes.c_void_p),
        ("offset", ctypes.c_size_t),
    ]


class UMatHeader4(_Common):
    """OpenCV 4: MatSize is a pointer, MatStep a pointer and two numbers."""

    _fields_ = [
        ("size_p", ctypes.c_void_p),
        ("step_p", ctypes.c_void_p),
        ("step", ctypes.c_size_t * 2),
    ]


class UMatHeader5(_Common):
    """OpenCV 5: a MatShape (dims, layout, C, ten extents), then the steps."""

    _fields_ = [
        ("shape_dims", ctypes.c_int),
        ("shape_layout", ctypes.c_int),
        ("shape_c", ctypes.c_int),
        ("shape_p", ctypes.c_int * 10),
        ("step", ctypes.c_size_t * 2),
    ]
