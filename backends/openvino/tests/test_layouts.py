# SPDX-License-Identifier: Apache-2.0
"""Arrays as OpenVINO tensors: every element type, regions, and what is refused."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Tensor, TensorInfo, dtype
from samebytes.errors import (
    AccessError,
    CopyRequiredError,
    LayoutError,
    NoRouteError,
    UnknownNameError,
)
from samebytes_openvino import PinnedTensor, ReadOnlyTensor

Array = np.ndarray[Any, Any]

# OpenVINO's name -> ours.
NUMPY_TYPES = {
    "boolean": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "f32": "float32", "f64": "float64",
}  # fmt: skip
CARRIED_TYPES = {
    "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e8m0": "float8_e8m0fnu",
}  # fmt: skip
PACKED_TYPES = {
    "u1": "uint1", "u2": "uint2", "u3": "uint3", "u4": "uint4", "u6": "uint6", "i4": "int4",
    "nf4": "nf4", "f4e2m1": "float4_e2m1fn",
}  # fmt: skip
# OpenVINO before 2026 lacks these.
LACKING = {"u2", "u3", "u6"} - set(dir(openvino.Type))
for _name in LACKING:
    del PACKED_TYPES[_name]


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def openvino_tensor(array: Array, access: Any = "rw") -> Tensor:
    return samebytes.tensor(array).map("openvino", access)


@pytest.mark.parametrize(("theirs", "ours"), NUMPY_TYPES.items())
def test_numpys_types(theirs: str, ours: str) -> None:
    array = np.zeros((2, 3), ours)
    mapped = openvino_tensor(array)
    assert mapped.native.element_type == getattr(openvino.Type, theirs)
    assert mapped.info == TensorInfo(ours, (2, 3))
    mapped.native.data[1, 2] = 1
    assert array[1, 2] == 1
    array[0, 0] = 1
    assert mapped.host_array()[0, 0] == 1
    assert address(mapped.host_array()) == address(array)


@pytest.mark.parametrize(("theirs", "ours"), CARRIED_TYPES.items())
def test_types_that_numpy_lacks(theirs: str, ours: str) -> None:
    native = openvino.Tensor(getattr(openvino.Type, theirs), [2, 6])
    tensor = samebytes.tensor(native)
    assert tensor.dtype is dtype(ours)
    assert tensor.shape == (2, 6)
    there = tensor.map("cpu", "rw")
    assert there.dtype is dtype(ours)
    there.native[1, 2] = 7
    assert native.data.view(there.native.dtype)[1, 2] == 7
    back = there.map("openvino", "rw")
    assert back.native.element_type == native.element_type
    assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
    assert address(back.native.data) == address(native.data)


@pytest.mark.parametrize(("theirs", "ours"), PACKED_TYPES.items())
def test_packed_types_are_bytes(theirs: str, ours: str) -> None:
    native = openvino.Tensor(getattr(openvino.Type, theirs), [3, 5])
    tensor = samebytes.tensor(native)
    assert tensor.info == TensorInfo(ours, (3, 5))
    there = tensor.map("cpu", "rw")
    assert there.native.dtype == np.uint8
    assert there.native.nbytes == native.byte_size
    there.native[-1] = 5
    assert native.data.view(np.uint8)[-1] == 5
    back = there.map("openvino", "rw")
    assert back.native.element_type == native.element_type
    assert (back.dtype, back.shape) == (tensor.dtype, (3, 5))
    assert address(back.native.data) == address(native.data)


def test_every_type_of_openvino_is_known() -> None:
    known = {*NUMPY_TYPES, *CARRIED_TYPES, *PACKED_TYPES, "string", "dynamic"}
    # Asking for "undefined" warns: it is the old name of "dynamic".
    theirs = {
        name
        for name in set(dir(openvino.Type)) - {"undefined"}
        if isinstance(getattr(openvino.Type, name), openvino.Type)
    }
    assert theirs == known


@pytest.mark.skipif(not LACKING, reason="this OpenVINO has every element type")
def test_types_that_this_openvino_lacks_are_refused_by_name() -> None:
    for name in LACKING:
        ours = name.replace("u", "uint")
        with pytest.raises(UnknownNameError, match=ours):
            samebytes.context("openvino").allocate((2, 8), ours)


def test_strings_are_refused() -> None:
    with pytest.raises(LayoutError, match=r"'string' cannot be shared: read Tensor\.str_data"):
        samebytes.tensor(openvino.Tensor(["one", "two"]))


WHOLE = np.arange(6 * 8 * 4, dtype=np.uint8).reshape(6, 8, 4)
REGIONS = {
    "columns": np.s_[:, 2:5],
    "right columns": np.s_[:, 3:],
    "left columns": np.s_[:, :5],
    "last corner": np.s_[3:, 6:],
    "first corner": np.s_[:2, :3],
    "one column": np.s_[:, 4:5],
    "one row": np.s_[2:3, 1:7],
    "a channel": np.s_[:, :, 1:2],
    "last channels": np.s_[:, :, 2:],
    "inner": np.s_[1:5, 2:7, 1:3],
    "rows apart": np.s_[::2],
    "pixels apart": np.s_[:, ::2],
    "a plane": np.s_[:, 3],
}


@pytest.mark.parametrize("region", REGIONS.values(), ids=list(REGIONS))
def test_regions(region: Any) -> None:
    whole = WHOLE.copy()
    array = whole[region]
    mapped = openvino_tensor(array)
    view = mapped.native.data
    assert address(view) == address(array)
    assert view.shape == array.shape
    np.testing.assert_array_equal(view, array)
    assert (mapped.shape, mapped.strides) == (view.shape, view.strides)
    view[...] = 255
    assert (array == 255).all()
    untouched = np.ones(whole.shape, bool)
    untouched[region] = False
    np.testing.assert_array_equal(whole[untouched], WHOLE[untouched])
    again = mapped.map("cpu", "rw").native
    assert (address(again), again.strides) == (address(view), view.strides)


def test_no_tensor_reaches_past_its_memory() -> None:
    """The array ends where the process's memory ends; OpenVINO's wider tensor must not."""
    whole = WHOLE.copy()
    low, high = address(whole), address(whole) + whole.nbytes
    region: Any
    for region in REGIONS.values():
        native = openvino_tensor(whole[region]).native
        for tensor in filter(None, (native, getattr(native, "pin", None))):
            assert low <= address(tensor.data)
            assert address(tensor.data) + tensor.byte_size <= high


def test_padding_that_may_be_somebody_elses() -> None:
    rows = np.zeros(5 * 16 + 10, np.uint8)
    short = np.ndarray((6, 10), np.uint8, rows, 0, (16, 1))
    with pytest.raises(CopyRequiredError, match="6 bytes before a whole number of padded rows"):
        openvino_tensor(short, "r")
    early = np.ndarray((5, 10), np.uint8, rows, 10, (16, 1))
    mapped = openvino_tensor(early)
    assert address(mapped.native.data) == address(early)
    assert mapped.native.pin.byte_size == 5 * 16


def test_buffers_that_arrays_were_made_from() -> None:
    pages = mmap.mmap(-1, 4096)
    array = np.ndarray((8, 10), np.uint8, pages, 16, (16, 1))
    mapped = openvino_tensor(array)
    mapped.native.data[7, 9] = 3
    assert pages[16 + 7 * 16 + 9] == 3
    exact: Any = (ctypes.c_ubyte * (7 * 16 + 10))()
    with pytest.raises(CopyRequiredError, match="padded rows"):
        openvino_tensor(np.ndarray((8, 10), np.uint8, exact, 0, (16, 1)), "r")


def test_memory_without_known_end() -> None:
    whole = np.zeros((4, 16), np.uint8)
    strided = np.lib.stride_tricks.as_strided(whole, (4, 10), (16, 1))
    with pytest.raises(CopyRequiredError, match="not known how far its memory reaches"):
        openvino_tensor(strided, "r")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (WHOLE[::-1], "are negative"),
        (WHOLE[:, ::-1], "are negative"),
        (np.broadcast_to(WHOLE[:1], WHOLE.shape), "a broadcast axis"),
        (WHOLE.transpose(2, 0, 1), "transposed"),
        (WHOLE[:, :, ::2], "gaps between the elements of a row"),
        (WHOLE.reshape(-1)[:180].reshape(6, 30)[:, :20].reshape(6, 20)[:, ::3], "gaps"),
        (np.lib.stride_tricks.sliding_window_view(WHOLE[0, :, 0].copy(), 3), "overlap"),
        (np.ndarray((4, 3), np.uint16, bytes(64), 0, (9, 2)), "9 bytes are not a multiple of"),
        (np.zeros((2, 2), np.complex64), "no element type for complex64"),
    ],
)
def test_refused_layouts(array: Array, reason: str) -> None:
    with pytest.raises((CopyRequiredError, NoRouteError)) as caught:
        openvino_tensor(array, "r")
    assert reason in str(caught.value)


def test_refused_layouts_can_be_copied() -> None:
    samebytes.reset_stats()
    mapped = samebytes.tensor(WHOLE[::-1]).map("openvino", copy=True)
    np.testing.assert_array_equal(mapped.native.data, WHOLE[::-1])
    assert samebytes.stats().copied_bytes == WHOLE.nbytes


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (0, 4), (1,), (1, 1, 1)])
def test_few_elements(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.float32)
    mapped = openvino_tensor(array)
    assert mapped.shape == shape
    assert mapped.native.data.shape == shape
    if array.size:
        mapped.native.data[...] = 3
        assert (array == 3).all()
    assert mapped.map("cpu").shape == shape


def test_strides_of_single_elements_do_not_matter() -> None:
    odd = np.ndarray((3, 1, 4), np.float32, np.zeros(64, np.uint8), 0, (16, 7, 4))
    assert openvino_tensor(odd).native.is_continuous()
    padded = np.ndarray((3, 1, 4), np.float32, np.zeros(96, np.uint8), 0, (32, 7, 4))
    mapped = openvino_tensor(padded)
    mapped.native.data[2, 0, 3] = 5
    assert padded[2, 0, 3] == 5


def test_read_only_arrays() -> None:
    array = np.frombuffer(bytes(range(48)), np.uint8).reshape(6, 8)
    for source in (array, array[:, :5]):
        mapped = openvino_tensor(source, "r")
        assert mapped.readonly
        assert address(mapped.native.data) == address(source)
        np.testing.assert_array_equal(mapped.native.data, source)
        assert not mapped.host_array().flags.writeable
        with pytest.raises(AccessError):
            openvino_tensor(source)


def all_arrays_below(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """An array, and what it is a view of."""
    found = [array]
    while isinstance(found[-1].base, np.ndarray):
        found.append(found[-1].base)
    return found


@pytest.mark.parametrize("of", ["samebytes", "OpenVINO"])
@pytest.mark.parametrize("what", ["float32", "uint8", "bfloat16", "int4", "NV12", "I420"])
def test_read_only_arrays_stay_read_only(what: str, of: str) -> None:
    """Neither they nor what they are views of can be made writable: a write may be a signal."""
    cpu = samebytes.context("cpu")
    if what.isupper():
        mapped = cpu.allocate_frame(what, 64, 32).map("openvino", "rw" if of == "OpenVINO" else "r")
        arrays = [plane.native for plane in mapped.map("cpu", "r").planes]
    else:
        source = cpu.allocate((4, 8), what).map("openvino", "rw" if of == "OpenVINO" else "r")
        tensor = samebytes.tensor(source.native) if of == "samebytes" else source
        arrays = [tensor.map("cpu", "r").native]
        tensor.readonly = True
        arrays.append(tensor.host_array())
    for array in arrays:
        for below in all_arrays_below(array):
            assert not below.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                below.flags.writeable = True


def test_our_natives_know_that_they_are_read_only() -> None:
    array = np.zeros((4, 8), np.uint8)
    for source in (array, array[:, :5]):
        native = openvino_tensor(source, "r").native
        assert isinstance(native, PinnedTensor)
        assert samebytes.tensor(native).readonly
        with pytest.raises(AccessError):
            samebytes.tensor(native).map("cpu", "rw")
        assert not samebytes.tensor(openvino_tensor(source).native).readonly


@pytest.mark.parametrize("element", ["uint8", "bfloat16", "int4"])
def test_read_only_natives_are_not_written(element: str) -> None:
    """Their memory may be mapped so that writing ends the process."""
    source = samebytes.context("cpu").allocate((4, 8), element)
    source.readonly = True
    native = source.map("openvino").native
    assert type(native) is ReadOnlyTensor
    kept = bytes(native.data)
    with pytest.raises(ValueError, match="read-only"):
        native.data[...] = 1
    other = openvino.Tensor(native.element_type, native.shape)
    with pytest.raises(AccessError, match=r"copy_from\(\) of a read-only openvino\.Tensor"):
        native.copy_from(other)
    with pytest.raises(AccessError, match=r"copy_to\(\) into a read-only openvino\.Tensor"):
        source.map("openvino").native.copy_to(native)
    assert bytes(native.data) == kept
    native.copy_to(other)  # reading goes on
    assert bytes(other.data) == kept


def test_writable_natives_have_the_data_of_openvino_itself() -> None:
    """No code of Python's stands before `data`, which is read for each frame."""
    assert PinnedTensor.data is openvino.Tensor.data
    native = openvino_tensor(np.zeros((4, 8), np.uint8)).native
    assert type(native) is PinnedTensor
    native.copy_from(np.ones((4, 8), np.uint8))
    openvino_tensor(np.full((4, 8), 2, np.uint8), "r").native.copy_to(native)
    assert (native.data == 2).all()


