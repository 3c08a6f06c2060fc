# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests that need a device, for which samebytes-softdevices can stand in."""

from __future__ import annotations

from functools import cache

import pytest

import samebytes
from samebytes import Context
from samebytes.errors import SamebytesError

__all__ = ["device_context", "has_device", "missing_device"]


def missing_device(kind: str) -> str:
    """The reason for skipping a test whose device is missing; it says how to get one.

    Args:
        kind: "GPU", "NPU", "VAAPI" or "CUDA"; there are software devices of all four.
    """
    return (
        f"missing device {kind}: pytest --softdevices={kind.lower()} "
        "(pip install samebytes-softdevices)"
    )


def device_context(node: str, kind: str) -> Context:
    """The context of a device. The test is skipped if there is none.

    Args:
        node: "opencl", "openvino:NPU" ...
        kind: as for `missing_device`.
    """
    try:
        return samebytes.context(node)
    except SamebytesError:
        pytest.skip(missing_device(kind))


@cache
def has_device(node: str) -> bool:
    """True if a context of that name can be made, which is tried once in a process."""
    try:
        samebytes.context(node)
    except SamebytesError:
        return False
    return True
