# SPDX-License-Identifier: Apache-2.0
"""The functions of the OpenCL layer for Python (csrc/gpu/shared_memory.h)."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from samebytes_softdevices._gpu import LAYER
from samebytes_softdevices._libraries import library
from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["gpu_live_imports", "layer"]


@cache
def layer() -> ctypes.CDLL:
    """The layer that the OpenCL loaders of this process use.

    Raises:
        SoftDeviceError: this process does not use the software GPU.
    """
    path = library(LAYER)
    if str(path) not in os.environ.get("OPENCL_LAYERS", "").split(":"):
        raise SoftDeviceError(
            "the software GPU is not active in this process: run it with "
            "`samebytes-softdevices run --gpu -- COMMAND`, or with `pytest --softdevices=gpu`"
        )
    functions = ctypes.CDLL(str(path))
    functions.softgpu_live_imports.argtypes = []
    functions.softgpu_live_imports.restype = ctypes.c_uint
    return functions


def gpu_live_imports() -> int:
    """Return how many OpenCL objects over file descriptors or VA surfaces live, to look for leaks.

    Returns:
        The number of living objects.

    Raises:
        SoftDeviceError: this process does not use the software GPU.
    """
    return int(layer().softgpu_live_imports())
