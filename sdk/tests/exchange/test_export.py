# SPDX-License-Identifier: Apache-2.0
"""What the exporter hands out, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes._dtypes import dtype
from samebytes._exchange import dlpack, dlpack_capsule, from_foreign
from samebytes._exchange._capsule import content
from samebytes._exchange._dlpack_abi import FLAG_IS_COPIED, FLAG_READ_ONLY
from samebytes.errors import ExportError, LayoutError
from samebytes.plugins import check_dlpack_request

V1 = {"max_version": (1, 0)}
F4 = dtype("float32")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        V1,
        {**V1, "stream": None},
        {"stream": -1},
        {**V1, "dl_device": (1, 0), "copy": False},
        {**V1, "dl_device": None, "copy": None},
        {"max_version": (0, 8)},
        {"max_version": (2, 3)},
    ],
)
@pytest.mark.parametrize("name", ["float32", "uint8", "bool", "bfloat16", "float8_e5m2"])
def test_every_way_that_consumers_call(name: str, arguments: dict[str, Any]) -> None:
    d = dtype(name)
    a = np.zeros((2, 3), d.carrier)
    capsule = dlpack(a, d, **arguments)
    tensor, versioned, flags = content(capsule)
    assert versioned is (arguments.get("max_version", (0, 0))[0] >= 1)
    assert flags == 0
    assert tensor.data == a.ctypes.data
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (d.dlpack_code, d.bits, 1)
    assert tensor.shape[:2] == [2, 3]
    # NULL is DLPack's way to say "dense", and that of numpy before 2.4.
    assert not tensor.strides or tensor.strides[:2] == [3, 1]


@pytest.mark.writable_dlpack
def test_numpy_writes_through(exporter: Callable[..., Any]) -> None:
    a = np.zeros((4, 8), np.uint8)[:, :5]
    seen = np.from_dlpack(exporter(a, dtype("uint8")))
    assert (seen.ctypes.data, seen.strides) == (a.ctypes.data, a.strides)
    seen[2, 3] = 7
    assert a[2, 3] == 7
    a[1, 1] = 9
    assert seen[1, 1] == 9


@pytest.mark.parametrize("copy", [None, False])
def test_numpy_with_device_and_copy(exporter: Callable[..., Any], copy: bool | None) -> None:
    a = np.zeros(3)
    seen = np.from_dlpack(exporter(a, dtype("float64")), device="cpu", copy=copy)
    assert seen.ctypes.data == a.ctypes.data


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("by", ["flag", "array"])
def test_read_only_memory(exporter: Callable[..., Any], name: str, by: str) -> None:
    d = dtype(name)
    a = np.zeros(3, d.carrier)
    if by == "array":
        a.flags.writeable = False
    shared = exporter(a, d, readonly=by == "flag")
    capsule = shared.__dlpack__(**V1)
    assert content(capsule).flags == FLAG_READ_ONLY
    assert from_foreign(shared).readonly
    with pytest.raises(ExportError, match="read-only, and the legacy capsule"):
        shared.__dlpack__()
    assert a.flags.writeable is (by == "flag")


def test_errors_are_what_consumers_and_callers_expect() -> None:
    with pytest.raises(BufferError):
        dlpack(np.zeros(3)[::-1], dtype("float64"))
    with pytest.raises(LayoutError):
        dlpack(np.zeros(3)[::-1], dtype("float64"))


@pytest.mark.parametrize("arguments", [{"stream": 1}, {"stream": 2}])
def test_streams_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ExportError, match="no stream"):
        dlpack(np.zeros(3), dtype("float64"), **arguments)


@pytest.mark.parametrize("device", [(2, 0), (4, 0), (14, 1), (1, 1)])
def test_other_devices_are_refused(device: tuple[int, int]) -> None:
    with pytest.raises(ExportError, match="on the CPU"):
        dlpack(np.zeros(3), dtype("float64"), dl_device=device)


@pytest.mark.parametrize("arguments", [{}, V1])
def test_layouts_that_are_refused(arguments: dict[str, Any]) -> None:
    a = np.zeros((4, 4), np.float32)
    with pytest.raises(ExportError, match="negative"):
        dlpack(a[::-1], F4, **arguments)
    with pytest.raises(ExportError, match="negative"):
        dlpack(a[:, ::-1], F4, **arguments)
    field = np.zeros(4, [("x", "u1"), ("y", "f4")])["y"]
    with pytest.raises(ExportError, match="not multiples"):
        dlpack(field, F4, **arguments)
    window = np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), (4, 3), (4, 4))
    with pytest.raises(ExportError, match="overlap"):
        dlpack(window, F4, **arguments)
    row = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (5, 3), (0, 4))
    with pytest.raises(ExportError, match="overlap"):
        dlpack(row, F4, **arguments)


def test_overlapping_elements_may_be_read(exporter: Callable[..., Any]) -> None:
    a = np.arange(3, dtype=np.float32)
    row = np.lib.stride_tricks.as_strided(a, (5, 3), (0, 4))
    seen = from_foreign(exporter(row, F4, readonly=True))
    assert seen.readonly
    assert (seen.array.ctypes.data, seen.array.strides) == (a.ctypes.data, (0, 4))
    assert from_foreign(exporter(np.broadcast_to(a, (5, 3)), F4)).readonly


@pytest.mark.writable_dlpack
def test_strides_of_axes_with_one_element_do_not_matter(exporter: Callable[..., Any]) -> None:
    a = np.zeros((4, 3), np.float32)
    one = a[::-1][:1]
    assert one.strides[0] < 0
    seen = np.from_dlpack(exporter(one, F4))
    assert seen.ctypes.data == one.ctypes.data
    assert min(seen.strides) > 0
    seen[0, 1] = 5
    assert a[3, 1] == 5


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0, 2)])
@pytest.mark.parametrize("arguments", [{}, V1])
def test_scalars_and_empty_arrays(
    exporter: Callable[..., Any], name: str, shape: tuple[int, ...], arguments: dict[str, Any]
) -> None:
    d = dtype(name)
    a = np.zeros(shape, d.carrier)
    capsule = dlpack(a, d, **arguments)
    assert content(capsule).tensor.ndim == len(shape)
    seen = from_foreign(exporter(a, d)).array
    assert seen.shape == shape
    if a.size:
        seen[()] = 2
        assert a[()] == 2


def test_an_empty_array_with_impossible_strides(exporter: Callable[..., Any]) -> None:
    a = np.zeros((4, 3), np.float32)[0:0, ::-1]
    assert min(a.strides) < 0
    assert np.from_dlpack(exporter(a, F4)).shape == (0, 3)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("arguments", [{}, V1])
def test_a_copy_is_counted_and_belongs_to_the_consumer(
    exporter: Callable[..., Any], name: str, arguments: dict[str, Any]
) -> None:
    d = dtype(name)
    counted: list[int] = []
    a = np.arange(6, dtype=d.carrier).reshape(2, 3)[::-1]
    shared = exporter(a, d, readonly=True, on_copy=counted.append)
    capsule = shared.__dlpack__(copy=True, **arguments)
    tensor, versioned, flags = content(capsule)
    assert counted == [6 * d.carrier.itemsize]
    assert flags == (FLAG_IS_COPIED if versioned else 0)
    assert tensor.dtype.code == d.dlpack_code
    assert tensor.data != a.ctypes.data
    assert not tensor.strides or min(tensor.strides[:2]) > 0


@pytest.mark.writable_dlpack
def test_numpy_gets_a_writable_copy(exporter: Callable[..., Any]) -> None:
    counted: list[int] = []
    a = np.arange(6, dtype=np.float32).reshape(2, 3)[::-1]
    copied = np.from_dlpack(exporter(a, F4, readonly=True, on_copy=counted.append), copy=True)
    assert copied.tolist() == a.tolist()
    copied[...] = 9
    assert a[0, 0] == 3
    assert counted == [24]


def test_nothing_is_counted_without_a_copy(exporter: Callable[..., Any]) -> None:
    counted: list[int] = []
    np.from_dlpack(exporter(np.zeros(3), dtype("float64"), on_copy=counted.append), copy=False)
    assert counted == []


@pytest.mark.parametrize("name", ["float4_e2m1fn", "uint1", "int4", "nf4"])
def test_packed_types_are_refused(name: str) -> None:
    with pytest.raises(ExportError, match="export the bytes as uint8"):
        dlpack_capsule(np.zeros(3, np.uint8), dtype(name), max_version=(1, 0))


def test_what_consumers_may_ask_of_memory_on_a_device() -> None:
    dl_device: Any
    for dl_device in (None, (2, 1), (np.int32(2), np.int32(1))):
        for copy in (None, False):
            check_dlpack_request((2, 1), dl_device, copy)
    for dl_device in ((2, 0), (1, 0), (3, 1)):
        with pytest.raises(ExportError, match=r"on DLPack device \(2, 1\), not on \("):
            check_dlpack_request((2, 1), dl_device, None)
    with pytest.raises(ExportError, match="in place only"):
        check_dlpack_request((2, 1), None, True)