def test_regions_made_by_openvino() -> None:
    whole = openvino.Tensor(np.zeros((4, 8), np.float32), shared_memory=True)
    region = openvino.Tensor(whole, [1, 2], [3, 6])
    tensor = samebytes.tensor(region)
    assert (tensor.shape, tensor.strides) == ((2, 4), (32, 4))
    view = tensor.map("cpu", "rw").native
    view[...] = 1
    assert whole.data.sum() == 8
    assert whole.data[1, 2] == 1


@pytest.mark.parametrize(
    "ours", [*NUMPY_TYPES.values(), *CARRIED_TYPES.values(), *PACKED_TYPES.values()]
)
def test_allocating(ours: str) -> None:
    tensor = samebytes.context("openvino").allocate((3, 5), ours)
    assert tensor.info == TensorInfo(ours, (3, 5))
    assert tensor.native.element_type.is_static
    view = tensor.host_array()
    assert not view.any()
    view[...] = 1
    del view
    assert tensor.map("cpu").native.any()
    tensor.close()
    assert tensor.closed


def test_allocating_what_openvino_lacks() -> None:
    with pytest.raises(LookupError, match="complex64"):
        samebytes.context("openvino").allocate((2, 2), "complex64")
    with pytest.raises(LookupError, match="int2"):
        samebytes.context("openvino").allocate((2, 2), "int2")


@pytest.mark.parametrize("ours", ["uint8", "bfloat16", "uint4", "nf4"])
def test_what_is_held_outlives_close(ours: str) -> None:
    tensor = samebytes.context("openvino").allocate((3, 8), ours)
    end, array, native = weakref.ref(tensor.storage), tensor.host_array(), tensor.native
    array[0] = 1
    assert tensor.close() is False
    assert native.element_type.is_static
    del native
    assert array[0].any()
    del array
    assert end() is None


def test_dlpack() -> None:
    array = np.arange(32, dtype=np.float32).reshape(4, 8)
    taken = np.from_dlpack(openvino_tensor(array[:, :5]))
    assert address(taken) == address(array)
    np.testing.assert_array_equal(taken, array[:, :5])


def test_both_names_of_the_context() -> None:
    assert samebytes.context("openvino:CPU") is samebytes.context("openvino")
