# SPDX-License-Identifier: Apache-2.0
"""Arrays in storages, and the native object of backends that have only pointers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Storage, TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError
from samebytes.plugins import PointerArray, array_in, data_address

from .conftest import Pages


class Pointer(PointerArray):
    """As a backend's."""

    __slots__ = ()

    host_kinds = frozenset(("shared",))


def pointer(pages: Pages, info: TensorInfo, offset: int = 0, kind: str = "shared") -> Pointer:
    """An array in the pages, which nothing else holds."""
    storage = pages.storage()
    return Pointer(sb.context("cpu"), storage.address + offset, info, kind, storage)


@pytest.mark.parametrize(
    ("info", "offset"),
    [
        (TensorInfo("uint16", (3, 4)), 0),
        (TensorInfo("float32", (3, 4), (32, 4)), 64),
        (TensorInfo("uint8", (3, 4), (-16, 1)), 200),
    ],
)
def test_an_array_lies_in_its_storage_and_holds_it(
    pages: Pages, info: TensorInfo, offset: int
) -> None:
    storage = pages.storage()
    array = array_in(storage, info, offset)
    assert data_address(array) == storage.address + offset
    assert (array.shape, array.strides) == (info.shape, info.strides)
    array[...] = 7
    begin, end = (offset + at for at in info.extent)
    assert not pages.array[:begin].any()
    assert not pages.array[end:].any()
    row = array[1]
    del storage, array
    assert pages.released == 0
    del row
    assert pages.released == 1


def test_elements_below_8_bits_are_their_bytes(pages: Pages) -> None:
    array = array_in(pages.storage(), TensorInfo("uint4", (3, 3)), 16)
    assert (array.dtype, array.shape) == (np.uint8, (5,))


@pytest.mark.parametrize("dtype", ["float64", "uint4"])
def test_without_elements_any_storage_will_do(dtype: str) -> None:
    info = TensorInfo(dtype, (0, 4))
    for offset in (0, 100):
        assert array_in(Storage(), info, offset).size == 0


@pytest.mark.parametrize("offset", [-1, 4096 - 11, 1 << 40])
def test_an_array_cannot_reach_outside(pages: Pages, offset: int) -> None:
    message = rf"needs bytes {offset} to {offset + 12} of its storage, which has 4096 bytes"
    for info in (TensorInfo("uint8", (12,)), TensorInfo("uint4", (3, 8))):
        with pytest.raises(ValueError, match=message):
            array_in(pages.storage(), info, offset)


@pytest.mark.parametrize("dtype", ["float32", "uint4"])
def test_an_array_cannot_lie_where_the_cpu_has_no_bytes(pages: Pages, dtype: str) -> None:
    empty = Storage(address=pages.array.ctypes.data)
    for storage in (Storage(nbytes=100), empty):
        with pytest.raises(ValueError, match="which has 0 bytes that the CPU can use"):
            array_in(storage, TensorInfo(dtype, (4,)))


def test_a_pointer_array_holds_its_memory(pages: Pages) -> None:
    native: Any = pointer(pages, TensorInfo("uint8", (4, 4)), 32)
    array = native.part(TensorInfo("uint8", (2, 2), (4, 1)), 5).array()
    gone = weakref.ref(native)
    del native
    gc.collect()
    assert gone() is None
    assert data_address(array) == pages.array.ctypes.data + 37
    assert pages.released == 0
    del array
    assert pages.released == 1


def test_a_readonly_pointer_array_gives_readonly_arrays(pages: Pages) -> None:
    native = pointer(pages, TensorInfo("uint8", (4,)))
    assert native.array().flags.writeable
    for readonly in (native.as_readonly(), native.as_readonly().part(native.info, 0)):
        assert type(readonly) is Pointer
        assert not readonly.array().flags.writeable
        assert not readonly._addressed().flags.writeable


def test_memory_that_the_cpu_cannot_read_has_an_address_only(pages: Pages) -> None:
    native = pointer(pages, TensorInfo("bfloat16", (4, 2), (8, 2)), 8, "device")
    assert not native.host_visible
    with pytest.raises(NotHostVisibleError, match="copy=True"):
        native.array()
    addressed = native._addressed()
    assert data_address(addressed) == native.address
    assert addressed.strides == (8, 2)


@pytest.mark.parametrize(("shape", "offset"), [((5,), 0), ((4,), 1), ((1,), -1)])
def test_a_part_cannot_reach_outside(pages: Pages, shape: tuple[int, ...], offset: int) -> None:
    native = pointer(pages, TensorInfo("uint8", (4,)), 64)
    with pytest.raises(LayoutError, match="needs bytes"):
        native.part(TensorInfo("uint8", shape), offset)


def test_a_part_is_described_as_users_pass_it(pages: Pages) -> None:
    native = pointer(pages, TensorInfo("uint8", (32,)), 64)
    rest = native.described(dtype="uint16", offset=8)
    assert (rest.info, rest.address) == (TensorInfo("uint16", (12,)), native.address + 8)
    rows = native.described((2, 3), strides=(16, 1))
    assert rows.info == TensorInfo("uint8", (2, 3), (16, 1))
    with pytest.raises(LayoutError, match="needs bytes"):
        native.described((33,))
