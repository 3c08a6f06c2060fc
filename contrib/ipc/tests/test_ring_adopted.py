# SPDX-License-Identifier: Apache-2.0
"""Memory of others that lies in no slot: a ring sends it where it lies, or copies it if allowed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import samebytes
from samebytes import Frame, FrameMeta, metadata
from samebytes.errors import CopyRequiredError, UnsupportedObjectError
from samebytes.plugins import ImportCache
from samebytes_dma import DMA, from_fd
from samebytes_ipc import MessageError, RingTimeoutError, RingWriter

from .both_ends import join, ring, sent, value_of


def test_nothing_is_copied_but_what_may_be() -> None:
    with ring() as (writer, reader):
        picture = samebytes.frame(np.full((16, 64), 3, np.uint8), format="GRAY8")
        picture.meta.pts = 4
        with pytest.raises(CopyRequiredError, match="cpu to ring needs a copy"):
            writer.send(picture)
        writer.send(picture, copy=True)
        got = reader.read()
        assert (value_of(got), got.pts) == (3, 4)
        writer.send(samebytes.tensor(np.arange(12).reshape(3, 4).T), copy=True)
        tensor = reader.read()
        assert tensor.map("cpu").native.tolist() == np.arange(12).reshape(3, 4).T.tolist()
        edges = samebytes.stats().by_edge
        assert (edges["cpu -> ring"].copies, edges["cpu -> ring"].nbytes) == (2, 64 * 16 + 96)
        assert samebytes.stats().copies == 2
        samebytes.reset_stats()
        assert (writer.statistics.accepted, writer.statistics.copied) == (2, 2)


def test_slots_grow_with_what_is_copied() -> None:
    with RingWriter(slots=2) as writer:
        reader = join(writer)
        for size in (8, 64, 640, 16):
            picture = samebytes.frame(np.full((size, size), size % 251, np.uint8), format="GRAY8")
            writer.send(picture, copy=True)
            got = reader.read()
            assert (got.width, value_of(got)) == (size, size % 251)
        with pytest.raises(UnsupportedObjectError, match="made without a layout"):
            writer.acquire()
        reader.close()
    samebytes.reset_stats()


def test_memory_of_dma_goes_where_it_lies() -> None:
    """Known again: its descriptor goes once."""
    with ring(adopt=2) as (writer, reader):
        frames = [samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16) for _ in range(2)]
        numbers = set()
        for number in range(20):
            frame = frames[number % 2]
            with frame.map("cpu", "w") as view:
                view.planes[0].native[...] = number
            frame.meta.pts = number
            writer.send(frame)
            got = reader.read()
            assert (value_of(got), got.pts, got.readonly) == (number, number, True)
            numbers.add(got.planes[0].handle("dma_fd"))
            del got
            writer.wait_until_read()
        assert len(numbers) == 2
        assert writer.statistics.copied == 0


def test_memory_that_a_camera_fills_again_goes_once() -> None:
    """Each use of it has an owner of its own."""
    whole = samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)
    plane = whole.planes[0].native
    ended: list[int] = []
    with ring() as (writer, reader):
        numbers = set()
        for number in range(4):
            use = ImportCache.Lease(partial(ended.append, number), keep=plane.buffer.storage)
            planes = (plane.moved_to(plane.buffer.lent(use, readonly=False)),)
            writer.send(Frame.borrowed(planes, DMA, FrameMeta(whole.image), keep=use))
            del planes, use
            numbers.add(reader.read().planes[0].handle("dma_fd"))
            writer.wait_until_read()
            assert ended == list(range(number + 1))
        assert len(numbers) == 1
        assert [slot.version for slot in writer._pool.adopted if slot.buffer is not None] == [1]


@pytest.mark.together
def test_memory_of_others_is_guarded_as_its_owner_made_it() -> None:
    with ring(memory="memfd") as (writer, reader):
        sent(writer, 1)
        number = reader.read().planes[0].handle("dma_fd")
        with pytest.raises(PermissionError):
            os.pwrite(number, b"x", 0)
        assert writer.readers_can_write is False
        frame = samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)
        writer.send(frame)
        assert writer.readers_can_write is True
        got = reader.read()
        assert os.pwrite(got.planes[0].handle("dma_fd"), b"x", 0) == 1
        assert frame.map("cpu").planes[0].native[0, 0] == ord("x")
        del got  # the writer's close() waits for it


def test_memory_of_others_is_held_until_readers_are_done() -> None:
    with ring(adopt=2, timeout=0.05) as (writer, reader):
        context = samebytes.context("dma:memfd")
        for _ in range(2):
            frame = context.allocate_frame("GRAY8", 64, 16)
            owner = frame.storage
            writer.send(frame)
            del frame
        references = len(gc.get_referrers(owner))
        assert references
        with pytest.raises(RingTimeoutError, match="no slot of 2 is free"):
            writer.send(context.allocate_frame("GRAY8", 64, 16))
        got = [reader.read(), reader.read()]
        del got
        writer.send(context.allocate_frame("GRAY8", 64, 16))
        reader.read()


def test_memory_of_others_that_is_gone_is_released_with_the_next() -> None:
    """The pages would stay for as long as the slot has nothing else."""
    with ring(adopt=4) as (writer, reader):
        context = samebytes.context("dma:memfd")
        for number in range(3):
            writer.send(context.allocate_frame("GRAY8", 64, 16))
            assert value_of(reader.read()) == 0
            writer.wait_until_read()
            known = [slot for slot in writer._pool.adopted if slot.buffer is not None]
            assert len(known) == 1, number


def test_memory_that_readers_would_refuse(memfd: Callable[..., int]) -> None:
    """It could be cut short: it is copied, if that is allowed."""
    with ring() as (writer, reader):
        tensor = from_fd(memfd(), (16, 64))
        with pytest.raises(MessageError, match="can still cut short"):
            writer.send(tensor)
        writer.send(tensor, copy=True)
        assert reader.read().shape == (16, 64)
        assert writer.statistics.accepted == writer.statistics.copied == 1
        samebytes.reset_stats()


def test_frames_of_one_ring_go_on_in_another() -> None:
    """By descriptor; the slot of the first comes back when the second's readers are done."""
    with ring(slots=2) as (writer, reader), ring() as (second, last):
        for number in range(6):
            sent(writer, number)
            second.send(reader.read())
            writer.serve()
            assert writer.statistics.readers[0].held == 1
            assert value_of(last.read()) == number
            second.wait_until_read()
            writer.wait_until_read()


