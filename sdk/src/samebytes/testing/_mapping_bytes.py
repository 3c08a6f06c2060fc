# SPDX-License-Identifier: Apache-2.0
"""The tests of MapperSuite on the bytes: both sides share them, or they are copied and counted."""

from __future__ import annotations

import numpy as np
import pytest

from samebytes import Access, Frame, ImageInfo, Tensor, TensorInfo
from samebytes.errors import CopyRequiredError, NoRouteError

from ._cases import Case
from ._mapping import Mapping
from ._memory import fill_each
from ._subjects import Regions, holds
from .rules.dtypes import every_dtype
from .rules.lifetimes import (
    mapping_outlives_its_source,
    mappings_close_in_any_order,
    plane_keeps_its_memory,
    source_closes_after_its_mapping,
)
from .rules.mappings import (
    copies_are_copies,
    each_plane_is_published,
    same_bytes,
    writes_to_the_mapping_show,
    writes_to_the_source_show,
)
from .rules.planes import planes_keep_their_places
from .rules.regions import regions_map

__all__ = ["ByteChecks"]


class ByteChecks(Mapping):
    """The part of MapperSuite that is about the bytes."""

    def test_same_bytes(self, case: Case, access: Access) -> None:
        """Rule 1: the mapping has the source's addresses (an alias) and layout, or is a copy."""
        (copies_are_copies if self.copies else same_bytes)(self.under_test(case), access)

    def test_writes_to_the_source_show_in_the_mapping(self, case: Case, reading: Access) -> None:
        """Rule 1: later writes to the source are read through the mapping."""
        writes_to_the_source_show(self.under_test(case), reading)

    def test_writes_to_the_mapping_show_in_the_source(self, case: Case, writing: Access) -> None:
        """Rule 1: writes through a mapping, once flushed, are read in the source."""
        writes_to_the_mapping_show(self.under_test(case), writing)

    def test_mixed_access(self, case: Case) -> None:
        """Rule 1: a mapping for reading sees the writes of a mapping for writing.

        If both cannot live at once, the second is refused until the first has ended.
        """
        item = self.item(case)
        reading = self.map(item, "r")
        if not self.mixed_access:
            with pytest.raises(NoRouteError):
                self.map(item, "rw")
            reading.close()
            self.map(item, "rw").close()
            return
        writing = self.map(item, "rw")
        written = fill_each(self.views(writing), 7)
        writing.flush()
        for view, values in zip(self.views(reading), written, strict=True):
            np.testing.assert_array_equal(view, values)

    def test_copies_are_asked_for(self, case: Case) -> None:
        """Rule 1: a mapping that copies the bytes is refused without copy=True."""
        with pytest.raises(CopyRequiredError, match="copy=True"):
            self.map(self.item(case), self._reading(), copy=False)

    def test_every_dtype(self) -> None:
        """Rules 1 and 5: every element type keeps its bytes, or is refused by name."""

        def map_(item: Tensor) -> Tensor:
            mapped = self.map(item, self._reading())
            assert isinstance(mapped, Tensor)
            return mapped

        every_dtype(
            self.source.context(), self.cases[0].shape, map_, served=self.target.dtypes,
            look=self.target.view,
        )  # fmt: skip

    def test_planes_keep_their_places(self) -> None:
        """Rule 1: planes that look alike are not mistaken for one another."""
        case = self.cases[0]

        def make(name: str) -> Frame:
            frame = self.item(ImageInfo.of(name, case.width, case.height))
            assert isinstance(frame, Frame)
            return frame

        def map_(frame: Frame) -> Frame:
            mapped = self.map(frame, self._reading())
            assert isinstance(mapped, Frame)
            return mapped

        holds(
            planes_keep_their_places, make, map_, lambda f: fill_each(self.views(f), 3),
            lambda f: [view.copy() for view in self.views(f)],
        )  # fmt: skip

    def test_each_plane_is_published(self, case: Case, writing: Access) -> None:
        """Rule 1: flush() of a plane publishes that plane, wherever its memory is."""
        each_plane_is_published(self.under_test(case), writing)

    def test_a_plane_keeps_its_memory(self, case: Case, reading: Access) -> None:
        """Rule 3: a view of one plane keeps that plane's memory after all else was dropped."""
        plane_keeps_its_memory(self.under_test(case), reading)

    def test_the_mapping_outlives_the_source(self, case: Case) -> None:
        """Rule 3: a view or the native of a mapping keeps its memory after all else was dropped."""
        holds(mapping_outlives_its_source, self.under_test(case), self._reading())

    def test_the_source_closes_after_the_mapping(self, case: Case) -> None:
        """Rule 2: a source that is no longer mapped can be closed, and keeps its bytes before."""
        source_closes_after_its_mapping(self.under_test(case), self._reading())

    def test_two_mappings_close_in_any_order(self, case: Case) -> None:
        """Rule 2: closing one mapping leaves the other one its bytes, and then the source."""
        holds(mappings_close_in_any_order, self.under_test(case), self._reading())

    def test_regions_map(self, case: TensorInfo) -> None:
        """Rule 1: a region of a native maps to exactly its rows, or is refused by name."""
        holds(regions_map, Regions(self.source, case), self.under_test(case))
