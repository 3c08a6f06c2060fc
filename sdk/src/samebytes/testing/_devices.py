# SPDX-License-Identifier: Apache-2.0
"""Tests that need a device, which samebytes-softdevices can stand in for."""

from __future__ import annotations

from functools import cache

import pytest

import samebytes
from samebytes import Context
from samebytes.errors import SamebytesError

__all__ = ["device_context", "has_device", "missing_device"]


def missing_device(kind: str) -> str:
    """The reason to skip a test where there is no device of a kind; it says how to get one.

    Args:
        kind: "GPU", "NPU", "VAAPI" or "CUDA", of which there are software devices.
    """
    return (
        f"missing device {kind}: pytest --softdevices={kind.lower()} "
        "(pip install samebytes-softdevices)"
    )


def device_context(node: str, kind: str) -> Context:
    """The context of a device. The test is skipped where there is none.

    Args:
        node: "opencl", "openvino:NPU" ...
        kind: as of `missing_device`.
    """
    try:
        return samebytes.context(node)
    except SamebytesError:
        pytest.skip(missing_device(kind))


@cache
def has_device(node: str) -> bool:
    """True if there is a context of that name, which is asked once in a process."""
    try:
        samebytes.context(node)
    except SamebytesError:
        return False
    return True
