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
import samebytes.elements as el
from samebytes import CpuTensor, Fd, Frame, FrameMeta, Storage, Tensor, TensorInfo
from samebytes.errors import ClosedError, CopyRequiredError, LayoutError
from samebytes.plugins import joint_owner

if TYPE_CHECKING:
    from sdk.tests.core.conftest import Pages

CPU = sb.context("cpu")


def objects() -> list[Any]:
    tensor = CPU.allocate((4, 4))
    running = el.Pipeline([]).start(threads=0)
    return [tensor, tensor.storage, CPU.allocate_frame("NV12", 8, 8), Fd(os.dup(0)), running]


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


def test_planes_with_the_same_owner_share_it() -> None:
    one, other = Storage(), Storage()
    assert joint_owner((one, one)) is one
    assert joint_owner((one, other)).keep == (one, other)
    assert joint_owner(()) is None


def test_flush_goes_from_the_last_mapping_outwards() -> None:
    order: list[str] = []
    array = np.zeros(4, np.uint8)
    outer = Storage(flush=lambda: order.append("outer"), keep=array)
    inner = Storage(flush=lambda: order.append("inner"), keep=outer)
    tensor = CpuTensor.owned(array, CPU, inner)
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
    frame = Frame.owned(tuple(arrays), CPU, FrameMeta(info), joint_owner(storages))
    frame.flush()
    assert sorted(order) == [0, 1]


def test_a_frame_whose_planes_have_owners_of_their_own(pages: Pages) -> None:
    """One plane is in memory that was made, the other in the user's."""
    chroma = np.zeros((2, 2, 2), np.uint8)

    def make() -> Frame:
        made = pages.storage()
        luma = np.asarray(made)[:16].reshape(4, 4)
        meta, owner = FrameMeta(sb.ImageInfo.of("NV12", 4, 4)), joint_owner([made, chroma])
        return Frame.owned((luma, chroma), CPU, meta, owner, made=(made,))

    frame = make()
    held = frame.native[0][1:]
    assert frame.close() is False
    assert pages.released == 0
    del held
    assert pages.released == 1


def test_a_native_without_weak_references_leaks_nothing(pages: Pages) -> None:
    storage = pages.storage()
    tensor = Tensor.owned((1, 2), CPU, storage, info=TensorInfo("uint8", (2,)))
    del storage
    tensor.close()
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
        tensor: Any = kind.borrowed(array, CPU)
        tensor.pin = thing
        del thing
        tensor.close()
        assert alive() is None
        with pytest.raises((ClosedError, AttributeError)):
            _ = tensor.pin


def test_looking_at_a_closed_object() -> None:
    tensor = CPU.allocate((2,))
    tensor.close()
    assert "native" in dir(tensor)
    assert not hasattr(tensor, "__array_interface__")
    with pytest.raises(ClosedError, match=r"^this CpuTensor was closed$"):
        _ = tensor.storage


@pytest.mark.parametrize("shape", [(2.7,), ("3",), 5, None])
def test_extents_are_whole_numbers(shape: Any) -> None:
    with pytest.raises(LayoutError, match="sequence of integers"):
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
        sb.context(None)  # type: ignore[call-overload]
    with pytest.raises(sb.errors.UnknownNameError, match="device of cpu"):
        sb.context("cpu:")
    with pytest.raises(sb.errors.UnknownNameError, match="level"):
        sb.route("cpu", "cpu", level="frames")  # type: ignore[arg-type]


def test_a_borrowed_tensor_holds_its_keep_and_releases_nothing(pages: Pages) -> None:
    class Buffer:
        """Memory of the user's."""

    array, buffer = np.zeros(4, np.uint8), Buffer()
    alive = weakref.ref(buffer)
    tensor = CpuTensor.borrowed(array, CPU, keep=buffer, readonly=True)
    mapped = tensor.map("cpu")
    del buffer, tensor
    assert alive() is not None
    mapped.close()
    assert alive() is None
    assert CpuTensor.borrowed(array, CPU).storage.keep is array
    owner = pages.storage()
    with CpuTensor.borrowed(np.asarray(owner), CPU, keep=owner) as borrowed:
        assert borrowed.storage is owner
        assert borrowed.info == TensorInfo("uint8", (owner.nbytes,))
    assert pages.released == 0


def test_an_owned_frame_ends_each_part_of_a_joint_storage_once() -> None:
    ended: list[int] = []
    arrays = np.zeros((4, 4), np.uint8), np.zeros((2, 2, 2), np.uint8)
    meta = FrameMeta(sb.ImageInfo.of("NV12", 4, 4))

    def make(*numbers: int) -> Frame:
        storages = {n: Storage(partial(ended.append, n)) for n in set(numbers)}
        return Frame.owned(arrays, CPU, meta, joint_owner([storages[n] for n in numbers]))

    frame = make(1, 2)
    assert len({id(plane.storage) for plane in frame}) == 2
    frame.close()
    assert sorted(ended) == [1, 2]
    make(3, 3).close()
    assert sorted(ended) == [1, 2, 3]
    frame = make(4, 5)
    held = frame.planes[1].storage
    assert frame.close() is False
    assert 4 in ended
    assert 5 not in ended
    del held
    assert 5 in ended


def test_planes_that_are_made_already_are_those_of_the_frame() -> None:
    array = np.zeros((4, 4), np.uint8)
    plane = CpuTensor.borrowed(array, CPU, readonly=True)
    meta = FrameMeta(sb.ImageInfo.of("GRAY8", 4, 4))
    frame = Frame.borrowed((array,), CPU, meta, readonly=True, planes=[plane])
    assert frame.planes == (plane,)
    frame.close()
    assert plane.closed
