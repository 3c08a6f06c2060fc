# SPDX-License-Identifier: Apache-2.0
"""MapperSuite: the rules for mapping from one memory type to another."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given

import samebytes
from samebytes import Frame, ImageInfo, Tensor, TensorInfo, Transfer
from samebytes.errors import (
    AccessError,
    BusyError,
    CopyRequiredError,
    LayoutError,
    NoRouteError,
)
from samebytes.formats import known_formats
from samebytes.plugins import Access, MapperSpec, MemoryMapper

from . import strategies
from ._cases import Case, allocate, item_of
from ._closed import assert_closed
from ._drop_orders import DropChecks
from ._examples import DTYPES, repeatable
from ._layouts import EXAMPLES, ImageLayout, Layout, Layouts
from ._memory import Memory, address_of, fill, fill_each, views_of
from ._objects import choose_tests

__all__ = ["MapperSuite"]

_STRENGTH = (Transfer.ALIAS, Transfer.IMPORT, Transfer.MAP, Transfer.COPY)


class MapperSuite(DropChecks):
    """Inherit it once for each pair of memory types and level.

    Class attributes:
        source, target: the two memory types.
        cases: what must map: TensorInfos for tensors, ImageInfos for frames.
        mapper: "module:Class" of one edge, to test that edge alone; None tests the route that
            map() finds, which may be another one where more plugins are installed.
        refused: (case, part of the reason) for what must not map.
        layouts: which odd layouts of the source the mapping serves.
        accesses: the access modes that it serves; the others are refused.
        transfer: the strongest thing that happens to the bytes on the way.
        threads, maps_per_thread: how many threads map at once, and how often.
        games: how many games of `test_lifetimes` are played, of 25 steps each.
        mixed_access: mappings for reading and for writing can live at once; False where the
            framework locks what it maps: then the second one is refused.
    """

    mapper: ClassVar[str | None] = None
    refused: ClassVar[tuple[tuple[Any, str], ...]] = ()
    layouts: ClassVar[Layouts] = Layouts()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cases = getattr(cls, "cases", ())
        if not cases:  # a base class of somebody's own
            return
        frames = not isinstance(cases[0], TensorInfo)
        copies = cls.transfer is Transfer.COPY
        apart = cls.transfer in (Transfer.MAP, Transfer.COPY)
        owns = cls.source.allocates_frames if frames else cls.source.allocates
        foreign = type(cls.source).over is not Memory.over and not copies
        foreign_frames = type(cls.source).frame_over is not Memory.frame_over and not copies
        mixing = not apart and cls.mapper is None and {"r", "rw"} <= {*cls.accesses}
        if not mixing and not cls.mixed_access:
            raise TypeError(f"{cls.__name__} does not test mixed_access: leave it out")
        choose_tests(
            cls,
            MapperSuite,
            test_writes_to_the_mapping_show_in_the_source=cls.accesses != ("r",),
            test_copies_are_asked_for=copies,
            test_what_is_known_of_a_frame_is_kept=frames,
            test_refusals=bool(cls.refused),
            test_the_route_says_what_happens=cls.mapper is None,
            test_the_edge_says_what_happens=cls.mapper is not None,
            test_accesses_that_are_not_served=len(cls.accesses) < 3 and cls.mapper is None,
            test_mixed_access=mixing,
            test_queue=cls.mapper is None,
            test_dtypes=not frames and not copies and cls.target.dtypes is not None,
            test_formats=frames and not copies and cls.target.formats is not None,
            test_declared_layouts=foreign and not frames and any(cls.layouts.declared()),
            test_any_layout=foreign and not frames,
            test_any_image=foreign_frames and frames,
            test_closing_owned_memory=owns and not copies and cls.source.natives_hold,
        )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give the tests their cases and access modes."""
        if "refusal" in metafunc.fixturenames:
            ids = [f"{case}" for case, _ in self.refused]
            metafunc.parametrize("refusal", self.refused, ids=ids)
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=[str(c) for c in self.cases])
        if "oddity" in metafunc.fixturenames:
            metafunc.parametrize("oddity", [o for o, _ in self.layouts.declared()])
        if "dtype_name" in metafunc.fixturenames:
            metafunc.parametrize("dtype_name", self.source.dtypes or DTYPES)
        if "access" in metafunc.fixturenames:
            metafunc.parametrize("access", self.accesses)
        if "reading" in metafunc.fixturenames:  # in "w", what was there before is undefined
            metafunc.parametrize("reading", [a for a in self.accesses if a != "w"])
        if "writing" in metafunc.fixturenames:
            metafunc.parametrize("writing", [a for a in self.accesses if a != "r"])

    @property
    def copies(self) -> bool:
        """Whether copy=True is needed."""
        return self.transfer is Transfer.COPY

    def views(self, item: Tensor | Frame) -> tuple[np.ndarray[Any, Any], ...]:
        """The elements of a source or target object, by its framework's own means."""
        return views_of(self._memory_of(item), item)

    def _memory_of(self, item: Tensor | Frame) -> Memory:
        return self.target if item.context.node == self.target.context().node else self.source

    def test_same_bytes(self, case: Case, access: Access) -> None:
        """Rule 1: the mapping has the source's addresses (an alias) and layout."""
        item = self.item(case)
        samebytes.reset_stats()
        mapped = self.map(item, access)
        if self.copies:
            assert samebytes.stats().copies > 0
        else:
            assert samebytes.stats().copies == 0
        for ours, theirs in zip(self.views(item), self.views(mapped), strict=True):
            assert theirs.shape == ours.shape
            assert theirs.dtype == ours.dtype
            if self.transfer is Transfer.ALIAS:
                assert self.target.address(theirs) == self.source.address(ours)
                assert theirs.strides == ours.strides

    def test_writes_to_the_source_show_in_the_mapping(self, case: Case, reading: Access) -> None:
        """Rule 1: what is written to the source afterwards is read in the mapping."""
        item = self.item(case)
        before = fill_each(self.views(item), 1)
        mapped = self.map(item, reading)
        for view, values in zip(self.views(mapped), before, strict=True):
            np.testing.assert_array_equal(view, values)
        if self.transfer in (Transfer.ALIAS, Transfer.IMPORT):
            after = fill_each(self.views(item), 60)
            for view, values in zip(self.views(mapped), after, strict=True):
                np.testing.assert_array_equal(view, values)

    def test_writes_to_the_mapping_show_in_the_source(self, case: Case, writing: Access) -> None:
        """Rule 1: what is written through a mapping, and flushed, is read in the source."""
        item = self.item(case)
        fill_each(self.views(item), 90)
        mapped = self.map(item, writing)
        written = fill_each(self.views(mapped), 2)
        mapped.flush()
        for view, values in zip(self.views(item), written, strict=True):
            np.testing.assert_array_equal(view, values)

    def test_mixed_access(self, case: Case) -> None:
        """Rule 1: what is mapped for reading sees what a mapping for writing writes.

        Where they cannot live at once, the second is refused until the first has ended.
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

    def test_the_route_says_what_happens(self, case: Case, access: Access) -> None:
        """Rule 1: the route tells beforehand whether it copies, and its edges say how."""
        item = self.item(case)
        route = samebytes.route(item, self.target.context(), access=access, copy=self.copies)
        assert route.copies == self.copies
        strongest = max((h.spec.transfer for h in route.hops), key=_STRENGTH.index)
        assert strongest is self.transfer
        assert all(access in hop.spec.access for hop in route.hops)
        assert self.target.memory_type in route.explain()
        mapped = route.map(item)
        assert mapped.context == self.target.context()

    def test_the_edge_says_what_happens(self) -> None:
        """Rule 1: what the plugin declares of the edge is what the suite declares."""
        frames = not isinstance(self.cases[0], TensorInfo)
        spec = self._spec()
        assert spec.transfer is self.transfer
        assert spec.access == self.accesses
        assert spec.level == ("frame" if frames else "tensor") or spec.serves("frame")

    def test_copies_are_asked_for(self, case: Case) -> None:
        """Rule 1: where the bytes are copied, that is refused without copy=True."""
        with pytest.raises(CopyRequiredError, match="copy=True"):
            self.map(self.item(case), self._reading(), copy=False)

    def test_a_new_object(self, case: Case, access: Access) -> None:
        """Rules 2 and 8: a new object of the target's context, whose parent is the source."""
        item = self.item(case)
        first, second = self.map(item, access), self.map(item, access)
        assert first is not second
        assert first is not item
        for mapped in (first, second):
            assert mapped.parent is item
            assert mapped.context == self.target.context()
            assert mapped.memory_type == self.target.memory_type
            assert isinstance(
                mapped, type(mapped.context).tensor_class | type(mapped.context).frame_class
            )
        if isinstance(item, Tensor):
            assert isinstance(first, Tensor)
            assert (first.dtype, first.shape) == (item.dtype, item.shape)
        first.close()
        assert not second.closed
        assert not item.closed

    def test_what_is_known_of_a_frame_is_kept(self, case: Case) -> None:
        """Rule 8: format, time, metadata and regions go along."""
        item = self.item(case)
        assert isinstance(item, Frame)
        item.meta.pts, item.meta.time_base = 42, Fraction(1, 90_000)
        item.metadata["camera"] = "left"
        mapped = self.map(item, self.accesses[0])
        assert isinstance(mapped, Frame)
        assert mapped.meta is item.meta
        assert mapped.image == item.image
        assert (mapped.pts, mapped.metadata["camera"]) == (42, "left")
        for plane, source, layout in zip(mapped, item, item.image.plane_layouts(), strict=True):
            assert plane.shape == self.target.plane_shape(layout.shape)
            assert plane.dtype == source.dtype
            assert plane.context == mapped.context

    def test_access(self, case: Case, access: Access) -> None:
        """Rule 10: "r" is read-only in the target too, and cannot be mapped for writing again."""
        mapped = self.map(self.item(case), access)
        assert mapped.readonly == (access == "r")
        planes = mapped.planes if isinstance(mapped, Frame) else ()
        assert all(p.readonly == mapped.readonly for p in planes)
        if self.target.readonly_enforced or access != "r":
            writable = {v.flags.writeable for v in self.views(mapped)}
            assert writable == {access != "r"}
        if access == "r":
            with pytest.raises(AccessError, match="read-only"):
                mapped.map(self.target.context(), "rw")
            with pytest.raises((AccessError, NoRouteError)):  # there need not be a way back
                mapped.map(self.source.context(), "rw")

    def test_read_only_sources(self, case: Case) -> None:
        """Rule 10: writing to a read-only source is refused; reading is not."""
        reading = self.item(case).map(self.source.context())
        for access in self.accesses:
            if access == "r":
                assert self.map(reading, access).readonly
            else:
                with pytest.raises(AccessError, match="read-only"):
                    self.map(reading, access)

    def test_refusals(self, refusal: tuple[Case, str]) -> None:
        """Rule 5: what the target cannot have is refused with the reason, and nothing is copied."""
        case, reason = refusal
        item = self.item(case)
        samebytes.reset_stats()
        with pytest.raises((NoRouteError, CopyRequiredError)) as caught:
            self.map(item, self.accesses[0], copy=False)
        assert reason in str(caught.value)
        assert samebytes.stats().copies == 0

    def test_accesses_that_are_not_served(self, case: Case) -> None:
        """Rule 10: an access mode that is not declared is refused."""
        every: tuple[Access, ...] = ("r", "w", "rw")
        for access in every:
            if access not in self.accesses:
                with pytest.raises((AccessError, NoRouteError, CopyRequiredError)):
                    self.map(self.item(case), access)

    def test_dtypes(self, dtype_name: str) -> None:
        """Rule 5: the target's element types map; the others are refused with a reason."""
        case = self.cases[0]
        item = self.item(TensorInfo(dtype_name, case.shape))
        if dtype_name in (self.target.dtypes or ()):
            mapped = self.map(item, self._reading())
            assert isinstance(mapped, Tensor)
            assert str(mapped.dtype) == dtype_name
        else:
            with pytest.raises((NoRouteError, CopyRequiredError)):
                self.map(item, self._reading())

    def test_formats(self) -> None:
        """Rule 5: the target's image formats map; the others are refused with a reason."""
        case = self.cases[0]
        names = [str(known) for known in known_formats()]
        for name in self.source.formats or names:
            item = self.item(ImageInfo.of(name, case.width, case.height))
            if name in (self.target.formats or ()):
                mapped = self.map(item, self._reading())
                assert isinstance(mapped, Frame)
                assert str(mapped.format) == name
            else:
                with pytest.raises((NoRouteError, CopyRequiredError)):
                    self.map(item, self._reading())

    def test_declared_layouts(self, oddity: str) -> None:
        """Rules 1 and 5: an oddity that is declared is served, or refused, as declared."""
        self._map_layout(EXAMPLES[oddity], served=getattr(self.layouts, oddity))

    def test_any_layout(self) -> None:
        """Rules 1 and 5: any layout there is maps exactly, or is refused, as declared."""
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

    def test_queue(self, case: Case, access: Access) -> None:
        """Rule 7: with a queue nothing waits; after wait() the bytes are there."""
        queue = self.source.queue() or self.target.queue()
        item = self.item(case)
        expected = fill_each(self.views(item), 77)
        mapped = self.map(item, access, queue=queue)
        mapped.wait()
        if access != "w":
            for view, values in zip(self.views(mapped), expected, strict=True):
                np.testing.assert_array_equal(view, values)
            del view
        mapped.close()
        assert_closed(mapped)

    def test_closing(self, case: Case) -> None:
        """Rule 2: source and mapping close in either order; borrowed memory stays in use."""
        item = self.item(case)
        mapped = self.map(item, self.accesses[0])
        item.close()
        assert_closed(item)
        self.views(mapped)
        mapped.close()
        assert_closed(mapped)
        item = self.item(case)
        mapped = self.map(item, self.accesses[0])
        mapped.close()
        self.views(item)
        item.close()
        assert_closed(item)

    def test_closing_owned_memory(self, case: Case) -> None:
        """Rule 2: memory that a mapping still uses cannot be closed; dropping it frees the way."""
        owned = allocate(self.source, case)
        expected = fill_each(self.views(owned), 4)
        holders: list[Any] = [self.map(owned, self.accesses[0])]
        if self.target.natives_hold:
            holders.append(holders[0].native)
        while holders:
            with pytest.raises(BusyError):
                owned.close()
            assert not owned.closed
            for view, values in zip(self.views(owned), expected, strict=True):
                np.testing.assert_array_equal(view, values)
            del view, values
            del holders[0]
        owned.close()
        assert_closed(owned)

    def item(self, case: Case) -> Tensor | Frame:
        """A source object over a new native one."""
        return item_of(self.source, case)

    def map(
        self,
        item: Tensor | Frame,
        access: Access = "r",
        *,
        copy: bool | None = None,
        queue: Any = None,
    ) -> Tensor | Frame:
        """The mapping under test. It copies, unless told otherwise, if that is its transfer."""
        if copy is None:
            copy = self.copies
        target = self.target.context()
        if self.mapper is None:
            return item.map(target, access, copy=copy, queue=queue)
        module, _, name = self.mapper.partition(":")
        edge: MemoryMapper = getattr(import_module(module), name)(
            self._spec(), item.context, target
        )
        mapped: Tensor | Frame = edge.map(item, access, copy=copy)
        return mapped

    def _spec(self) -> MapperSpec:
        """What the plugin declares of `mapper`."""
        assert self.mapper is not None
        return _spec_of(self.mapper, self.source.node, self.target.node)


@cache
def _spec_of(mapper: str, source: str, target: str) -> MapperSpec:
    # Each look at the installed plugins is a scan of all installed packages.
    (spec,) = [
        edge
        for plugin in samebytes.installed_plugins()
        for edge in plugin.edges
        if edge.mapper == mapper and (edge.source, edge.target) == (source, target)
    ]
    return spec
