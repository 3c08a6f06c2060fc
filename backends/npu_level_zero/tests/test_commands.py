# SPDX-License-Identifier: Apache-2.0
"""copy() and fill(): explicit, counted, and complete on return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.errors import (
    AccessError,
    ClosedError,
    DeviceMismatchError,
    LayoutError,
    UnsupportedObjectError,
)
from samebytes.testing import run_program
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroTensor, copy, fill


@pytest.fixture
def tensor(context: LevelZeroContext) -> LevelZeroTensor:
    """64 bytes of host USM: 0, 1, 2 ..."""
    made = context.allocate((4, 16))
    made.host_array()[...] = np.arange(64).reshape(4, 16)
    return made


def test_copies_are_counted(context: LevelZeroContext, tensor: LevelZeroTensor) -> None:
    samebytes.reset_stats()
    device = context.allocate((64,), kind="device")
    back = context.allocate((16,), "float32", "shared")
    copy(device, tensor)
    copy(back, device)
    assert back.host_array().tobytes() == tensor.host_array().tobytes()
    fill(back, 0)
    fill(device, b"\1\2\3\4")
    assert not back.host_array().any()
    copy(back, device)
    assert back.host_array().tobytes() == b"\1\2\3\4" * 16
    counted = samebytes.stats().by_edge
    assert counted["level_zero -> level_zero (copy)"].copies == 3
    assert counted["level_zero -> level_zero (copy)"].nbytes == 192
    assert counted["level_zero (fill)"].copies == 2


@pytest.mark.parametrize("pattern", [7, b"\7", b"\1\2", bytearray(b"\1\2\3\4"), np.uint16(513)])
def test_patterns(tensor: LevelZeroTensor, pattern: Any) -> None:
    fill(tensor, pattern)
    unit = bytes([pattern]) if isinstance(pattern, int) else memoryview(pattern).tobytes()
    assert tensor.host_array().tobytes() == unit * (64 // len(unit))


@pytest.mark.parametrize(
    "pattern", [b"", b"\1\2\3", 256, -1, b"12345678" * 16, b"0" * 128, None, 1.5, "ab", [300]]
)
def test_bad_patterns(tensor: LevelZeroTensor, pattern: Any) -> None:
    samebytes.reset_stats()
    with pytest.raises(LayoutError):
        fill(tensor, pattern)
    assert tensor.host_array()[3, 15] == 63
    assert samebytes.stats().copies == 0


def test_the_npu_takes_four_bytes_at_most(tensor: LevelZeroTensor) -> None:
    if tensor.context.device.kind != "NPU":
        pytest.skip("another device, other limits")
    with pytest.raises(LayoutError, match="4 at most"):
        fill(tensor, b"12345678")


def test_part_of_a_tensor(context: LevelZeroContext, tensor: LevelZeroTensor) -> None:
    row = context.wrap_pointer(tensor.handle(), (16,), offset=16)
    fill(row, 255)
    assert tensor.host_array()[:, 0].tolist() == [0, 255, 32, 48]
    copy(context.wrap_pointer(tensor.handle(), (16,), offset=32), row)
    assert tensor.host_array()[:, 0].tolist() == [0, 255, 255, 48]


def test_nothing_to_do(context: LevelZeroContext) -> None:
    empty = context.allocate((0,))
    copy(context.allocate((0, 4)), empty)
    fill(empty, 3)


def test_bad_input(
    context: LevelZeroContext, other: LevelZeroContext, tensor: LevelZeroTensor
) -> None:
    samebytes.reset_stats()
    target, small = context.allocate((64,)), context.allocate((63,))
    reading = target.map("level_zero")
    padded = context.wrap_pointer(tensor.handle(), (2, 8), strides=(16, 1))
    overlapping = context.wrap_pointer(tensor.handle(), (16,), offset=8)
    array = samebytes.tensor(np.zeros(64, np.uint8))
    closed = context.allocate((64,))
    closed.close()
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (reading, tensor, AccessError, "read-only"),
        (small, tensor, LayoutError, "64 bytes into a tensor of 63"),
        (padded, padded, LayoutError, "gaps"),
        (overlapping, context.wrap_pointer(tensor.handle(), (16,)), LayoutError, "overlap"),
        (target, target, LayoutError, "overlap"),
        (target, array, UnsupportedObjectError, "CpuTensor"),
        (array, target, UnsupportedObjectError, "CpuTensor"),
        (target, other.allocate((64,)), DeviceMismatchError, "its own memory only"),
        (closed, target, ClosedError, "closed"),
        (target, closed, ClosedError, "closed"),
    ]
    for to, origin, error, message in cases:
        with pytest.raises(error, match=message):
            copy(to, origin)
    with pytest.raises(AccessError, match="read-only"):
        fill(reading, 0)
    with pytest.raises(LayoutError, match="gaps"):
        fill(padded, 0)
    with pytest.raises(UnsupportedObjectError):
        fill(array, 0)
    with pytest.raises(LayoutError, match="divides"):
        fill(small, b"\0\0")
    assert samebytes.stats().copies == 0
    assert padded.info == TensorInfo("uint8", (2, 8), (16, 1))


@pytest.mark.usefixtures("device")
def test_late_commands_are_waited_for(delayed: dict[str, str]) -> None:
    output = run_program(
        """
        import samebytes as sb, samebytes_npu_level_zero as z
        npu = sb.context(f"level_zero:{z.devices()[0]}")
        a, b = npu.allocate((1 << 16,)), npu.allocate((1 << 16,), kind="shared")
        b.host_array()[...] = 0
        for value in range(1, 6):
            z.fill(a, value)
            assert (a.host_array() == value).all()
            z.copy(b, a)
            a.close() if value == 5 else None
            assert (b.host_array() == value).all()
        print("right")
        """,
        **delayed,
    )
    assert output == "right\n"
