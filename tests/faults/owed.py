# SPDX-License-Identifier: Apache-2.0
"""The balance of what an operation took from the drivers and what it gave back."""

from __future__ import annotations

from pathlib import Path

from samebytes.plugins import sweep_loans
from samebytes_softdevices import counted_calls

__all__ = ["PAIRS", "owed"]

PAIRS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cl_mem": (
        ("clCreateBuffer", "clCreateSubBuffer", "clCreateImage", "clCreateBufferWithProperties",
         "clRetainMemObject", "clCreateFromVA_APIMediaSurfaceINTEL"),
        ("clReleaseMemObject",),
    ),
    "OpenCL mapping": (
        ("clEnqueueMapBuffer", "clEnqueueMapImage"), ("clEnqueueUnmapMemObject",)
    ),
    "external memory": (
        ("clEnqueueAcquireExternalMemObjectsKHR",), ("clEnqueueReleaseExternalMemObjectsKHR",)
    ),
    "cl_command_queue": (
        ("clCreateCommandQueueWithProperties", "clCreateCommandQueue", "clRetainCommandQueue"),
        ("clReleaseCommandQueue",),
    ),
    "USM": (
        ("zeMemAllocHost", "zeMemAllocDevice", "zeMemAllocShared"), ("zeMemFree",)
    ),
    "ze_context": (("zeContextCreate",), ("zeContextDestroy",)),
    "surface": (("vaCreateSurfaces",), ("vaDestroySurfaces",)),
    "image": (("vaDeriveImage", "vaCreateImage"), ("vaDestroyImage",)),
    "image mapping": (("vaMapBuffer",), ("vaUnmapBuffer",)),
}  # fmt: skip
"""The calls by which drivers are asked for something, and those by which it is given back."""


def owed() -> dict[str, int]:
    """Return what drivers gave since counting began, less what was given back; and descriptors."""
    sweep_loans()
    calls = counted_calls()
    left = {"descriptors": len([*Path("/proc/self/fd").iterdir()])}
    for kind, (takes, gives) in PAIRS.items():
        taken = sum(calls.get(function, 0) for function in takes)
        left[kind] = taken - sum(calls.get(function, 0) for function in gives)
    return left
