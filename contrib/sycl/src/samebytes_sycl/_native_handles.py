# SPDX-License-Identifier: Apache-2.0
"""Native handles of a queue and the kinds of pointers, which dpctl does not expose.

dpctl's C interface (dpctl_sycl_usm_interface.h) reports the kind of a pointer. The handles come
from `sycl::context::getNative()` and `sycl::device::getNative()`, members that SYCL's runtime
exports under names that its C++ ABI fixes (sycl/context.hpp, sycl/device.hpp): if they are missing,
there are no handles, and memory is not shared with OpenCL and Level Zero.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import dpctl

__all__ = ["KINDS", "handles_of", "kind_of_pointer"]

# DPCTLSyclUSMType of dpctl_sycl_enum_types.h, as dpctl's own words.
KINDS = {1: "device", 2: "shared", 3: "host"}

_CONTEXT = "_ZNK4sycl3_V17context9getNativeEv"
_DEVICE = "_ZNK4sycl3_V16device9getNativeEv"


def kind_of_pointer(queue: dpctl.SyclQueue, pointer: int) -> str | None:
    """ "host", "shared" or "device" USM of the queue's context; None for all other memory."""
    found: int = _pointer_type()(pointer, queue.sycl_context.addressof_ref())
    return KINDS.get(found)


def handles_of(queue: dpctl.SyclQueue) -> dict[str, int]:
    """The native handles under a queue, which live as long as it does; empty without any."""
    names = {
        dpctl.backend_type.opencl: ("cl_context", "cl_device"),
        dpctl.backend_type.level_zero: ("ze_context", "ze_device"),
    }.get(queue.backend)
    if names is None:
        return {}
    objects = queue.sycl_context, queue.sycl_device
    found = {}
    for name, symbol, held in zip(names, (_CONTEXT, _DEVICE), objects, strict=True):
        get = _member(symbol)
        handle = get(held.addressof_ref()) if get is not None else None
        if not handle:
            return {}
        found[name] = handle
    if "cl_context" in found:
        # For OpenCL getNative() adds a reference (SYCL 2020, OpenCL backend, get_native). The
        # queue has one of its own, which is all that is needed here.
        _opencl().clReleaseContext(ctypes.c_void_p(found["cl_context"]))
    return found


@cache
def _pointer_type() -> Callable[[int, int], int]:
    (path,) = Path(dpctl.__file__).parent.glob("libDPCTLSyclInterface.so*")
    function: Any = ctypes.CDLL(str(path)).DPCTLUSM_GetPointerType
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]  # a foreign function


@cache
def _member(symbol: str) -> Callable[[int], int | None] | None:
    """A member function without arguments, of the runtime that dpctl has loaded."""
    library = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.rpartition(" ")[2]
        if Path(path).name.startswith("libsycl.so"):
            library = ctypes.CDLL(path)
            break
    try:
        function: Any = library[symbol]
    except AttributeError:
        return None
    function.argtypes = [ctypes.c_void_p]
    function.restype = ctypes.c_void_p
    return function  # type: ignore[no-any-return]  # a foreign function


@cache
def _opencl() -> ctypes.CDLL:
    """The loader that SYCL's runtime has loaded."""
    return ctypes.CDLL("libOpenCL.so.1")
