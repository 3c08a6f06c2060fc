# SPDX-License-Identifier: Apache-2.0
"""close(): refused while anybody holds the memory, by whatever way they came to it."""

from __future__ import annotations

import ctypes
import gc
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import BusyError, ClosedError
from samebytes.plugins import CpuTensor, Storage

if TYPE_CHECKING:
    from sdk.tests.core.conftest import Pages

CPU = sb.context("cpu")


def as_buffer(tensor: CpuTensor) -> Any:
    """The array, whose buffer protocol the stubs of Python 3.11 cannot name."""
    return tensor.native


HOLDERS: dict[str, Callable[[CpuTensor], Any]] = {
    "np.asarray(tensor)": np.asarray,
    "np.array(tensor, copy=False)": lambda t: np.array(t, copy=False),
    "native": lambda t: t.native,
    "slice": lambda t: t.native[1:3],
    "slice of a slice": lambda t: t.native[4:12][2:5].reshape(-1),
    "transposed": lambda t: t.native.T,
    "other dtype": lambda t: t.native.view(np.uint16),
    "np.from_dlpack": np.from_dlpack,
    "slice of np.from_dlpack": lambda t: np.from_dlpack(t)[3:4, 2:],
    "versioned capsule, not consumed": lambda t: t.__dlpack__(max_version=(1, 0)),
    "legacy capsule, not consumed": lambda t: t.__dlpack__(),
    "memoryview": lambda t: memoryview(as_buffer(t)),
    "slice of a memoryview that is gone": lambda t: memoryview(as_buffer(t))[2:3],
    "np.frombuffer": lambda t: np.frombuffer(memoryview(as_buffer(t)), np.uint8),
    "np.ndarray(buffer=)": lambda t: np.ndarray((3,), np.uint8, memoryview(as_buffer(t))),
    "ctypes": lambda t: np.ctypeslib.as_ctypes(t.native),
    "ctypes from_buffer": lambda t: (ctypes.c_char * 4).from_buffer(
        memoryview(as_buffer(t)).cast("B")
    ),
    "PickleBuffer": lambda t: pickle.PickleBuffer(as_buffer(t)),
    "array interface of another class": lambda t: np.asarray(
        type("Other", (), {"__array_interface__": t.native.__array_interface__, "keep": t.native})()
    ),
    "mapped tensor": lambda t: t.map("cpu"),
    "native of a mapped tensor": lambda t: t.map("cpu", "rw").native,
    "mapped twice": lambda t: t.map("cpu").map("cpu"),
    "storage": lambda t: t.storage,
    "a frame over the array": lambda t: sb.frame(t.native, format="GRAY8"),
}
# Its array interface is a dict of numbers: numpy holds the object it came from, which here holds
# the array. Without `keep` nobody could know.


@pytest.mark.parametrize("name", HOLDERS)
def test_busy_while_held_then_closes(name: str, pages: Pages) -> None:
    tensor = pages.tensor()
    held = HOLDERS[name](tensor)
    with pytest.raises(BusyError, match="drop it first"):
        tensor.close()
    assert pages.released == 0
    tensor.native[0, 0] = 5  # as usable as before
    assert pages.array[0] == 5
    assert tensor.info.shape == (16, 16)
    del held
    gc.collect()
    tensor.close()
    assert pages.released == 1
    with pytest.raises(ClosedError):
        _ = tensor.native


@pytest.mark.parametrize("name", HOLDERS)
def test_last_drop_releases_without_close(name: str, pages: Pages) -> None:
    tensor = pages.tensor()
    held = HOLDERS[name](tensor)
    del tensor
    gc.collect()
    assert pages.released == 0
    del held
    gc.collect()
    assert pages.released == 1


def test_nobody_holds_it(pages: Pages) -> None:
    tensor = pages.tensor()
    tensor.close()
    assert pages.released == 1
    tensor.close()
    assert pages.released == 1


