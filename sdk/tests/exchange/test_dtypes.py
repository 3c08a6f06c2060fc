# SPDX-License-Identifier: Apache-2.0
"""The table of element types."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes import CpuTensor, dtype
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

IN_NUMPY = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
CARRIED = {
    "bfloat16": ("uint16", 4),
    "float8_e4m3fn": ("uint8", 10),
    "float8_e5m2": ("uint8", 12),
    "float8_e8m0fnu": ("uint8", 14),
}
PACKED = {
    "float4_e2m1fn": (4, 17),
    "uint1": (1, 1),
    "uint2": (2, 1),
    "uint3": (3, 1),
    "uint4": (4, 1),
    "uint6": (6, 1),
    "int2": (2, 0),
    "int4": (4, 0),
    "nf4": (4, None),
}
FOREIGN = ">" if sys.byteorder == "little" else "<"


@pytest.mark.parametrize("name", IN_NUMPY)
def test_numpy_dtypes_go_both_ways(name: str) -> None:
    d = dtype(name)
    assert d.numpy == d.carrier == np.dtype(name)
    assert d.itemsize == np.dtype(name).itemsize
    assert d.bits == 8 * np.dtype(name).itemsize
    assert not d.packed
    assert dtype(np.dtype(name)) is d
    assert dtype(np.dtype(name).type) is d
    assert dtype(d) is d
    assert str(d) == name


@pytest.mark.parametrize("name", IN_NUMPY)
def test_dlpack_codes_are_those_that_numpy_writes(
    name: str, content: Callable[[object], Any], raw_producer: Callable[..., Any]
) -> None:
    a = np.zeros(1, name)
    capsule = a.__dlpack__()
    element = content(capsule).tensor.dtype
    assert element.code == dtype(name).dlpack_code
    assert (element.bits, element.lanes) == (dtype(name).bits, 1)
    producer = raw_producer(a.ctypes.data, (1,), (1,), code=element.code, bits=element.bits)
    assert CpuTensor.wrap(producer).dtype is dtype(name)


@pytest.mark.parametrize(("name", "carrier", "code"), [(n, *v) for n, v in CARRIED.items()])
def test_types_without_a_numpy_dtype_are_carried(
    name: str, carrier: str, code: int, raw_producer: Callable[..., Any]
) -> None:
    d = dtype(name)
    assert d.numpy is None
    assert d.carrier == np.dtype(carrier)
    assert d.itemsize == np.dtype(carrier).itemsize
    assert d.dlpack_code == code
    a = np.zeros(1, carrier)
    producer = raw_producer(a.ctypes.data, (1,), (1,), code=code, bits=d.bits)
    assert CpuTensor.wrap(producer).dtype is d


@pytest.mark.parametrize(("name", "bits", "code"), [(n, *v) for n, v in PACKED.items()])
def test_packed_types_have_no_itemsize(name: str, bits: int, code: int | None) -> None:
    d = dtype(name)
    assert (d.bits, d.packed, d.itemsize, d.numpy) == (bits, True, None, None)
    assert d.carrier == np.dtype("uint8")
    assert d.dlpack_code == code


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (bool, "bool"),
        (int, "int64"),
        (float, "float64"),
        (complex, "complex128"),
        (np.longlong, "int64"),
        (np.dtype("<u2" if sys.byteorder == "little" else ">u2"), "uint16"),
    ],
)
def test_other_spellings(given: Any, name: str) -> None:
    assert dtype(given) is dtype(name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.dtype(object), "Python objects"),
        (np.dtype([("x", "u1"), ("y", "f4")]), "its fields one by one"),
        (np.dtype([("x", object)]), "its fields one by one"),
        (np.dtype(("u1", (2,))), "structured"),
        (np.dtype("U3"), "string"),
        (np.dtype("S3"), "string"),
        (np.dtypes.StringDType(), "StringDType"),
        (np.dtype("M8[s]"), "date"),
        (np.dtype("m8[s]"), "date"),
        (np.dtype("V2"), "not supported"),
        (np.dtype(np.longdouble), "not supported"),
        (np.object_, "Python objects"),
        (np.floating, "family of types"),
    ],
)
def test_dtypes_that_no_memory_here_can_have(given: Any, said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        dtype(given)


def test_foreign_byte_order_says_how_to_get_rid_of_it() -> None:
    a = np.arange(3, dtype=f"{FOREIGN}i4")
    with pytest.raises(LayoutError) as raised:
        dtype(a.dtype)
    assert '`.astype(a.dtype.newbyteorder("="))` makes a copy' in str(raised.value)
    assert raised.value.__context__ is None  # a traceback would show a KeyError before it
    native = a.astype(a.dtype.newbyteorder("="))
    assert dtype(native.dtype) is dtype("int32")
    assert native.tolist() == [0, 1, 2]


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="bfloat16"):
        dtype("bfloat61")


@pytest.mark.parametrize("given", [3, None, b"uint8", list])
def test_what_is_not_a_dtype(given: Any) -> None:
    with pytest.raises(UnsupportedObjectError):
        dtype(given)


@pytest.mark.parametrize(("code", "bits"), [(2, 80), (99, 8)])
def test_unknown_dlpack_types(code: int, bits: int, raw_producer: Callable[..., Any]) -> None:
    a = np.zeros(16, np.uint8)
    with pytest.raises(LayoutError, match="no dtype for"):
        CpuTensor.wrap(raw_producer(a.ctypes.data, (1,), (1,), code=code, bits=bits))


def test_there_is_one_object_for_each_name() -> None:
    d = dtype("bfloat16")
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.deepcopy(d) is d
    assert {d: 1}[dtype("bfloat16")] == 1
    assert repr(d) == "dtype('bfloat16')"


def test_dtypes_are_frozen() -> None:
    with pytest.raises(AttributeError):
        dtype("uint8").bits = 7  # type: ignore[misc]


def test_ml_dtypes_are_carried_and_its_unpacked_ones_refused() -> None:
    ml_dtypes = pytest.importorskip(
        "ml_dtypes", reason="missing package ml_dtypes: pip install ml_dtypes"
    )
    for name in CARRIED:
        assert dtype(np.dtype(getattr(ml_dtypes, name))) is dtype(name)
        assert dtype(getattr(ml_dtypes, name)) is dtype(name)
    with pytest.raises(LayoutError, match="in its own byte"):
        dtype(np.dtype(ml_dtypes.int4))
