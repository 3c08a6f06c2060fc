# SPDX-License-Identifier: Apache-2.0
"""Owners: never copied, flushed from the inside out, nothing kept of a closed object."""

from __future__ import annotations

import copy
import os
import pickle
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import BusyError, ClosedError, CopyRequiredError, LayoutError
from samebytes.plugins import CpuTensor, Fd, Frame, FrameMeta, Storage, Tensor, TensorInfo

if TYPE_CHECKING:
    from sdk.tests.core.conftest import Pages

CPU = sb.context("cpu")


def objects() -> list[Any]:
    tensor = CPU.allocate((4, 4))
    return [tensor, tensor.storage, CPU.allocate_frame("NV12", 8, 8), Fd(os.dup(0))]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_owners_are_not_copied(way: Any) -> None:
    for owner in objects():
        with pytest.raises(TypeError, match="cannot be copied or pickled: "):
            way(owner)


def test_a_context_is_the_same_when_copied() -> None:
    assert copy.deepcopy(CPU) is CPU
    assert copy.copy(CPU) is CPU
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(CPU)


def test_flush_goes_from_the_last_mapping_outwards() -> None:
    order: list[str] = []
    array = np.zeros(4, np.uint8)
    outer = Storage(flush=lambda: order.append("outer"), keep=array)
    inner = Storage(flush=lambda: order.append("inner"), keep=outer)
    tensor = CpuTensor(array, CPU, inner, None, False, None, (inner,))
    tensor.flush()
    assert order == ["inner", "outer"]
    order.clear()
    tensor.map("cpu", "rw").flush()
    assert order == ["inner", "outer"]


def test_flush_of_a_frame_reaches_the_storage_of_each_plane() -> None:
    order: list[int] = []
    arrays = [np.zeros((4, 4), np.uint8), np.zeros((2, 2, 2), np.uint8)]
    storages = [Storage(flush=partial(order.append, n)) for n in range(2)]
    info = sb.ImageInfo.of("NV12", 4, 4)
    frame = Frame(tuple(arrays), CPU, FrameMeta(info), storages[0], None, False, tuple(storages))
    frame._planes = tuple(
        CpuTensor(a, CPU, s, None, False) for a, s in zip(arrays, storages, strict=True)
    )
    frame.flush()
    assert sorted(order) == [0, 1]


def test_busy_frame_whose_planes_have_owners_of_their_own(pages: Pages) -> None:
    """One plane is in memory that was made, the other in the user's."""
    made = pages.storage()
    luma = np.asarray(made)[:16].reshape(4, 4)
    chroma = np.zeros((2, 2, 2), np.uint8)
    info = sb.ImageInfo.of("NV12", 4, 4)
    frame = Frame((luma, chroma), CPU, FrameMeta(info), made, None, False, (made,))
    frame._planes = (
        CpuTensor(luma, CPU, made, None, False),
        CpuTensor(chroma, CPU, chroma, None, False),
    )
    held = luma[1:]
    del made, luma
    with pytest.raises(BusyError):
        frame.close()
    assert [p.shape for p in frame] == [(4, 4), (2, 2, 2)]
    assert frame.planes[1].native is chroma
    del held
    frame.close()
    assert pages.released == 1


def test_a_native_without_weak_references_leaks_nothing(pages: Pages) -> None:
    storage = pages.storage()
    tensor = Tensor((1, 2), CPU, storage, None, False, TensorInfo("uint8", (2,)), (storage,))
    del storage
    with pytest.raises(TypeError, match="weak reference"):
        tensor.close()
    assert tensor.native == (1, 2)
    del tensor
    assert pages.released == 1


def test_what_a_subclass_holds_goes_with_close() -> None:
    class Pinned(CpuTensor):
        __slots__ = ("pin",)

    class Loose(CpuTensor):
        pass

    class Thing:
        pass

    for kind in (Pinned, Loose):
        thing = Thing()
        alive = weakref.ref(thing)
        array = np.zeros(3)
        tensor: Any = kind(array, CPU, array, None, False)
        tensor.pin = thing
        del thing
        tensor.close()
        assert alive() is None
        with pytest.raises((ClosedError, AttributeError)):
            _ = tensor.pin


def test_a_plane_closed_by_itself_says_so() -> None:
    frame = CPU.allocate_frame("NV12", 8, 8)
    frame.planes[0].close()
    held = frame.planes[1].native
    with pytest.raises(BusyError):
        frame.close()
    with pytest.raises(ClosedError, match="a plane of this frame was closed"):
        frame.native[0].view()
    del held


def test_looking_at_a_closed_object() -> None:
    tensor = CPU.allocate((2,))
    tensor.close()
    assert "native" in dir(tensor)
    assert not hasattr(tensor, "__array_interface__")
    with pytest.raises(ClosedError, match=r"^this CpuTensor was closed$"):
        _ = tensor.storage


@pytest.mark.parametrize("shape", [(2.7,), ("3",), 5, None])
def test_extents_are_whole_numbers(shape: Any) -> None:
    with pytest.raises(LayoutError, match="whole numbers"):
        CPU.allocate(shape)


def test_allocated_memory_has_slack_and_is_private_after_fork() -> None:
    tensor = CPU.allocate((4096,))
    assert tensor.storage.nbytes - 4096 >= 64
    child = os.fork()
    if child == 0:
        tensor.native[0] = 9
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert tensor.native[0] == 0


def test_the_identity_takes_a_flipped_plane_as_it_is() -> None:
    planes = [np.full((4, 4), 7, np.uint8)[::-1], np.zeros((2, 2), np.uint8),
              np.zeros((2, 2), np.uint8)]  # fmt: skip
    frame = sb.frame(planes, format="I420")
    sb.reset_stats()
    same = sb.route(frame, "cpu").map(frame)
    assert same.planes[0].strides == (-4, 1)
    assert sb.stats().copies == 0


def test_via_takes_names() -> None:
    with pytest.raises(CopyRequiredError):
        sb.route("cpu", "cpu", via=["cpu"])
    with pytest.raises(TypeError, match="not None"):
        sb.context(None)  # type: ignore[arg-type]
    with pytest.raises(sb.errors.UnknownNameError, match="device of cpu"):
        sb.context("cpu:")
    with pytest.raises(sb.errors.UnknownNameError, match="level"):
        sb.route("cpu", "cpu", level="frames")  # type: ignore[arg-type]