def test_borrowed_memory_just_closes() -> None:
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    child = tensor.map("cpu", "rw")
    tensor.close()
    child.native[1, 1] = 9
    assert array[1, 1] == 9
    with pytest.raises(ClosedError):
        tensor.map("cpu")


def use(tensor: sb.Tensor, name: str) -> None:
    """Read an attribute; call it if it is a method."""
    attribute = getattr(tensor, name)
    attribute("data") if name == "handle" else attribute()


def test_every_attribute_of_a_closed_tensor_raises() -> None:
    tensor = CPU.allocate((2, 2))
    names = [n for n in dir(tensor) if not n.startswith("_") and n not in ("close", "closed",
             "wrap", "home", "readonly_advice")]  # fmt: skip
    tensor.close()
    for name in names:
        with pytest.raises(ClosedError):
            use(tensor, name)
    assert tensor.closed
    assert repr(tensor) == "<CpuTensor closed>"
    with pytest.raises(ClosedError):
        np.asarray(tensor)
    with pytest.raises(ClosedError):
        tensor.__dlpack__()
    with pytest.raises(ClosedError), tensor:
        pass


def test_with_block_raises_at_its_end_if_held(pages: Pages) -> None:
    with pytest.raises(BusyError), pages.tensor() as tensor:
        array = np.asarray(tensor)
    del tensor
    assert pages.released == 0
    del array
    assert pages.released == 1


def fail_inside(tensor: CpuTensor) -> None:
    """A user's block that fails while an array of it lives in the traceback."""
    with tensor:
        array = np.asarray(tensor)
        raise KeyError(f"the user's, at {array[0, 0]}")


def test_with_block_never_masks_the_users_error(pages: Pages) -> None:
    tensor = pages.tensor()
    with pytest.raises(KeyError, match="the user's") as caught:
        fail_inside(tensor)
    assert pages.released == 0
    del caught, tensor
    gc.collect()
    assert pages.released == 1


def test_chained_storages_end_last_first_or_not_at_all() -> None:
    order: list[str] = []
    bytes_ = np.zeros(64, np.uint8)
    address = bytes_.__array_interface__["data"][0]
    outer = Storage(lambda: order.append("outer"), address=address, nbytes=64)
    inner = Storage(lambda: order.append("inner"), address=address, nbytes=64, keep=outer)
    array = np.asarray(inner)
    tensor = CpuTensor(array, CPU, inner, None, False, None, (outer, inner))
    held = np.asarray(outer)  # the outer one only
    del inner, outer, array
    with pytest.raises(BusyError):
        tensor.close()
    assert order == []
    tensor.native[1] = 4
    assert held[1] == 4
    del held
    tensor.close()
    assert order == ["inner", "outer"]


def test_a_release_that_raises_does_not_keep_the_others() -> None:
    order: list[str] = []

    def bad() -> None:
        order.append("inner")
        raise OSError("unmapping failed")

    outer = Storage(lambda: order.append("outer"))
    inner = Storage(bad, keep=outer)
    tensor = CpuTensor(np.zeros(1), CPU, inner, None, False, None, (outer, inner))
    del inner, outer
    with pytest.raises(OSError, match="unmapping failed"):
        tensor.close()
    assert order == ["inner", "outer"]


def test_frame_closes_its_planes() -> None:
    frame = CPU.allocate_frame("NV12", 64, 48)
    y, uv = frame
    frame.close()
    assert y.closed
    assert uv.closed
    assert frame.closed


def test_frame_with_a_held_plane_view_is_busy_and_stays_usable() -> None:
    frame = CPU.allocate_frame("NV12", 64, 48)
    chroma = frame.planes[1].native[2:4]
    with pytest.raises(BusyError):
        frame.close()
    frame.native[1][2, 0, 1] = 77
    assert chroma[0, 0, 1] == 77
    assert [p.shape for p in frame] == [(48, 64), (24, 32, 2)]
    del chroma
    frame.close()
    assert frame.closed


