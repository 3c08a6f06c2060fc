# SPDX-License-Identifier: Apache-2.0
"""LevelZeroError: failed calls, with the names of their codes.

NativeError
└── LevelZeroError             a call failed; has `call`, `code` and `name`
    └── NotExportableError     the driver exports no handle for this memory
"""

from __future__ import annotations

from samebytes.errors import NativeError

from ._abi.results import MEANINGS, Result

__all__ = ["LevelZeroError", "NotExportableError", "result_name"]


def result_name(code: int) -> str:
    """The name of a ze_result_t as the header spells it; a code it lacks is named by its number."""
    try:
        return f"ZE_RESULT_{Result(code).name}"
    except ValueError:
        return f"ze_result_t {code:#010x}"


def _meaning(code: int) -> str:
    try:
        return MEANINGS.get(Result(code), "")
    except ValueError:
        return ""


class LevelZeroError(NativeError):
    """A call into Level Zero failed.

    Attributes:
        call: the function, for instance "zeMemAllocHost".
        code: the ze_result_t.
        name: its name, for instance "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY".
    """

    def __init__(self, call: str, code: int, advice: str = "") -> None:
        self.name = result_name(code)
        parts = [part for part in (_meaning(code), advice) if part]
        super().__init__(call, code, "; ".join(parts))
        self.args = (f"{call} failed with {self.name} ({code:#x}): {'; '.join(parts)}",)


class NotExportableError(LevelZeroError):
    """The driver exports no handle for this memory.

    Intel's NPU driver exports memory that was allocated for export, or imported. Memory that
    OpenVINO's NPU plugin allocated for itself cannot be exported.
    """
