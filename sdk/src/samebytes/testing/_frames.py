# SPDX-License-Identifier: Apache-2.0
"""FrameSuite: the rules for frames of one memory type."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from samebytes import Frame, ImageInfo, Region, TensorInfo
from samebytes.errors import NotHostVisibleError, SamebytesError
from samebytes.formats import known_formats

from ._closed import assert_closed
from ._memory import fill, fill_each, views_of
from ._objects import ObjectSuite, choose_tests
from ._subjects import AllocatedMemory
from .rules.allocation import (
    close_gives_back,
    held_memory_lives_on,
    planes_share_no_byte,
)
from .rules.lifetimes import array_keeps_its_memory

__all__ = ["FrameSuite"]


class FrameSuite(ObjectSuite):
    """Tests of frames. Inherit it once for each memory type that has frames.

    Class attributes:
        memory: the memory type.
        cases: images that its frames can hold.
    """

    cases: ClassVar[tuple[ImageInfo, ...]] = (
        ImageInfo.of("NV12", 64, 32),
        ImageInfo.of("I420", 48, 32),
        ImageInfo.of("BGR", 40, 24),
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "memory"):  # a base class of the author's own
            return
        memory = cls.memory
        choose_tests(
            cls,
            FrameSuite,
            test_busy=memory.allocates_frames and memory.natives_hold,
            test_what_is_held_lives_on=memory.allocates_frames and memory.natives_hold,
            test_an_array_keeps_its_memory=memory.allocates_frames,
            test_allocated_planes_share_no_byte=memory.allocates_frames,
            test_natives_outlive_close=memory.allocates_frames and not memory.natives_hold,
            test_close_while_another_thread_drops=memory.allocates_frames,
            test_formats=memory.allocates_frames and memory.formats is not None,
            test_no_arrays_of_invisible_planes=not memory.host_visible,
        )

    def frame(self, image: ImageInfo) -> Frame:
        """A frame over a new native one.

        Args:
            image: the format and size.
        """
        return self.memory.frame(self.memory.make_frame(image), image)

    def test_image(self, case: ImageInfo) -> None:
        """Format and size are those of the native frame, and it has no `audio`."""
        frame = self.frame(case)
        assert frame.image == case
        assert (frame.format, frame.width, frame.height) == (case.format, case.width, case.height)
        assert frame.media == "image"
        with pytest.raises(AttributeError, match="image"):
            _ = frame.audio

    def test_planes(self, case: ImageInfo) -> None:
        """The planes are tensors of the format's shapes, and the same objects each time."""
        frame = self.frame(case)
        layouts = case.plane_layouts()
        assert len(frame) == len(layouts)
        assert all(a is b for a, b in zip(frame, frame.planes, strict=True))
        for plane, layout in zip(frame, layouts, strict=True):
            assert plane.shape == self.memory.plane_shape(layout.shape)
            assert str(plane.dtype) == layout.dtype
            assert plane.memory_type == frame.memory_type
            assert plane.readonly == frame.readonly
            assert (plane.strides is None) == self.memory.opaque, "Memory.opaque says otherwise"
        if self.memory.host_visible:
            for plane, view in zip(frame, views_of(self.memory, frame), strict=True):
                if plane.shape == view.shape:
                    assert plane.strides == view.strides
                expected = fill(view, 7)
                np.testing.assert_array_equal(np.asarray(plane).reshape(view.shape), expected)

    def test_no_arrays_of_invisible_planes(self, case: ImageInfo) -> None:
        """Rule 1: where the CPU cannot read the bytes in place, exporters raise BufferError."""
        for plane in self.frame(case):
            with pytest.raises(BufferError):
                np.asarray(plane)
            with pytest.raises(NotHostVisibleError):
                plane.host_array()

    def test_formats(self) -> None:
        """Rule 5: the declared image formats can be allocated; the others are refused."""
        context, declared = self.memory.context(), self.memory.formats or ()
        for known in known_formats():
            if known.name in declared:
                assert context.allocate_frame(known, 32, 16).format is known
            else:
                with pytest.raises(SamebytesError):
                    context.allocate_frame(known, 32, 16)

    def test_what_is_known_of_a_frame_is_kept(self, case: ImageInfo) -> None:
        """Rule 8: mappings share time, metadata and regions with the frame."""
        frame = self.frame(case)
        frame.meta.pts, frame.meta.time_base = 42, Fraction(1, 90_000)
        frame.metadata["camera"] = "left"
        frame.regions.append(Region(1, 2, 3, 4, "cat"))
        mapped = frame.map(frame.context.node)
        assert mapped.meta is frame.meta
        assert (mapped.pts, mapped.metadata["camera"]) == (42, "left")
        assert mapped.regions[0].label == "cat"
        assert mapped.image == case

    def test_closing_closes_the_planes(self, case: ImageInfo) -> None:
        """Rule 2: a frame's planes close with it; a plane may close earlier."""
        frame = self.frame(case)
        first, *others = frame.planes
        first.close()
        assert all(not p.closed for p in others)
        frame.close()
        for plane in (first, *others):
            assert_closed(plane)

    def test_planes_outlive_the_frame(self, case: ImageInfo) -> None:
        """Rule 3: a plane alone keeps the memory of the frame."""
        frame = self.frame(case)
        expected = fill_each(views_of(self.memory, frame), 13)
        planes = list(frame)
        del frame
        while planes:
            plane, values = planes.pop(), expected.pop()
            visible = self.memory.host_visible
            view = plane.host_array() if visible else self.memory.view(plane.native)
            np.testing.assert_array_equal(np.asarray(view).reshape(values.shape), values)

    def test_planes_map_like_tensors(self, case: ImageInfo) -> None:
        """Rule 2: a plane maps on its own, to a tensor whose parent is the plane."""
        frame = self.frame(case)
        for plane in frame:
            mapped = plane.map(frame.context.node)
            assert mapped.parent is plane
            assert isinstance(mapped.info, TensorInfo)
            assert mapped.info == plane.info

    def test_busy(self, case: ImageInfo) -> None:
        """Rule 2: close() reports whether memory is released: it is, unless a plane is held."""
        close_gives_back(AllocatedMemory(self.memory, case))

    def test_what_is_held_lives_on(self, case: ImageInfo) -> None:
        """Rule 2: after False, holders read and write the right bytes; the last one releases."""
        held_memory_lives_on(AllocatedMemory(self.memory, case))

    def test_allocated_planes_share_no_byte(self, case: ImageInfo) -> None:
        """Rule 2: rows and planes of an allocated frame do not overlap."""
        planes_share_no_byte(AllocatedMemory(self.memory, case))

    def test_an_array_keeps_its_memory(self, case: ImageInfo) -> None:
        """Rule 3: a view of one plane keeps that plane's memory after the frame was dropped."""
        array_keeps_its_memory(AllocatedMemory(self.memory, case))

    def test_natives_outlive_close(self, case: ImageInfo) -> None:
        """Rule 2: where the framework counts references to memory, close() only drops one."""
        frame = self.memory.context().allocate_frame(case.format, case.width, case.height)
        views = views_of(self.memory, frame)
        expected = fill_each(views, 11)
        frame.close()
        for view, values in zip(views, expected, strict=True):
            np.testing.assert_array_equal(view, values)
