# SPDX-License-Identifier: Apache-2.0
"""The reasons why OpenVINO lists no GPU or no NPU, for `samebytes doctor`."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Collection, Mapping

from .intel_gpu._opencl import LIBRARY as _OPENCL

__all__ = ["missing_devices"]

# The plugins are linked to these libraries, and need this function of the second one.
_LEVEL_ZERO = "ze_loader.dll" if sys.platform == "win32" else "libze_loader.so.1"
_NEEDED = "zeCommandListHostSynchronize"  # Level Zero 1.9, ze_api.h


def missing_devices(found: Collection[str]) -> Mapping[str, str]:
    """For "GPU" and "NPU", unless they are among the devices: what is missing, and what to do."""
    kinds = {name.partition(".")[0] for name in found}
    reasons = {"GPU": _why_no_gpu, "NPU": _why_no_npu}
    return {
        f"no {kind}": f"{why()}. For tests without one: samebytes-softdevices run --{kind.lower()} "
        f'-- COMMAND (pip install "samebytes-softdevices[{kind.lower()}]")'
        for kind, why in reasons.items()
        if kind not in kinds
    }


def _why_no_gpu() -> str:
    if _load(_OPENCL) is None:
        return f"{_OPENCL} cannot be loaded: apt install ocl-icd-libopencl1 intel-opencl-icd"
    return (
        f"{_OPENCL} is there, and OpenVINO's GPU plugin takes no device that it shows: install "
        "Intel's driver (apt install intel-opencl-icd), and see `samebytes doctor opencl`"
    )


def _why_no_npu() -> str:
    loader = _load(_LEVEL_ZERO)
    if loader is None:
        return f"{_LEVEL_ZERO} cannot be loaded: apt install libze1, and Intel's NPU driver"
    if not hasattr(loader, _NEEDED):
        return (
            f"{_LEVEL_ZERO} is too old for OpenVINO's NPU plugin (it lacks {_NEEDED}): install a "
            "Level Zero loader of 1.9 or later, which Intel's NPU driver brings"
        )
    return f"{_LEVEL_ZERO} is there, and shows no NPU: see `samebytes doctor level_zero`"


def _load(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
