# SPDX-License-Identifier: Apache-2.0
"""Software GPU, NPU, VA-API and CUDA devices under the real libraries, for tests without hardware.

`samebytes-softdevices run --gpu -- COMMAND` and `pytest --softdevices=gpu` switch them on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samebytes_softdevices._cuda import cuda_live
    from samebytes_softdevices._faults import call_failed, counted_calls, fail_call, fault_library
    from samebytes_softdevices._gpu_layer import gpu_live_imports
    from samebytes_softdevices._npu_trace import NpuTraceRecord, npu_trace
    from samebytes_softdevices._plan import SoftDeviceError
    from samebytes_softdevices._va_report import VaObject, va_live, va_report

__all__ = [
    "NpuTraceRecord",
    "SoftDeviceError",
    "VaObject",
    "call_failed",
    "counted_calls",
    "cuda_live",
    "fail_call",
    "fault_library",
    "gpu_live_imports",
    "npu_trace",
    "va_live",
    "va_report",
]

__version__ = "0.1.0"

_HOMES = {
    "NpuTraceRecord": "_npu_trace",
    "SoftDeviceError": "_plan",
    "VaObject": "_va_report",
    "call_failed": "_faults",
    "counted_calls": "_faults",
    "cuda_live": "_cuda",
    "fail_call": "_faults",
    "fault_library": "_faults",
    "gpu_live_imports": "_gpu_layer",
    "npu_trace": "_npu_trace",
    "va_live": "_va_report",
    "va_report": "_va_report",
}


if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
