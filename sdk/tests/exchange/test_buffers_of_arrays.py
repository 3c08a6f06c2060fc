# SPDX-License-Identifier: Apache-2.0
"""Arrays in buffers that can be closed: none is, while a tensor or what is made of it is there."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import samebytes
from samebytes.errors import UnsupportedObjectError

SIZE = 64 * 48
# How an array comes to lie in a buffer. The first takes the buffer's export; the others, which
# programs write, do not.
ARRAYS: dict[str, Callable[[Any], np.ndarray[Any, Any]]] = {
    "frombuffer": lambda b: np.frombuffer(b, np.uint8, SIZE).reshape(48, 64),
    "ndarray": lambda b: np.ndarray((48, 64), np.uint8, buffer=b),
    "a view": lambda b: np.ndarray((48, 64), np.uint8, buffer=b)[:, :32],
    "a view of a view": lambda b: np.ndarray((48, 64), np.uint8, buffer=b)[1:][:, ::2],
    "another dtype": lambda b: np.ndarray((48, 64), np.uint8, buffer=b).view(np.uint16),
    "a subclass": lambda b: np.ndarray((48, 64), np.uint8, buffer=b).view(np.matrix),
    "strides of its own": lambda b: as_strided(
        np.ndarray((48, 64), np.uint8, buffer=b), (48, 32), (64, 2)
    ),
    "a view of such": lambda b: as_strided(np.ndarray((48, 64), np.uint8, buffer=b))[:, 1:].view(),
    "read-only": lambda b: frozen(np.ndarray((48, 64), np.uint8, buffer=b)),
}


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


class Shared:
    """Shared memory, as the tests close it."""

    def __init__(self) -> None:
        self._memory = SharedMemory(create=True, size=SIZE)
        self._memory.unlink()
        self.buffer = self._memory.buf

    def close(self) -> None:
        self._memory.close()


class Mapped:
    """An anonymous mmap."""

    def __init__(self) -> None:
        self.buffer = mmap.mmap(-1, SIZE)

    def close(self) -> None:
        self.buffer.close()


class Resized:
    """A bytearray, whose bytes move when it grows."""

    def __init__(self) -> None:
        self.buffer = bytearray(SIZE)

    def close(self) -> None:
        self.buffer.extend(bytes(SIZE))


def mapped_tensor(array: Any) -> Any:
    return samebytes.tensor(array)


def mapped_native(array: Any) -> Any:
    return samebytes.tensor(array).native


def a_mapping(array: Any) -> Any:
    return samebytes.tensor(array).map("cpu")


def a_frame(array: Any) -> Any:
    rows = array if array.ndim == 2 else array.reshape(48, 64)
    kind = "GRAY8" if array.itemsize == 1 else "GRAY16LE"
    return samebytes.frame(np.asarray(rows), format=kind)


@pytest.mark.parametrize("made", [mapped_tensor, mapped_native, a_mapping, a_frame])
@pytest.mark.parametrize("memory", [Shared, Mapped, Resized])
@pytest.mark.parametrize("how", ARRAYS)
def test_a_buffer_stays_open_while_its_array_is_used(how: str, memory: Any, made: Any) -> None:
    owner = memory()
    array = ARRAYS[how](owner.buffer)
    used = made(array)
    expected = array.dtype, array.shape, array.strides, array.flags.writeable
    native = used if isinstance(used, np.ndarray) else used.native
    native = native[0] if isinstance(native, tuple) else native
    if made is not a_mapping:
        assert (native.dtype, native.shape, native.strides, native.flags.writeable) == expected
    assert np.shares_memory(native, array)
    del array, native
    with pytest.raises(BufferError):
        owner.close()
    del used
    gc.collect()
    owner.close()


@pytest.mark.parametrize(
    "view",
    [
        lambda whole: sliding_window_view(whole, (8, 8)),
        lambda whole: np.broadcast_to(whole, (2, 48, 64)),
        lambda whole: as_strided(sliding_window_view(whole, (8, 8)), (2, 3), (1, 64)),
    ],
    ids=["windows", "broadcast", "both"],
)
def test_views_that_overlap_hold_the_buffer_too(view: Callable[[Any], Any]) -> None:
    owner = Shared()
    array = view(np.ndarray((48, 64), np.uint8, buffer=owner.buffer))
    tensor = samebytes.tensor(array)
    del array
    with pytest.raises(BufferError):
        owner.close()
    del tensor
    gc.collect()
    owner.close()


def test_a_memmap_is_held_too(tmp_path: Path) -> None:
    file = tmp_path / "pixels"
    file.write_bytes(bytes(SIZE))
    array: Any = np.memmap(file, np.uint8, "r+", shape=(48, 64))
    tensor = samebytes.tensor(array)
    with pytest.raises(BufferError):
        array._mmap.close()
    del tensor
    array._mmap.close()


def test_an_array_whose_buffer_is_closed_already_is_refused() -> None:
    owner = Shared()
    array = np.ndarray((48, 64), np.uint8, buffer=owner.buffer)
    owner.close()
    with pytest.raises(UnsupportedObjectError, match="the memory of this array is gone"):
        samebytes.tensor(array)


@pytest.mark.parametrize("how", [name for name in ARRAYS if name != "another dtype"])
def test_the_bases_of_such_an_array_end_with_what_was_made_from_the_buffer(how: str) -> None:
    """Devices that write whole pages look there for what belongs to the memory."""
    buffer = mmap.mmap(-1, 8192)
    given = ARRAYS[how](buffer)
    wrapped = samebytes.tensor(given).native
    assert wrapped.__array_interface__["data"][0] == given.__array_interface__["data"][0]
    first, ours = (first_of(array) for array in (given, wrapped))
    assert ours.__array_interface__["data"][0] == first.__array_interface__["data"][0]
    assert ours.nbytes == (first.nbytes if first.flags.forc else len(buffer))


def first_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that lies in the buffer itself."""
    while array.base is not None:
        between = not isinstance(array.base, np.ndarray)  # an object of numpy.lib.stride_tricks
        base = getattr(array.base, "base", None) if between else array.base
        if not isinstance(base, np.ndarray):
            break
        array = base
    return array
