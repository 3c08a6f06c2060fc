# SPDX-License-Identifier: Apache-2.0
"""The tests of MapperSuite on the object that map() makes: parent, access, closing."""

from __future__ import annotations

import weakref
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from samebytes import Access, Frame, Tensor
from samebytes.errors import AccessError
from samebytes.plugins import sweep_loans

from ._cases import Case, allocate
from ._closed import assert_closed
from ._lifetimes import assert_holds
from ._mapping import Mapping
from ._memory import fill_each
from .rules.readonly import mapping_is_readonly, mapping_is_writable

__all__ = ["ObjectChecks"]


class ObjectChecks(Mapping):
    """The part of MapperSuite that is about the object that map() returns."""

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
        """Rule 8: a mapping keeps format, time, metadata and regions."""
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
        if access != "r":
            mapping_is_writable(mapped, self.views(mapped))
            return
        mapping_is_readonly(mapped, self.views(mapped) if self.target.readonly_enforced else ())
        with pytest.raises(AccessError, match="read-only"):
            mapped.map(self.source.context(), "rw")

    def test_read_only_sources(self, case: Case) -> None:
        """Rule 10: writing to a read-only source is refused; reading is not."""
        reading = self.item(case).map(self.source.context())
        if "r" in self.accesses:
            mapping_is_readonly(self.map(reading, "r"))
        writing: tuple[Access, ...] = ("w", "rw")
        for access in writing:  # even if the mapping does not serve that access
            with pytest.raises(AccessError, match="read-only"):
                self.map(reading, access)

    def test_queue(self, case: Case, access: Access) -> None:
        """Rule 7: with a queue map() does not wait; after wait() the bytes are there."""
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
        """Rule 2: closed memory lives on while a mapping uses it, and is released with it."""
        for what in ("mapping", "native") if self.target.natives_hold else ("mapping",):
            owned = allocate(self.source, case)
            expected = fill_each(self.views(owned), 4)
            owned.flush()
            made = [weakref.ref(storage) for storage in owned._made]
            held: Any = self.map(owned, self.accesses[0])
            if what == "native":
                held = held.native
            assert owned.close() is False
            assert_closed(owned)
            if what == "mapping" and self.accesses[0] != "w":
                assert_holds(self.views(held), expected)
            del held
            sweep_loans()
            assert not any(ref() is not None for ref in made), "the last holder did not release it"

    def test_the_end_of_a_block(self, case: Case, writing: Access) -> None:
        """Rule 2: the end of a block publishes writes; views that outlive it stay readable.

        Once the last view is dropped, nothing of the mapping is left.
        """
        item = self.item(case)
        fill_each(self.views(item), 90)
        with self.map(item, writing) as mapped:
            made = [weakref.ref(storage) for storage in mapped._made]
            views = self.views(mapped)
            written = fill_each(views, 2)
        assert_closed(mapped)
        for view, values in zip(self.views(item), written, strict=True):
            np.testing.assert_array_equal(view, values)
        assert_holds(views, written)
        del views, view
        assert not any(ref() is not None for ref in made), "the last holder did not release it"
