# SPDX-License-Identifier: Apache-2.0
"""The versions of OpenVINO that host memory and devices need."""

from __future__ import annotations

import re

from samebytes.errors import MissingDependencyError

__all__ = ["DEVICES_NEED", "HOST_NEEDS", "check_for_devices", "release", "spelled"]

HOST_NEEDS = (2025, 0)
"""For host memory and the CPU."""

DEVICES_NEED = (2026, 4)
"""For remote tensors: what the GPU and NPU plugins do was observed from this version on."""


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2026.4.1-22982-abc" gives (2026, 4, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in found[0].split(".")) if found else ()


def spelled(numbers: tuple[int, ...]) -> str:
    """The numbers as OpenVINO writes them: "2026.4"."""
    return ".".join(map(str, numbers))


def check_for_devices() -> None:
    """Raise where OpenVINO is too old for remote contexts and tensors.

    Raises:
        MissingDependencyError: it is; host memory can still be used.
    """
    import openvino

    if release(openvino.__version__) < DEVICES_NEED:
        raise MissingDependencyError(
            "openvino",
            f"openvino {spelled(DEVICES_NEED)} or later, which its GPU and NPU contexts need "
            f"(found {openvino.__version__})",
            f'pip install --upgrade "openvino>={spelled(DEVICES_NEED)}"',
        )
