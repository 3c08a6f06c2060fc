# SPDX-License-Identifier: Apache-2.0
"""Other libraries' memory as arrays: in place, and kept alive by the array alone."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes import CpuTensor, dtype
from samebytes.errors import LayoutError, UnsupportedObjectError

FOREIGN = ">" if sys.byteorder == "little" else "<"


class Interface:
    """An object with nothing but `__array_interface__`."""

    def __init__(self, source: np.ndarray[Any, Any], **changed: Any) -> None:
        self.source = source
        self.__array_interface__ = {**source.__array_interface__, **changed}


def test_an_array_passes_straight_through() -> None:
    a = np.zeros((3, 4), np.int16)[:, ::2]
    got = CpuTensor.wrap(a)
    assert got.native is a
    assert got.storage.keep is a
    assert got.dtype is dtype("int16")
    assert not got.readonly
    a.flags.writeable = False
    assert CpuTensor.wrap(a).readonly


def test_subclasses_of_ndarray() -> None:
    m = np.zeros((2, 2)).view(np.matrix)
    got = CpuTensor.wrap(m)
    assert type(got.native) is np.ndarray
    got.native[1, 1] = 5
    assert m[1, 1] == 5
    with pytest.raises(LayoutError, match="masked"):
        CpuTensor.wrap(np.ma.masked_array([1, 2], [True, False]))


@pytest.mark.parametrize("name", ["O", "U2", "M8[s]", f"{FOREIGN}f4"])
def test_arrays_that_nobody_else_can_read(name: str) -> None:
    with pytest.raises(LayoutError):
        CpuTensor.wrap(np.zeros(2, name))


def test_ml_dtypes_arrays_come_as_their_bits() -> None:
    ml_dtypes = pytest.importorskip(
        "ml_dtypes", reason="missing package ml_dtypes: pip install ml_dtypes"
    )
    a = np.ones((2, 3), ml_dtypes.bfloat16)[:, ::2]
    got = CpuTensor.wrap(a)
    assert got.dtype is dtype("bfloat16")
    assert (got.native.ctypes.data, got.native.strides) == (a.ctypes.data, a.strides)
    got.native[0, 0] = 0x4000
    assert float(a[0, 0]) == 2.0


CTYPES_2X3 = (ctypes.c_int32 * 3) * 2


@pytest.mark.parametrize(
    ("make", "name", "shape"),
    [
        (lambda: bytearray(5), "uint8", (5,)),
        (lambda: mmap.mmap(-1, 64), "uint8", (64,)),
        (lambda: array.array("h", [1, 2]), "int16", (2,)),
        (lambda: array.array("l", [1, 2]), f"int{8 * ctypes.sizeof(ctypes.c_long)}", (2,)),
        (lambda: array.array("Q", [1, 2]), "uint64", (2,)),
        (lambda: array.array("d", [1, 2]), "float64", (2,)),
        (CTYPES_2X3, "int32", (2, 3)),
        (ctypes.c_char * 4, "uint8", (4,)),
        (ctypes.c_bool * 4, "bool", (4,)),
        (lambda: ctypes.c_double(1), "float64", ()),
        (lambda: memoryview(bytearray(6)).cast("B", (2, 3)), "uint8", (2, 3)),
        (lambda: np.zeros(3, np.float16).data, "float16", (3,)),
        (lambda: np.zeros(3, np.complex64).data, "complex64", (3,)),
    ],
)
def test_buffers_are_used_in_place(
    make: Callable[[], Any], name: str, shape: tuple[int, ...]
) -> None:
    obj = make()
    got = CpuTensor.wrap(obj)
    assert got.dtype is dtype(name)
    assert got.native.dtype == dtype(name).numpy
    assert got.native.shape == shape
    assert not got.readonly
    seen = np.frombuffer(obj, np.uint8)
    assert got.native.ctypes.data == seen.ctypes.data
    got.native.reshape(-1).view(np.uint8)[0] = 1 if name == "bool" else 77
    assert seen[0] == (1 if name == "bool" else 77)


def test_a_read_only_buffer() -> None:
    source = b"abc"
    got = CpuTensor.wrap(source)
    assert got.readonly
    assert not got.native.flags.writeable
    assert got.native.ctypes.data == np.frombuffer(source, np.uint8).ctypes.data
    assert got.native.tolist() == [97, 98, 99]


@pytest.mark.parametrize("step", [2, -1])
def test_a_buffer_with_strides(step: int) -> None:
    source = bytearray(range(6))
    got = CpuTensor.wrap(memoryview(source)[::step])
    assert got.native.strides == (step,)
    got.native[1] = 99
    assert source.index(99) == (2 if step == 2 else 4)


@pytest.mark.parametrize("empty", [b"", (ctypes.c_int * 0)(), array.array("d")])
def test_empty_buffers(empty: Any) -> None:
    assert CpuTensor.wrap(empty).native.shape == (0,)


class Record(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int)]


@pytest.mark.parametrize(
    "obj",
    [
        (Record * 2)(),
        (ctypes.c_wchar * 2)(),
        (ctypes.c_void_p * 2)(),
        (ctypes.c_longdouble * 2)(),
        array.array("u", "ab") if sys.version_info < (3, 13) else (ctypes.c_wchar * 1)(),
        np.zeros(2, f"{FOREIGN}i4").data,
    ],
)
def test_buffers_of_other_elements_are_refused_and_never_copied(obj: Any) -> None:
    with pytest.raises(LayoutError, match="buffer format"):
        CpuTensor.wrap(obj)


def test_a_mapping_stays_while_the_array_lives() -> None:
    mapping = mmap.mmap(-1, 4096)
    mapping[7] = 5
    kept = CpuTensor.wrap(mapping).native[4:]
    with pytest.raises(BufferError):
        mapping.close()
    del mapping
    gc.collect()
    kept[0] = 1
    assert kept[3] == 5


def test_the_users_memoryview_may_be_released() -> None:
    source = bytearray(4)
    view = memoryview(source)
    kept = CpuTensor.wrap(view).native
    view.release()
    kept[1] = 3
    assert source[1] == 3
    with pytest.raises(BufferError):
        source.append(1)


def test_an_array_interface_is_used_in_place() -> None:
    a = np.zeros((3, 4), np.float32)[:, ::2]
    got = CpuTensor.wrap(Interface(a))
    assert (got.native.ctypes.data, got.native.strides) == (a.ctypes.data, a.strides)
    assert got.dtype is dtype("float32")
    got.native[2, 1] = 6
    assert a[2, 1] == 6
    a.flags.writeable = False
    assert CpuTensor.wrap(Interface(a)).readonly


def test_the_owner_of_an_array_interface_lives_as_long_as_the_array() -> None:
    source = Interface(np.arange(1000))
    alive = weakref.ref(source)
    kept = CpuTensor.wrap(source).native[990:]
    del source
    gc.collect()
    assert alive() is not None
    assert kept.tolist() == list(range(990, 1000))
    del kept
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"data": (0, False)}, LayoutError, "null pointer"),
        ({"data": b"bytes"}, UnsupportedObjectError, "may be a copy"),
        ({"data": None}, UnsupportedObjectError, "may be a copy"),
        ({"data": (4096,)}, UnsupportedObjectError, "may be a copy"),
        ({"shape": (-1,)}, LayoutError, "negative extent"),
        ({"shape": (2**62,)}, LayoutError, "address space"),
        ({"shape": (2, 2.5)}, LayoutError, "tuple of ints"),
        ({"shape": None}, LayoutError, "tuple of ints"),
        ({"shape": (1,) * 65}, LayoutError, "65 axes"),
        ({"strides": (8, 8)}, LayoutError, "2 strides for shape"),
        ({"strides": (2**62,)}, LayoutError, "address space"),
        ({"strides": (-(2**62),)}, LayoutError, "address space"),
        ({"typestr": "nonsense"}, LayoutError, "not a dtype"),
        ({"typestr": None}, LayoutError, "not a dtype"),
        ({"typestr": "|O8"}, LayoutError, "Python objects"),
        ({"typestr": f"{FOREIGN}f8"}, LayoutError, "byte order"),
        ({"mask": np.zeros(4, bool)}, LayoutError, "mask"),
    ],
)
def test_array_interfaces_that_make_no_sense(
    changed: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        CpuTensor.wrap(Interface(np.zeros(4), **changed))


def test_an_array_interface_that_is_not_a_dict() -> None:
    source = Interface(np.zeros(4))
    source.__array_interface__ = [1]  # type: ignore[assignment]
    with pytest.raises(UnsupportedObjectError, match="not a dict"):
        CpuTensor.wrap(source)


def test_objects_that_share_nothing() -> None:
    class OnlyArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise AssertionError("__array__ may copy and must not be called")

    for obj in (OnlyArray(), [1, 2], 3, "text", None):
        with pytest.raises(UnsupportedObjectError, match="does not share its memory"):
            CpuTensor.wrap(obj)


class OnDevice:
    """As Numba's arrays are: the protocol names the memory, and `__array__` may refuse."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AssertionError("must not be asked: a driver may be loaded for it")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("implicit conversion is not allowed")


class InUSM:
    """As arrays of dpnp's are."""

    def __init__(self) -> None:
        self.__sycl_usm_array_interface__: dict[str, Any] = {}


class Countable:
    """As many arrays of devices are: numpy.asarray would make an array of Python objects of it."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> object:
        return object()


@pytest.mark.parametrize(
    ("obj", "remedy"),
    [
        ([1, 2], r"pass numpy.asarray\(obj\) if a copy"),
        (3.5, r"pass numpy.asarray\(obj\) if a copy"),
        (OnDevice(), "memory of a device, as its __cuda_array_interface__ says.* copy it to the"),
        (InUSM(), "memory of a device, as its __sycl_usm_array_interface__ says"),
        (Countable(), "samebytes plugin for its framework, or pass an array or a buffer"),
        ("text", "samebytes plugin for its framework, or pass an array or a buffer"),
    ],
)
def test_the_remedy_is_one_that_works_for_the_type(obj: Any, remedy: str) -> None:
    with pytest.raises(UnsupportedObjectError, match=remedy) as raised:
        CpuTensor.wrap(obj)
    if "numpy.asarray(obj)" in str(raised.value):
        assert CpuTensor.wrap(np.asarray(obj)).native.tolist() == obj
