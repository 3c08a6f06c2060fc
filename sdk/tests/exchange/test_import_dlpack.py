# SPDX-License-Identifier: Apache-2.0
"""DLPack's tensors of other libraries as arrays: in place, deleted once, and refused if hostile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes import CpuTensor, dtype
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import DeviceArray

READ_ONLY, IS_COPIED = 1, 2
"""DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED of dlpack.h."""


DLPACK_CUDA = 2


def test_dlpack_in_place_and_deleted_once(raw_producer: Callable[..., Any]) -> None:
    source = np.arange(12, dtype=np.int16).reshape(3, 4)
    producer = raw_producer(source.ctypes.data, (3, 4), (4, 1), code=0, bits=16)
    got = CpuTensor.wrap(producer)
    assert producer.calls == [{"max_version": (1, 0), "copy": False}]
    assert got.native.ctypes.data == source.ctypes.data
    assert got.dtype is dtype("int16")
    assert not got.readonly
    got.native[1, 2] = -1
    assert source[1, 2] == -1
    part = got.native[1:, 1]
    del got
    gc.collect()
    assert producer.deleted == 0
    assert part[0] == 5
    del part
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize(("code", "bits", "name"), [(4, 16, "bfloat16"), (10, 8, "float8_e4m3fn")])
@pytest.mark.parametrize("versioned", [False, True])
def test_types_that_numpy_lacks(
    raw_producer: Callable[..., Any], code: int, bits: int, name: str, versioned: bool
) -> None:
    source = np.zeros(4, dtype(name).carrier)
    producer = raw_producer(
        source.ctypes.data, (4,), (1,), code=code, bits=bits, versioned=versioned
    )
    got = CpuTensor.wrap(producer)
    assert got.dtype is dtype(name)
    assert got.native.dtype == dtype(name).carrier
    assert got.native.ctypes.data == source.ctypes.data
    # The producer's deleter must find the structure as the producer made it.
    assert producer.tensor.dtype.code == code
    del got
    gc.collect()
    assert producer.deleted == 1


def test_a_thousand_imports_are_deleted_a_thousand_times(raw_producer: Callable[..., Any]) -> None:
    source = np.zeros(4, np.uint16)
    producer = raw_producer(source.ctypes.data, (4,), (1,), code=4, bits=16)
    for _ in range(1000):
        CpuTensor.wrap(producer)
    gc.collect()
    assert producer.deleted == 1000


def test_the_read_only_flag(raw_producer: Callable[..., Any]) -> None:
    source = np.zeros(4, np.uint8)
    got = CpuTensor.wrap(raw_producer(source.ctypes.data, (4,), (1,), flags=READ_ONLY))
    assert got.readonly
    assert not got.native.flags.writeable


def test_a_legacy_capsule_is_read_only(raw_producer: Callable[..., Any]) -> None:
    source = np.zeros(4, np.uint8)
    producer = raw_producer(source.ctypes.data, (4,), versioned=False)
    got = CpuTensor.wrap(producer)
    assert producer.calls == [{"max_version": (1, 0), "copy": False}, {}]
    assert got.native.strides == (1,)
    assert got.readonly
    assert not got.native.flags.writeable


@pytest.mark.parametrize("writeable", [False, True])
def test_a_legacy_capsule_of_an_object_that_shows_its_flags(
    raw_producer: Callable[..., Any], writeable: bool
) -> None:
    source = np.zeros(4, np.uint8)
    producer = raw_producer(source.ctypes.data, (4,), versioned=False)
    source.flags.writeable = writeable
    producer.flags = source.flags
    got = CpuTensor.wrap(producer)
    assert got.readonly is not writeable
    if writeable:
        got.native[2] = 8
        assert source[2] == 8
    del got
    gc.collect()
    assert producer.deleted == 1


def test_the_byte_offset_counts(raw_producer: Callable[..., Any]) -> None:
    source = np.arange(8, dtype=np.uint8)
    got = CpuTensor.wrap(raw_producer(source.ctypes.data, (2,), (3,), byte_offset=2))
    assert got.native.ctypes.data == source.ctypes.data + 2
    assert got.native.tolist() == [2, 5]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_tensors(
    raw_producer: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    source = np.full(1, 5, np.uint8)
    producer = raw_producer(0 if shape else source.ctypes.data, shape, shape)
    got = CpuTensor.wrap(producer)
    assert got.native.shape == shape
    assert got.native.tolist() in (5, [], [[], []])
    del got
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("device", [3, 11])
def test_pinned_host_memory_is_host_memory(raw_producer: Callable[..., Any], device: int) -> None:
    source = np.zeros(4, np.uint8)
    producer = raw_producer(source.ctypes.data, (4,), (1,), device=device, claimed_device=device)
    assert CpuTensor.wrap(producer).native.ctypes.data == source.ctypes.data


HOSTILE = [
    ({"data": 0}, "null pointer"),
    ({"ndim": -1}, "-1 axes"),
    # Said before the shape is read, which would be as long.
    ({"ndim": 65}, "a tensor of 65 axes"),
    ({"ndim": 2**31 - 1}, "a tensor of 2147483647 axes"),
    ({"shape": None, "ndim": 2}, "without a shape"),
    ({"shape": (-4,)}, "negative extent"),
    ({"shape": (2**62, 4), "strides": None}, "address space"),
    ({"shape": (0, 2**62, 8), "strides": None}, "address space"),
    ({"strides": (2**62,)}, "address space"),
    ({"strides": (-(2**62),)}, "address space"),
    # The lowest element would be at the null pointer.
    ({"data": 3, "strides": (-1,)}, "address space"),
    ({"byte_offset": 2**64 - 1}, "address space"),
    # Fewer bytes than 2**63, and more than any page tables translate.
    ({"shape": (2**58,)}, "address space"),
    ({"shape": (2**58,), "strides": None}, "address space"),
    ({"strides": (2**57,)}, "address space"),
    ({"lanes": 4}, "4 lanes"),
    ({"lanes": 0}, "0 lanes"),
    ({"bits": 7}, "no dtype for"),
    ({"code": 2, "bits": 8}, "no dtype for"),
    ({"code": 3, "bits": 64}, "no dtype for"),
    ({"code": 200}, "no dtype for"),
    ({"bits": 4}, "share bytes"),
]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(("wrong", "said"), HOSTILE)
def test_hostile_tensors(
    raw_producer: Callable[..., Any], versioned: bool, wrong: dict[str, Any], said: str
) -> None:
    source = np.zeros(4, np.uint8)
    right = {"data": source.ctypes.data, "shape": (4,), "strides": (1,)}
    producer = raw_producer(**(right | wrong), versioned=versioned)
    with pytest.raises(LayoutError, match=said):
        CpuTensor.wrap(producer)
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(("wrong", "said"), HOSTILE)
def test_hostile_tensors_of_a_device(
    raw_producer: Callable[..., Any], versioned: bool, wrong: dict[str, Any], said: str
) -> None:
    # Memory of the CPU stands in: nothing is read of what is refused.
    source, cuda = np.zeros(4, np.uint8), DLPACK_CUDA
    right = {"data": source.ctypes.data, "shape": (4,), "strides": (1,)}
    where = {"device": cuda, "claimed_device": cuda}
    producer = raw_producer(**(right | wrong), **where, versioned=versioned)
    with pytest.raises(LayoutError, match=said):
        DeviceArray.by_dlpack(producer, {cuda})
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"claimed_device": 2}, "CUDA memory"),
        ({"claimed_device": 4}, "OpenCL memory"),
        ({"claimed_device": 14}, "oneAPI memory"),
        ({"claimed_device": 99}, "device 99"),
        ({"device": 2}, "CUDA memory"),
        ({"major": 2}, "DLPack 2.0"),
        ({"flags": IS_COPIED}, "exported a copy"),
    ],
)
def test_tensors_that_are_not_host_memory_in_place(
    raw_producer: Callable[..., Any], wrong: dict[str, Any], said: str
) -> None:
    source = np.zeros(4, np.uint8)
    producer = raw_producer(source.ctypes.data, (4,), (1,), **wrong)
    with pytest.raises(UnsupportedObjectError, match=said):
        CpuTensor.wrap(producer)
    gc.collect()
    assert producer.deleted == len(producer.calls) == (0 if "claimed_device" in wrong else 1)


@pytest.mark.parametrize("capsule", [None, 3, "text"])
def test_a_producer_that_gives_no_capsule(capsule: object) -> None:
    class Wrong:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: object) -> object:
            return capsule

    with pytest.raises(UnsupportedObjectError, match="not a DLPack capsule"):
        CpuTensor.wrap(Wrong())


def test_a_producer_that_refuses() -> None:
    class Refuses:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("in use by the graph")

    with pytest.raises(UnsupportedObjectError, match="in use by the graph"):
        CpuTensor.wrap(Refuses())


@pytest.mark.parametrize("answer", [None, (), ("cpu", 0)])
def test_a_producer_without_a_sensible_device(answer: Any) -> None:
    class Lost:
        def __dlpack_device__(self) -> Any:
            return answer

        def __dlpack__(self, **_: object) -> object:
            raise AssertionError("must not be asked")

    with pytest.raises(UnsupportedObjectError, match="__dlpack_device__ failed"):
        CpuTensor.wrap(Lost())
