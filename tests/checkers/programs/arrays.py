# SPDX-License-Identifier: Apache-2.0
"""CPU memory, which needs no plugin."""

from typing import Any, assert_type

import numpy as np

import samebytes as sb

tensor = sb.tensor(np.zeros((4, 6), np.uint8))
assert_type(tensor, sb.Tensor)
assert_type(tensor.map(), sb.CpuTensor)
assert_type(tensor.map("cpu", "rw").native, np.ndarray[Any, Any])
assert_type(tensor.map(sb.CpuContext), sb.CpuTensor)
array: np.ndarray[Any, Any] = np.asarray(tensor)

cpu = sb.context("cpu")
assert_type(cpu, sb.CpuContext)
assert_type(cpu.allocate((4, 6)).native, np.ndarray[Any, Any])
frame = cpu.allocate_frame("NV12", 64, 32)
assert_type(frame, sb.Frame[sb.CpuTensor])
y, uv = frame
assert_type(y.native, np.ndarray[Any, Any])
assert_type(frame.map().planes[1].native, np.ndarray[Any, Any])


def any_target(source: sb.Frame, name: str, place: sb.Context, either: str | sb.Context) -> None:
    """Names that are only known at run time stay usable."""
    for target in (name, place, either):
        assert_type(source.map(target, "r", copy=True), sb.Frame)
    assert_type(sb.context(name), sb.Context)
    planes: list[sb.Tensor] = list(frame)  # a Frame[CpuTensor] is a Frame
    source = frame
    print(planes, source)
