# SPDX-License-Identifier: Apache-2.0
"""The structures against dlpack.h on 64-bit systems, and against what numpy writes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from samebytes._exchange import _dlpack_abi as abi
from samebytes._exchange._capsule_contents import content, still_holds


@pytest.mark.parametrize(
    ("structure", "size"),
    [
        (abi.DLDevice, 8),
        (abi.DLDataType, 4),
        (abi.DLTensor, 48),
        (abi.DLManagedTensor, 64),
        (abi.DLPackVersion, 8),
        (abi.DLManagedTensorVersioned, 80),
    ],
)
def test_sizes(structure: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(structure) == size


@pytest.mark.parametrize(
    ("structure", "offsets"),
    [
        (abi.DLTensor, {"data": 0, "device": 8, "ndim": 16, "dtype": 20, "shape": 24, "strides": 32,
                        "byte_offset": 40}),
        (abi.DLManagedTensor, {"dl_tensor": 0, "manager_ctx": 48, "deleter": 56}),
        (abi.DLManagedTensorVersioned, {"version": 0, "manager_ctx": 8, "deleter": 16, "flags": 24,
                                        "dl_tensor": 32}),
    ],
)  # fmt: skip
def test_offsets(structure: Any, offsets: dict[str, int]) -> None:
    assert {name: getattr(structure, name).offset for name in offsets} == offsets


def test_every_device_code_has_a_name() -> None:
    assert sorted(abi.DEVICE_NAMES) == [1, 2, 3, 4, *range(7, 18)]


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_of_numpy_reads_as_it_was_written(versioned: bool) -> None:
    a = np.zeros((3, 8), np.float32)[:, 1:5]
    capsule = a.__dlpack__(max_version=(1, 0)) if versioned else a.__dlpack__()
    tensor, is_versioned, flags = content(capsule)
    assert is_versioned is versioned
    assert flags == 0
    assert tensor.data is not None
    assert tensor.data + tensor.byte_offset == a.ctypes.data
    assert (tensor.device.device_type, tensor.device.device_id) == (1, 0)
    assert (tensor.shape[: tensor.ndim], tensor.strides[: tensor.ndim]) == ([3, 4], [8, 1])
    assert still_holds(capsule)


def test_the_read_only_flag_is_where_numpy_puts_it() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    assert content(a.__dlpack__(max_version=(1, 0))).flags == abi.FLAG_READ_ONLY


def test_the_copied_flag_is_where_numpy_puts_it() -> None:
    capsule = np.zeros(3).__dlpack__(max_version=(1, 0), copy=True)
    assert content(capsule).flags == abi.FLAG_IS_COPIED


@pytest.mark.parametrize("value", [None, 3, object()])
def test_what_is_not_a_capsule(value: object) -> None:
    assert not still_holds(value)
    with pytest.raises(ValueError, match="not a DLPack capsule"):
        content(value)


def test_a_consumed_capsule_is_marked() -> None:
    class Once:
        capsule = np.zeros(3).__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **_: object) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    once = Once()
    taken = np.from_dlpack(once)
    assert not still_holds(once.capsule)
    with pytest.raises(ValueError, match="consumed before"):
        content(once.capsule)
    assert taken.tolist() == [0, 0, 0]
