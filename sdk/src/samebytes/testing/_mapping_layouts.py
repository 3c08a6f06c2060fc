# SPDX-License-Identifier: Apache-2.0
"""The tests of MapperSuite on odd layouts: mapped exactly, or refused with a reason."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from hypothesis import given

import samebytes
from samebytes import Access, Frame, Tensor, Transfer
from samebytes.errors import CopyRequiredError, LayoutError, NoRouteError

from . import strategies
from ._examples import repeatable
from ._layouts import EXAMPLES, ImageLayout, Layout, Layouts
from ._mapping import Mapping
from ._memory import address_of, fill, views_of

__all__ = ["LayoutChecks"]


class LayoutChecks(Mapping):
    """The part of MapperSuite that is about layouts.

    Class attributes:
        layouts: which odd layouts of the source the mapping serves.
    """

    layouts: ClassVar[Layouts] = Layouts()

    def test_declared_layouts(self, oddity: str) -> None:
        """Rules 1 and 5: each declared oddity is served or refused, as declared."""
        self._map_layout(EXAMPLES[oddity], served=getattr(self.layouts, oddity))

    def test_any_layout(self) -> None:
        """Rules 1 and 5: any layout maps exactly or is refused, as declared."""
        readonly = "r" in self.accesses

        @repeatable
        @given(layout=strategies.layouts(readonly=readonly))
        def check(layout: Layout) -> None:
            self._map_layout(layout)

        check()

    def test_any_image(self) -> None:
        """Rules 1 and 5: an image of any size and pitch maps exactly, or is refused."""
        names = sorted({str(case.format) for case in self.cases})

        @repeatable
        @given(layout=strategies.image_layouts(names))
        def check(layout: ImageLayout) -> None:
            self._map_image(layout)

        check()

    def _map_layout(self, layout: Layout, *, served: bool = False) -> None:
        info, array = layout.info, layout.array()
        try:
            native = self.source.over(array)
        except Exception:  # the framework's own refusal, before samebytes sees anything
            assert not served, "the source's framework does not take it"
            return
        try:
            item = self.source.tensor(native)
        except LayoutError:
            assert not served, "not a layout that the source can have"
            return
        if item.strides != info.strides:
            # The source's framework normalises layouts, or keeps copies of odd ones.
            assert not served, "the source's framework changes the layout"
            return
        access = self._reading() if layout.readonly else self.accesses[-1]
        mapped = self._map_or_refuse(item, access)
        if mapped is None:
            assert not served, "refused, although it is declared to be served"
            return
        assert not self.layouts.refuses(layout), f"{info} is declared not to be served"
        view = self.target.view(mapped.native)
        assert view.shape == info.shape
        assert mapped.readonly or not layout.readonly, "read-only memory became writable"
        if info.size:
            if self.transfer is Transfer.ALIAS:
                assert self.target.address(view) == address_of(array)
            array.flags.writeable = True
            fill(array, 5)
            np.testing.assert_array_equal(view, array)

    def _map_image(self, layout: ImageLayout) -> None:
        arrays = layout.arrays()
        try:
            native = self.source.frame_over(arrays, layout.image)
        except Exception:  # the framework's own refusal
            return
        try:
            item = self.source.frame(native, layout.image)
        except (LayoutError, NoRouteError):
            return  # not a layout that the source can have
        views = views_of(self.source, item)
        if [v.strides for v in views] != [p.strides for p in layout.planes]:
            return  # the source's framework normalises layouts
        mapped = self._map_or_refuse(item, self.accesses[-1])
        if mapped is None:
            return
        assert isinstance(mapped, Frame)
        assert mapped.image == layout.image
        seen = views_of(self.target, mapped)
        for view, array in zip(seen, arrays, strict=True):
            assert view.shape == array.shape
            if self.transfer is Transfer.ALIAS:
                assert self.target.address(view) == address_of(array)
            fill(array, 5)
            np.testing.assert_array_equal(view, array)

    def _map_or_refuse(self, item: Tensor | Frame, access: Access) -> Tensor | Frame | None:
        """The mapping, without a copy; None where it is refused with a reason."""
        samebytes.reset_stats()
        mapped = None
        reasons: tuple[str, ...] = ("it maps",)
        try:
            mapped = self.map(item, access, copy=False)
        except (NoRouteError, CopyRequiredError) as error:
            reasons = error.reasons
        assert samebytes.stats().copies == 0
        assert reasons, "refused without a reason"
        return mapped
