# SPDX-License-Identifier: Apache-2.0
"""close(): whoever holds the memory keeps it, by whatever way they came to it."""

from __future__ import annotations

import ctypes
import gc
import itertools
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Storage
from samebytes.errors import ClosedError

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


@pytest.mark.parametrize("name", HOLDERS)
def test_what_is_held_outlives_close(name: str, pages: Pages) -> None:
    tensor = pages.tensor()
    held = HOLDERS[name](tensor)
    assert tensor.close() is False
    assert pages.released == 0
    assert tensor.close() is None
    with pytest.raises(ClosedError):
        _ = tensor.native
    del held
    gc.collect()
    assert pages.released == 1


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
    assert tensor.close() is True
    assert pages.released == 1
    assert tensor.close() is None
    assert pages.released == 1


def test_borrowed_memory_just_closes() -> None:
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    child = tensor.map("cpu", "rw")
    assert tensor.close() is None
    child.native[1, 1] = 9
    assert array[1, 1] == 9
    with pytest.raises(ClosedError):
        tensor.map("cpu")


def use(tensor: sb.Tensor, name: str) -> None:
    """Read an attribute; call it if it is a method."""
    attribute = getattr(tensor, name)
    attribute("data") if name.endswith("handle") else attribute()


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


def test_a_plane_that_is_held_outlives_its_frame() -> None:
    frame = CPU.allocate_frame("NV12", 64, 48)
    end = weakref.ref(frame.storage)
    chroma = frame.planes[1].native[2:4]
    assert frame.close() is False
    assert frame.closed
    chroma[0, 0, 1] = 77
    assert end() is not None
    del chroma
    assert end() is None


def test_a_frame_that_lies_in_several_memories() -> None:
    """Its storage owns all of them, and each plane keeps them."""
    pieces = [np.arange(48, dtype=np.uint8), np.arange(100, 124, dtype=np.uint8)]
    released = []
    whole = Storage(lambda: released.append(len(pieces)))
    parts = [
        Storage(address=p.__array_interface__["data"][0], nbytes=p.nbytes, keep=whole)
        for p in pieces
    ]
    image = sb.ImageInfo.of("NV12", 8, 6)

    def made(whole: Storage, luma: Storage, chroma: Storage) -> sb.Frame:
        native = (np.asarray(luma).reshape(6, 8), np.asarray(chroma).reshape(3, 4, 2)[:, :3])
        return sb.Frame.owned(native, CPU, sb.FrameMeta(image), whole)

    all_of_it = [whole, *parts]
    del whole, parts
    frame = made(all_of_it.pop(0), all_of_it.pop(0), all_of_it.pop())
    held = frame.planes[1].native
    assert frame.close() is False
    np.testing.assert_array_equal(held, pieces[1].reshape(3, 4, 2)[:, :3])
    assert not released
    del held
    assert released == [2]


class Block:
    """A native of a plugin."""

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
def test_parts_of_a_native_hold_the_memory(hold: Callable[[Any], Any], pages: Pages) -> None:
    def made() -> Any:
        storage = pages.storage()
        block: Any = Block(np.asarray(storage)[:16].reshape(4, 4))
        return BlockTensor.owned(block, CPU, storage)

    tensor = made()
    held = hold(tensor.native)
    assert tensor.close() is False
    assert pages.released == 0
    del held
    assert pages.released == 1


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
@pytest.mark.parametrize("plane_closed", [False, True])
def test_whatever_is_held_of_a_frame(name: str, plane_closed: bool) -> None:
    """Also where a plane was closed by itself before."""
    frame = CPU.allocate_frame("I420", 8, 8)
    end = weakref.ref(frame.storage)
    if plane_closed:
        assert frame.planes[1].close() is None
    held = HELD_OF_FRAMES[name](frame)
    if name == "a mapped frame" and plane_closed:
        assert held.planes
    assert frame.close() is False
    assert end() is not None
    del held
    assert end() is None


def test_many_threads_drop_while_one_closes() -> None:
    """Whoever comes last releases, once, and close() says whether that was before."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            released: list[int] = []
            memory = np.zeros(64, np.uint8)
            address = memory.__array_interface__["data"][0]
            tensor = over(Storage(partial(released.append, 1), address=address, nbytes=64))
            holders = [[tensor.native[n:]] for n in range(3)]
            threads = [threading.Thread(target=held.clear) for held in holders]
            for thread in threads:
                thread.start()
            gone = tensor.close()
            assert released or not gone
            for thread in threads:
                thread.join()
            assert released == [1]
    finally:
        sys.setswitchinterval(interval)


def over(storage: Storage) -> CpuTensor:
    """A tensor over memory that was made for it."""
    return CpuTensor.owned(np.asarray(storage), CPU, storage)


def test_a_frame_whose_close_is_interrupted_can_be_closed_again() -> None:
    """By whichever of its calls into C, but for those of a release, which may leak then."""
    CPU.allocate_frame("NV12", 16, 16).close()  # what is made once for a class is there
    left = 0

    def interrupts(at: FrameType, event: str, called: object) -> None:
        nonlocal left
        release = at.f_code is Storage.__del__.__code__
        if event == "c_call" and called is not sys.setprofile and not release:
            left -= 1
            if not left:
                raise KeyboardInterrupt  # which ends the profiling, too

    half_closed = 0
    before = sys.getprofile()
    for calls in itertools.count(1):
        frame = CPU.allocate_frame("NV12", 16, 16)
        planes, memory = frame.planes, weakref.ref(frame.storage)
        left = calls
        try:
            sys.setprofile(interrupts)
            gone = frame.close()
        except KeyboardInterrupt:
            gone = None
        finally:
            sys.setprofile(before)
        if gone:
            break
        if [plane.closed for plane in planes] == [True, False]:
            half_closed += 1
        assert frame.close() is True
        assert frame.closed
        assert all(plane.closed for plane in planes)
        assert memory() is None
    assert half_closed
