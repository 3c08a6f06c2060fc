# SPDX-License-Identifier: Apache-2.0
"""The software CUDA driver: a libcuda.so.1 for memory, streams and events, with the CPU as devices.

It replaces NVIDIA's driver, whose library has the same name, under cuda-bindings and FFmpeg. It
runs no kernels.

csrc/cuda/config.h describes the environment variables of the driver itself (SOFTCUDA_DEVICES,
SOFTCUDA_PAGEABLE, ...).
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from pathlib import Path

from samebytes_softdevices._libraries import library
from samebytes_softdevices._plan import Plan, SoftDeviceError
from samebytes_softdevices._private_folder import private_folder

__all__ = ["DRIVER", "SONAME", "cuda_live", "plan"]

DRIVER = "libsoftcuda.so"
SONAME = "libcuda.so.1"


def plan() -> Plan:
    """Plan for the software CUDA driver.

    Raises:
        SoftDeviceError: the driver was not built.
    """
    if platform.system() != "Linux":
        raise SoftDeviceError(f"the software CUDA driver needs Linux; this is {platform.system()}")
    driver = library(DRIVER)
    folder = private_folder(links={f"lib/{SONAME}": driver}, files={})
    return Plan(
        search=(folder / "lib",),
        # By its SONAME, later look-ups of libcuda.so.1 find it.
        preload=(driver,),
        too_late=(SONAME,),
        describes="cuda (CUDA memory on the CPU)",
    )


@cache
def _driver() -> ctypes.CDLL:
    path = library(DRIVER)
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    if str(path.resolve()) not in maps:
        raise SoftDeviceError(
            "the software CUDA driver is not on in this process: run it with "
            "`samebytes-softdevices run --cuda -- COMMAND`, or with `pytest --softdevices=cuda`"
        )
    functions = ctypes.CDLL(str(path))
    functions.softcuda_live.argtypes = [ctypes.c_char_p]
    functions.softcuda_live.restype = ctypes.c_uint
    return functions


def cuda_live(kind: str) -> int:
    """Return how many objects of a kind live in the software CUDA driver, to look for leaks.

    Args:
        kind: "device", "pinned", "managed", "registered", "vmm" or "external" for memory, or
            "context", "stream", "event".

    Returns:
        How many objects of that kind live.

    Raises:
        SoftDeviceError: this process does not use the software CUDA driver.
    """
    return int(_driver().softcuda_live(kind.encode()))
