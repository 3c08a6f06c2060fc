# SPDX-License-Identifier: Apache-2.0
"""The rules that tensors and frames share."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any, ClassVar

import numpy as np
import pytest

from samebytes import Access, Frame, ImageInfo, Tensor
from samebytes.errors import AccessError, ClosedError, UnknownNameError

from ._cases import Case, allocate, item_of, native_of
from ._closed import assert_closed
from ._lifetimes import LifetimeChecks
from ._memory import Memory, address_of, fill, fill_each, views_of
from ._threads import in_threads, switching_often
from .rules.readonly import identity_is_readonly

__all__ = ["ObjectSuite", "choose_tests"]

_CLOSING_ROUNDS = 40


def choose_tests(cls: type, suite: type, **applies: bool) -> None:
    """Remove tests that do not apply from a subclass of `suite`, so that pytest sees none.

    Args:
        applies: for each test, whether it applies; tests that `cls` overrides stay.
    """
    for name, wanted in applies.items():
        inherited = getattr(suite, name)
        if getattr(cls, name) in (None, inherited):
            setattr(cls, name, inherited if wanted else None)


class ObjectSuite(LifetimeChecks):
    """The tests for tensors and frames alike. Inherit TensorSuite or FrameSuite instead."""

    memory: ClassVar[Memory]
    maps_per_thread = 50
    scenarios = 8

    def ends(self) -> tuple[Memory, Memory]:
        """The memory type as both ends: objects are mapped to their own context."""
        return self.memory, self.memory

    def map(self, item: Tensor | Frame, access: Access = "r") -> Tensor | Frame:
        """The mapping of an object to its own context."""
        return item.map(item.context, access)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give the tests their cases."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=[str(c) for c in self.cases])

    def item(self, case: Case) -> Tensor | Frame:
        """A tensor or frame over a new native object."""
        return item_of(self.memory, case)

    def test_same_memory_as_the_native(self, case: Case) -> None:
        """Rule 1: wrapping does not copy; the addresses are the native's own."""
        item = self.item(case)
        planes = item.planes if isinstance(item, Frame) else (item,)
        if self.memory.host_visible:
            views = views_of(self.memory, item)
            assert [p.handle("data") for p in planes] == [address_of(v) for v in views]

    def test_the_native_is_kept(self, case: Case) -> None:
        """Rule 3: the wrapped native is held, and `native` returns that same object."""
        native = native_of(self.memory, case)
        item = item_of(self.memory, case, native)
        again = item.native
        if isinstance(native, tuple):
            assert len(again) == len(native)
            assert all(a is b for a, b in zip(again, native, strict=True))
        else:
            assert again is native

    def test_context(self, case: Case) -> None:
        """Every object has a context, that of its memory type."""
        item = self.item(case)
        assert item.context == self.memory.context()
        assert item.memory_type == self.memory.memory_type
        assert item.memory_type in repr(item) or item.context.node in repr(item)

    def test_map_to_itself_is_a_new_object(self, case: Case) -> None:
        """Rule 2: mapping to the same context gives a new object on the same bytes, a child."""
        item = self.item(case)
        mapped = item.map(item.context.node, "rw")
        assert mapped is not item
        assert mapped.parent is item
        assert mapped.context is item.context
        assert type(mapped) is type(item)
        for ours, theirs in zip(
            views_of(self.memory, item), views_of(self.memory, mapped), strict=True
        ):
            expected = fill(ours, 3)
            np.testing.assert_array_equal(theirs, expected)
            expected = fill(theirs, 9)
            np.testing.assert_array_equal(ours, expected)

    def test_access(self, case: Case) -> None:
        """Rule 10: "r" gives a read-only object, which never becomes writable again."""
        item = self.item(case)
        assert not item.readonly
        assert not item.map(item.context.node, "rw").readonly
        assert not item.map(item.context.node, "w").readonly
        identity_is_readonly(item)
        reading = item.map(item.context.node)
        writable = any(v.flags.writeable for v in views_of(self.memory, reading))
        assert writable != self.memory.readonly_enforced, "Memory.readonly_enforced says otherwise"
        writing: tuple[Access, ...] = ("w", "rw")
        for access in writing:
            with pytest.raises(AccessError, match="read-only"):
                reading.map(item.context.node, access)
        assert reading.map(item.context.node).readonly

    def test_unknown_names(self, case: Case) -> None:
        """Rule 5: a mistyped name raises an error that names the nearest ones."""
        item = self.item(case)
        mistyped = item.memory_type[:-1] + "_"
        with pytest.raises(UnknownNameError) as caught:
            item.map(mistyped)
        assert item.memory_type in [n.partition(":")[0] for n in caught.value.nearest]
        with pytest.raises(UnknownNameError, match="access mode 'wr'"):
            item.map(item.context.node, "wr")  # type: ignore[call-overload]  # that is the point
        with pytest.raises(UnknownNameError) as caught:
            item.handle("dat")
        assert "data" in caught.value.nearest

    def test_closed(self, case: Case) -> None:
        """Rule 2: after close() everything raises ClosedError; closing again does nothing."""
        item = self.item(case)
        mapped = item.map(item.context.node, "rw")
        item.close()
        assert_closed(item)
        mapped.close()
        assert_closed(mapped)

    def test_borrowed_memory_just_closes(self, case: Case) -> None:
        """Rule 2: close() does not release the user's own memory, which stays readable."""
        item = self.item(case)
        native = item.native
        expected = fill_each(views_of(self.memory, item), 5)
        mapped = item.map(item.context.node)
        views = views_of(self.memory, mapped)
        item.close()
        mapped.close()
        for view, values in zip(views, expected, strict=True):
            np.testing.assert_array_equal(view, values)
        views = (
            self.memory.views(native)
            if isinstance(case, ImageInfo)
            else (self.memory.view(native),)
        )
        for view, values in zip(views, expected, strict=True):
            np.testing.assert_array_equal(view, values)

    def test_with_block(self, case: Case) -> None:
        """Rule 2: leaving the block closes; the user's own error passes through."""
        with self.item(case) as item:
            assert not item.closed
        assert item.closed
        with pytest.raises(KeyError, match="of the user"), self.item(case) as item:
            raise KeyError("of the user")
        assert item.closed
        with pytest.raises(ClosedError), item:
            pass

    def test_no_reference_cycles(self, case: Case) -> None:
        """Rule 4: the last reference ends an object at once, without the garbage collector."""
        gc.collect()
        gc.disable()
        try:
            item = self.item(case)
            mapped = item.map(item.context.node)
            dead = weakref.ref(item), weakref.ref(mapped)
            del item
            assert dead[0]() is not None, "a mapped object holds what it was mapped from"
            del mapped
            assert [d() for d in dead] == [None, None]
        finally:
            gc.enable()

    def test_flush_and_wait(self, case: Case) -> None:
        """Rule 7: flush() and wait() may be called at any time, and change no byte."""
        item = self.item(case)
        mapped = item.map(item.context.node, "rw")
        expected = fill_each(views_of(self.memory, mapped), 23)
        for part in (mapped, item, mapped):
            part.flush()
            part.wait()
        for view, values in zip(views_of(self.memory, item), expected, strict=True):
            np.testing.assert_array_equal(view, values)

    def test_close_while_another_thread_drops(self, case: Case) -> None:
        """Rule 9: close() releases memory or reports it in use while another thread drops it."""
        for _ in range(_CLOSING_ROUNDS):
            item = allocate(self.memory, case)
            holder: list[Any] = [item.native]
            dropping = threading.Thread(target=holder.clear)
            with switching_often():
                dropping.start()
                while dropping.is_alive() and not item.closed:
                    item.close()
                dropping.join()
            item.close()
            assert_closed(item)

    def test_wrapping_in_threads(self) -> None:
        """Rule 9: several threads wrap and close at the same moment."""

        def work(_: int) -> None:
            for case in self.cases:
                with item_of(self.memory, case) as item:
                    assert item.context == self.memory.context()

        in_threads(self.threads, work)
