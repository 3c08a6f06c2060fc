# SPDX-License-Identifier: Apache-2.0
"""close(): refused while anybody holds the memory, by whatever way they came to it."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import BusyError, ClosedError
from samebytes.plugins import CpuTensor, Storage, returns_memory

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
    with pytest.raises(BusyError, match=r"drop it first.* \(references: \d+ to its \w+"):
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
    others = {"borrowed", "close", "closed", "home", "owned", "readonly_advice", "wrap"}
    names = [name for name in dir(tensor) if not name.startswith("_") and name not in others]
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


def test_a_frame_that_lies_in_several_memories() -> None:
    """Its storage owns all of them; what close() could not end is as it was."""
    pieces = [np.arange(48, dtype=np.uint8), np.arange(100, 124, dtype=np.uint8)]
    released = []
    whole = Storage(lambda: released.append(len(pieces)))
    parts = [
        Storage(address=p.__array_interface__["data"][0], nbytes=p.nbytes, keep=whole)
        for p in pieces
    ]
    image = sb.ImageInfo.of("NV12", 8, 6)

    @returns_memory
    def made(whole: Storage, luma: Storage, chroma: Storage) -> sb.Frame:
        native = (np.asarray(luma).reshape(6, 8), np.asarray(chroma).reshape(3, 4, 2)[:, :3])
        return sb.Frame.owned(native, CPU, sb.FrameMeta(image), whole)

    all_of_it = [whole, *parts]
    del whole, parts
    frame = made(all_of_it.pop(0), all_of_it.pop(0), all_of_it.pop())
    held = frame.planes[1].native
    for _ in range(2):
        with pytest.raises(BusyError):
            frame.close()
        np.testing.assert_array_equal(frame.planes[0].native, pieces[0].reshape(6, 8))
        np.testing.assert_array_equal(frame.planes[1].native, held)
    assert not released
    del held
    frame.close()
    assert released == [2]


def test_what_was_handed_out_without_a_census_closes() -> None:
    """A plugin's mistake: close() does not notice holders, and the last one releases."""
    released: list[str] = []
    memory = np.zeros(8, np.uint8)
    address = memory.__array_interface__["data"][0]
    storage = Storage(lambda: released.append("it"), address=address, nbytes=8, keep=memory)
    tensor = CpuTensor.owned(np.asarray(storage), CPU, storage)
    del storage
    held = tensor.native[1:]
    tensor.close()
    assert not released
    assert not held.any()
    del held
    assert released


def test_a_subclass_of_earlier_versions_closes(pages: Pages) -> None:
    class Earlier(CpuTensor):
        __slots__ = ()

        def _native_recipe(self) -> Any:
            raise AssertionError("nobody asks for it")

    @returns_memory
    def made() -> Earlier:
        storage = pages.storage()
        return Earlier.owned(np.asarray(storage), CPU, storage)

    tensor = made()
    held = tensor.native[3:]
    with pytest.raises(BusyError):
        tensor.close()
    del held
    tensor.close()
    assert pages.released == 1


class Block:
    """A native of a plugin that says nothing of its parts."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.notes = {"rows": array}


class BlockTensor(CpuTensor):
    """A tensor over one."""

    __slots__ = ()

    def host_array(self) -> Any:
        """Its array."""
        return self.native.array  # type: ignore[attr-defined]  # a Block, which no stub knows


@pytest.mark.parametrize(
    "hold",
    [
        lambda block: block,
        lambda block: block.array,
        lambda block: block.array[1:],
        lambda block: block.array.base,
        lambda block: block.notes["rows"],
    ],
)
def test_parts_of_a_native_are_found(hold: Callable[[Any], Any], pages: Pages) -> None:
    @returns_memory
    def made() -> Any:
        storage = pages.storage()
        block: Any = Block(np.asarray(storage)[:16].reshape(4, 4))
        return BlockTensor.owned(block, CPU, storage)

    tensor = made()
    held = hold(tensor.native)
    with pytest.raises(BusyError):
        tensor.close()
    del held
    tensor.close()
    assert pages.released == 1


def test_close_succeeds_where_the_error_is_handled(pages: Pages) -> None:
    """The traceback of the BusyError holds nothing of the memory."""
    tensor = pages.tensor()
    array = tensor.native[1]
    try:
        tensor.close()
    except BusyError:
        del array
        tensor.close()
    assert pages.released == 1


def test_a_frame_one_of_whose_planes_was_closed_is_busy_all_the_same() -> None:
    """What a closed plane no longer holds hides no holder."""
    for hold in HELD_OF_FRAMES.values():
        frame = CPU.allocate_frame("I420", 8, 8)
        frame.planes[1].close()
        held = hold(frame)
        with pytest.raises(BusyError):
            frame.close()
        del held
        frame.close()


HELD_OF_FRAMES: dict[str, Callable[[sb.Frame], Any]] = {
    "all natives": lambda f: f.native,
    "the native of the closed plane": lambda f: f.native[1],
    "a slice of it": lambda f: f.native[1][1:],
    "another native": lambda f: f.native[0],
    "the storage": lambda f: f.storage,
    "a mapped frame": lambda f: f.map("cpu"),
    "an array of another plane": lambda f: np.asarray(f.planes[2]),
}


@pytest.mark.parametrize("name", HELD_OF_FRAMES)
def test_whatever_is_held_of_a_frame(name: str) -> None:
    frame = CPU.allocate_frame("I420", 8, 8)
    held = HELD_OF_FRAMES[name](frame)
    with pytest.raises(BusyError):
        frame.close()
    assert [p.shape for p in frame] == [(8, 8), (4, 4), (4, 4)]
    del held
    frame.close()


def test_another_thread_sees_the_native_or_that_it_is_closed() -> None:
    """At each line of close(): a native that is None for a moment would be taken for one."""
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    seen: list[object] = []

    def look(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_globals.get("__name__", "").startswith("samebytes."):
            return None
        if event == "line" and len(seen) < 1000:
            sys.settrace(None)
            try:
                seen.append(tensor.native)
            except ClosedError:
                seen.append(ClosedError)
            sys.settrace(look)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        tensor.close()
    finally:
        sys.settrace(before)
    assert {id(one) for one in seen} == {id(array), id(ClosedError)}
