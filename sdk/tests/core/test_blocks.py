# SPDX-License-Identifier: Apache-2.0
"""The end of a `with` block: publish, close the view, and leave the memory to its last holder."""

from __future__ import annotations

import sys
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Frame, Storage
from samebytes.errors import ClosedError
from samebytes.plugins import joint_owner

CPU = sb.context("cpu")


class Device:
    """Memory that is written through a copy on the host: flush and release write it back."""

    def __init__(self) -> None:
        self.memory = np.zeros(16, np.uint8)
        self.host = np.zeros(16, np.uint8)
        self.calls: list[str] = []

    def flush(self) -> None:
        """Write back."""
        self.calls.append("flush")
        self.memory[:] = self.host

    def release(self) -> None:
        """Write back and unmap."""
        self.calls.append("release")
        self.memory[:] = self.host

    def storage(self, keep: object = None) -> Storage:
        """A mapping."""
        address = self.host.__array_interface__["data"][0]
        return Storage(self.release, address=address, nbytes=16, flush=self.flush, keep=keep)

    def map(self, readonly: bool = False, keep: object = None) -> CpuTensor:
        """The tensor that map() would give."""
        storage = self.storage(keep)
        return CpuTensor.owned(np.asarray(storage), CPU, storage, readonly=readonly)


def test_nobody_else_holds_it() -> None:
    device = Device()
    with device.map() as view:
        view.native[:] = 3
    assert view.closed
    assert device.calls == ["release"], "the release publishes; a flush would do it twice"
    assert (device.memory == 3).all()


def test_an_array_outlives_the_block() -> None:
    device = Device()
    with device.map() as view:
        array = view.native
        array[:] = 3
    assert view.closed
    assert device.calls == ["flush"]
    assert (device.memory == 3).all()
    array[:] = 4
    assert (array == 4).all(), "it stays readable and writable"
    assert (device.memory == 3).all(), "and is published with the last drop"
    del array
    assert device.calls == ["flush", "release"]
    assert (device.memory == 4).all()


def test_holders_of_what_was_not_counted_see_it_published() -> None:
    """A plugin's mistake: nobody counted when the tensor was handed out."""
    device = Device()
    storage = device.storage()
    made = [CpuTensor.owned(np.asarray(storage), CPU, storage)]
    del storage
    with made.pop() as view:
        array = view.native
        array[:] = 3
    assert (device.memory == 3).all()
    assert device.calls == ["flush"]
    del array, view
    assert device.calls == ["flush", "release"]


def test_close_still_refuses() -> None:
    device = Device()
    view = device.map()
    array = view.native
    assert view.close() is False
    del array
    view.close()


def fail_in_a_block(device: Device) -> None:
    """A user's block that fails while an array of it lives in the traceback."""
    with device.map() as view:
        array = view.native
        array[:] = 9
        raise KeyError("the user's")


def test_after_an_exception_nothing_is_flushed() -> None:
    device = Device()
    with pytest.raises(KeyError, match="the user's") as caught:
        fail_in_a_block(device)
    assert device.calls == []
    del caught
    assert device.calls == ["release"]


def test_an_error_of_a_release_does_not_mask_that_of_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    device = Device()
    monkeypatch.setattr(device, "release", lambda: 1 / 0)

    def use() -> None:
        with device.map():
            raise KeyError("the user's")

    with pytest.raises(KeyError, match="the user's"):
        use()
    assert [type(u.exc_value) for u in unraisable] == [ZeroDivisionError]


def test_errors_at_the_end_of_a_block_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device()
    monkeypatch.setattr(device, "release", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError), device.map() as view:
        pass
    assert view.closed
    monkeypatch.setattr(device, "flush", lambda: 1 / 0)
    monkeypatch.setattr(device, "release", list)
    with pytest.raises(ZeroDivisionError), device.map() as view:
        held = view.native
    assert view.closed
    del held


@pytest.mark.parametrize("held", [False, True])
def test_what_the_mapping_lies_in_is_published_after_it(held: bool) -> None:
    outer, inner = Device(), Device()
    inner.calls = outer.calls
    whole = outer.map()
    with inner.map(keep=whole.storage) as view:
        array = view.native if held else None
    assert outer.calls == (["flush", "flush"] if held else ["release", "flush"])
    del array


def test_a_view_of_a_mapping_publishes_that() -> None:
    device = Device()
    mapped = device.map()
    with mapped.map("cpu", "rw") as view:
        view.native[:] = 5
    assert device.calls == ["flush"]
    assert not mapped.closed
    with mapped.map("cpu", "r") as reading:
        pass
    assert device.calls == ["flush"], "through a read-only view nothing was written"
    assert reading.closed