def test_frame_whose_plane_was_closed_by_itself() -> None:
    frame = CPU.allocate_frame("I420", 8, 8)
    frame.planes[1].close()
    held = frame.planes[0].native
    with pytest.raises(BusyError):
        frame.close()
    assert frame.planes[1].closed
    del held
    frame.close()


class Owned:
    """A tensor's native and parts, which nobody else holds."""

    def __init__(self, made: tuple[Storage, ...]) -> None:
        self.tensor = CpuTensor(np.asarray(made[-1]), CPU, made[-1], None, False, None, made)


@pytest.mark.parametrize("held", [False, True])
def test_what_lies_between_two_mappings_ends_with_them(held: bool) -> None:
    """Several mappings of a device may share a storage, which lies in that of the hop before."""
    released: list[str] = []
    memory = np.zeros(8, np.uint8)
    where = {"address": memory.__array_interface__["data"][0], "nbytes": 8}
    first = Storage(lambda: released.append("first"), keep=memory, **where)
    shared = Storage(lambda: released.append("shared"), keep=first, **where)
    part = Storage(keep=shared, **where)
    mapped = Owned((first, part)).tensor
    other = Storage(keep=shared, **where) if held else None
    del first, shared, part
    if held:
        with pytest.raises(BusyError):
            mapped.close()
        assert released == []
        mapped.native[0] = 3  # it stays usable
        del other
    mapped.close()
    assert released == ["shared", "first"]


def test_a_frame_that_lies_in_several_memories() -> None:
    """Its storage owns all of them; what close() could not end is as it was."""
    pieces = [np.arange(48, dtype=np.uint8), np.arange(100, 124, dtype=np.uint8)]
    released = []
    whole = Storage(lambda: released.append(len(pieces)))
    parts = [
        Storage(address=p.__array_interface__["data"][0], nbytes=p.nbytes, keep=whole)
        for p in pieces
    ]
    native = (np.asarray(parts[0]).reshape(6, 8), np.asarray(parts[1]).reshape(3, 4, 2)[:, :3])
    image = sb.ImageInfo.of("NV12", 8, 6)
    frame = sb.Frame(native, CPU, sb.FrameMeta(image), whole, None, False, (whole,))
    held = frame.planes[1].native
    del whole, parts, native
    for _ in range(2):
        with pytest.raises(BusyError):
            frame.close()
        np.testing.assert_array_equal(frame.planes[0].native, pieces[0].reshape(6, 8))
        np.testing.assert_array_equal(frame.planes[1].native, held)
    assert not released
    del held
    frame.close()
    assert released == [2]


def test_a_native_that_nothing_else_holds_must_be_made_again() -> None:
    """A plugin's mistake is named, instead of a tensor without its native."""

    class Native:
        pass

    class Forgetful(CpuTensor):
        __slots__ = ()
        _native_recipe = sb.Tensor._native_recipe

    storage = Storage(nbytes=4)
    tensor = Forgetful(
        Native(), CPU, storage, None, False, sb.TensorInfo("uint8", (4,)), (storage,)
    )
    with pytest.raises(RuntimeError, match=r"Forgetful must define _native_recipe\(\)"):
        tensor.close()
    assert tensor.closed


def test_a_native_whose_last_holder_lets_go_meanwhile() -> None:
    """Another thread may drop the memory after close() has seen that it is held."""

    class Native:
        pass

    class Slow(CpuTensor):
        __slots__ = ()

        def _native_recipe(self) -> Callable[[Storage], Any]:
            again = sb.Tensor._native_recipe(self)

            def late(storage: Storage) -> Any:
                held.clear()
                return again(storage)

            return late

    released: list[str] = []
    base = Storage(lambda: released.append("base"), nbytes=4)
    top = Storage(lambda: released.append("top"), nbytes=4, keep=base)
    info, held = sb.TensorInfo("uint8", (4,)), [top]
    tensor = Slow(Native(), CPU, top, None, False, info, (base, top))
    del base, top
    tensor.close()
    assert tensor.closed
    assert released == ["top", "base"]
