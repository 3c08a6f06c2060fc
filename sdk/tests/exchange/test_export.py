# SPDX-License-Identifier: Apache-2.0
"""The exporter: what it hands out, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes import CpuTensor, dtype
from samebytes.errors import ExportError, LayoutError
from samebytes.plugins import check_dlpack_request

V1 = {"max_version": (1, 0)}
F4 = dtype("float32")
READ_ONLY, IS_COPIED = 1, 2
"""DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED of dlpack.h."""

Content = Callable[[object], Any]
MakeExporter = Callable[..., Any]


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
def test_every_way_that_consumers_call(
    name: str, arguments: dict[str, Any], exporter: MakeExporter, content: Content
) -> None:
    d = dtype(name)
    a = np.zeros((2, 3), d.carrier)
    capsule = exporter(a, d).__dlpack__(**arguments)
    tensor, versioned, flags = content(capsule)
    assert versioned is (arguments.get("max_version", (0, 0))[0] >= 1)
    assert flags == 0
    assert tensor.data == a.ctypes.data
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (d.dlpack_code, d.bits, 1)
    assert tensor.shape[:2] == [2, 3]
    # NULL is DLPack's way to say "dense", and that of numpy before 2.4.
    assert not tensor.strides or tensor.strides[:2] == [3, 1]


@pytest.mark.writable_dlpack
def test_numpy_writes_through(exporter: MakeExporter) -> None:
    a = np.zeros((4, 8), np.uint8)[:, :5]
    seen = np.from_dlpack(exporter(a, dtype("uint8")))
    assert (seen.ctypes.data, seen.strides) == (a.ctypes.data, a.strides)
    seen[2, 3] = 7
    assert a[2, 3] == 7
    a[1, 1] = 9
    assert seen[1, 1] == 9


@pytest.mark.parametrize("copy", [None, False])
def test_numpy_with_device_and_copy(exporter: MakeExporter, copy: bool | None) -> None:
    a = np.zeros(3)
    seen = np.from_dlpack(exporter(a, dtype("float64")), device="cpu", copy=copy)
    assert seen.ctypes.data == a.ctypes.data


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("by", ["flag", "array"])
def test_read_only_memory(exporter: MakeExporter, name: str, by: str, content: Content) -> None:
    d = dtype(name)
    a = np.zeros(3, d.carrier)
    if by == "array":
        a.flags.writeable = False
    shared = exporter(a, d, readonly=by == "flag")
    capsule = shared.__dlpack__(**V1)
    assert content(capsule).flags == READ_ONLY
    assert CpuTensor.wrap(shared).readonly
    with pytest.raises(ExportError, match="read-only, and the legacy capsule"):
        shared.__dlpack__()
    assert a.flags.writeable is (by == "flag")


def test_errors_are_what_consumers_and_callers_expect(exporter: MakeExporter) -> None:
    with pytest.raises(BufferError):
        exporter(np.zeros(3)[::-1], dtype("float64")).__dlpack__()
    with pytest.raises(LayoutError):
        exporter(np.zeros(3)[::-1], dtype("float64")).__dlpack__()


@pytest.mark.parametrize("arguments", [{"stream": 1}, {"stream": 2}])
def test_streams_are_refused(arguments: dict[str, Any], exporter: MakeExporter) -> None:
    with pytest.raises(ExportError, match="no stream"):
        exporter(np.zeros(3), dtype("float64")).__dlpack__(**arguments)


@pytest.mark.parametrize("device", [(2, 0), (4, 0), (14, 1), (1, 1)])
def test_other_devices_are_refused(device: tuple[int, int], exporter: MakeExporter) -> None:
    with pytest.raises(ExportError, match="on the CPU"):
        exporter(np.zeros(3), dtype("float64")).__dlpack__(dl_device=device)


@pytest.mark.parametrize("arguments", [{}, V1])
def test_layouts_that_are_refused(arguments: dict[str, Any], exporter: MakeExporter) -> None:
    a = np.zeros((4, 4), np.float32)
    with pytest.raises(ExportError, match="negative"):
        exporter(a[::-1], F4).__dlpack__(**arguments)
    with pytest.raises(ExportError, match="negative"):
        exporter(a[:, ::-1], F4).__dlpack__(**arguments)
    field = np.zeros(4, [("x", "u1"), ("y", "f4")])["y"]
    with pytest.raises(ExportError, match="not multiples"):
        exporter(field, F4).__dlpack__(**arguments)
    window = np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), (4, 3), (4, 4))
    with pytest.raises(ExportError, match="overlap"):
        exporter(window, F4).__dlpack__(**arguments)
    row = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (5, 3), (0, 4))
    with pytest.raises(ExportError, match="overlap"):
        exporter(row, F4).__dlpack__(**arguments)


def test_overlapping_elements_may_be_read(exporter: MakeExporter) -> None:
    a = np.arange(3, dtype=np.float32)
    row = np.lib.stride_tricks.as_strided(a, (5, 3), (0, 4))
    seen = CpuTensor.wrap(exporter(row, F4, readonly=True))
    assert seen.readonly
    assert (seen.native.ctypes.data, seen.native.strides) == (a.ctypes.data, (0, 4))
    assert CpuTensor.wrap(exporter(np.broadcast_to(a, (5, 3)), F4)).readonly


@pytest.mark.writable_dlpack
def test_strides_of_axes_with_one_element_do_not_matter(exporter: MakeExporter) -> None:
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
    exporter: MakeExporter,
    name: str,
    shape: tuple[int, ...],
    arguments: dict[str, Any],
    content: Content,
) -> None:
    d = dtype(name)
    a = np.zeros(shape, d.carrier)
    capsule = exporter(a, d).__dlpack__(**arguments)
    assert content(capsule).tensor.ndim == len(shape)
    seen = CpuTensor.wrap(exporter(a, d)).native
    assert seen.shape == shape
    if a.size:
        seen[()] = 2
        assert a[()] == 2


def test_an_empty_array_with_impossible_strides(exporter: MakeExporter) -> None:
    a = np.zeros((4, 3), np.float32)[0:0, ::-1]
    assert min(a.strides) < 0
    assert np.from_dlpack(exporter(a, F4)).shape == (0, 3)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("arguments", [{}, V1])
def test_a_copy_is_counted_and_belongs_to_the_consumer(
    exporter: MakeExporter, name: str, arguments: dict[str, Any], content: Content
) -> None:
    d = dtype(name)
    counted: list[int] = []
    a = np.arange(6, dtype=d.carrier).reshape(2, 3)[::-1]
    shared = exporter(a, d, readonly=True, on_copy=counted.append)
    capsule = shared.__dlpack__(copy=True, **arguments)
    tensor, versioned, flags = content(capsule)
    assert counted == [6 * d.carrier.itemsize]
    assert flags == (IS_COPIED if versioned else 0)
    assert tensor.dtype.code == d.dlpack_code
    assert tensor.data != a.ctypes.data
    assert not tensor.strides or min(tensor.strides[:2]) > 0


@pytest.mark.writable_dlpack
def test_numpy_gets_a_writable_copy(exporter: MakeExporter) -> None:
    counted: list[int] = []
    a = np.arange(6, dtype=np.float32).reshape(2, 3)[::-1]
    copied = np.from_dlpack(exporter(a, F4, readonly=True, on_copy=counted.append), copy=True)
    assert copied.tolist() == a.tolist()
    copied[...] = 9
    assert a[0, 0] == 3
    assert counted == [24]


def test_nothing_is_counted_without_a_copy(exporter: MakeExporter) -> None:
    counted: list[int] = []
    np.from_dlpack(exporter(np.zeros(3), dtype("float64"), on_copy=counted.append), copy=False)
    assert counted == []


@pytest.mark.parametrize("name", ["float4_e2m1fn", "uint1", "int4", "nf4"])
def test_packed_types_are_refused(name: str, exporter: MakeExporter) -> None:
    with pytest.raises(ExportError, match="export the bytes as uint8"):
        exporter(np.zeros(3, np.uint8), dtype(name)).__dlpack__(**V1)


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