def test_what_was_closed_inside_is_done() -> None:
    device = Device()
    with device.map() as view:
        view.close()
    assert device.calls == ["release"]
    with pytest.raises(ClosedError), view:
        pass


class TwoMappings:
    """A frame whose planes are their own mappings."""

    def __init__(self) -> None:
        self.devices = Device(), Device()

    def map(self) -> Frame:
        """The frame that map() would give."""
        storages = tuple(device.storage() for device in self.devices)
        shapes = (2, 4), (1, 2, 2)
        native = tuple(
            np.asarray(s)[: int(np.prod(shape))].reshape(shape)
            for s, shape in zip(storages, shapes, strict=True)
        )
        meta = sb.FrameMeta(sb.ImageInfo.of("NV12", 4, 2))
        return Frame.owned(native, CPU, meta, joint_owner(storages))


def test_the_planes_unpacked_in_a_block() -> None:
    """The natural way to write it: the names live on behind the block."""
    mappings = TwoMappings()
    with mappings.map() as view:
        y, uv = view.native
        y[...], uv[...] = 1, 2
    luma, chroma = mappings.devices
    assert (luma.memory[:8] == 1).all()
    assert (chroma.memory[:4] == 2).all()
    assert [d.calls for d in mappings.devices] == [["flush"], ["flush"]]
    del y
    assert [d.calls for d in mappings.devices] == [["flush", "release"], ["flush"]]
    del uv
    assert [d.calls for d in mappings.devices] == [["flush", "release"]] * 2


def test_each_plane_has_its_own_memory() -> None:
    mappings = TwoMappings()
    luma, chroma = mappings.devices
    frame = mappings.map()
    frame.planes[1].flush()
    assert (luma.calls, chroma.calls) == ([], ["flush"])
    frame.flush()
    assert (luma.calls, chroma.calls) == (["flush"], ["flush", "flush"])
    array = frame.planes[1].map("cpu").native
    assert frame.close() is False
    del frame
    assert (luma.calls, chroma.calls) == (["flush", "release"], ["flush", "flush"])
    del array
    assert chroma.calls == ["flush", "flush", "release"]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_mappings_of_a_frame_hold_the_memory_of_every_plane(hops: int) -> None:
    mappings = TwoMappings()
    frame = mappings.map()
    for _ in range(hops):
        frame = frame.map("cpu", "rw")
    arrays = frame.native
    last = frame.planes[1].map("cpu").native
    frame.flush()
    assert [d.calls for d in mappings.devices] == [["flush"], ["flush"]]
    del frame
    assert [d.calls for d in mappings.devices] == [["flush"], ["flush"]]
    del arrays
    assert [d.calls for d in mappings.devices] == [["flush", "release"], ["flush"]]
    assert not last.any()
    del last
    assert [d.calls for d in mappings.devices] == [["flush", "release"]] * 2


def test_a_frame_of_arrays_holds_each() -> None:
    made = [CPU.allocate((4, 4)), CPU.allocate((2, 2, 2))]
    alive = [weakref.ref(tensor.storage) for tensor in made]
    frame = sb.frame(made, format="NV12")
    mapped = frame.map("cpu")
    for tensor in made:
        assert tensor.close() is False
    del tensor
    made.clear()
    del frame
    assert all(ref() is not None for ref in alive)
    chroma = mapped.planes[1].map("cpu").native
    del mapped
    assert [ref() is not None for ref in alive] == [False, True]
    del chroma
    assert alive[1]() is None


def test_waiting_and_flushing_go_outwards_once() -> None:
    """Two planes that lie in one piece of memory: it is published after both, and once."""
    order: list[str] = []
    whole = Storage(flush=lambda: order.append("whole"), wait=lambda: order.append("whole waits"))
    parts = [Storage(flush=partial(order.append, n), keep=whole) for n in ("first", "second")]
    frame = Frame.borrowed(
        (np.zeros((2, 4), np.uint8), np.zeros((1, 2, 2), np.uint8)),
        CPU,
        sb.FrameMeta(sb.ImageInfo.of("NV12", 4, 2)),
        keep=joint_owner(parts),
    )
    frame.flush()
    assert order[-1] == "whole"
    assert sorted(order) == ["first", "second", "whole"]
    order.clear()
    frame.planes[0].flush()
    assert order == ["first", "whole"]
    order.clear()
    frame.wait()
    assert order == ["whole waits"]