def test_memory_of_results_goes_along() -> None:
    with ring() as (writer, reader):
        result = samebytes.context("dma:memfd").allocate((2, 3), "float32")
        with result.map("cpu", "w") as view:
            view.native[...] = 2.5
        frame = writer.acquire()
        metadata.add(frame, metadata.InferenceResult(result))
        writer.send(frame)
        got = metadata.find(reader.read(), metadata.InferenceResult)
        assert got is not None
        assert got.tensor is not None
        assert got.tensor.memory_type == "dma"
        assert (got.tensor.map("cpu").native == 2.5).all()
        frame = writer.acquire()
        metadata.add(frame, metadata.InferenceResult(samebytes.tensor(np.ones(3, np.float32))))
        with pytest.raises(CopyRequiredError):
            writer.send(frame)
        writer.send(frame, copy=True)
        got = metadata.find(reader.read(), metadata.InferenceResult)
        assert got is not None
        assert got.array.tolist() == [1, 1, 1]
        samebytes.reset_stats()


def test_more_layouts_than_numbers() -> None:
    with RingWriter(shape=(4096,), slots=2) as writer:
        reader = join(writer)
        for size in (*range(1, 100), *range(1, 100)):
            writer.send(samebytes.tensor(np.full(size, size, np.uint8)), copy=True)
            assert reader.read().map("cpu").native.tolist() == [size] * size
        reader.close()
    samebytes.reset_stats()
