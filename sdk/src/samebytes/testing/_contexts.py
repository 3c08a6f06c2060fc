# SPDX-License-Identifier: Apache-2.0
"""ContextSuite: the rules for contexts."""

from __future__ import annotations

import gc
import weakref
from typing import ClassVar

import pytest

import samebytes
from samebytes import Context, Device, TensorInfo
from samebytes.errors import (
    AmbiguousTargetError,
    UnknownNameError,
    UnsupportedObjectError,
)

from . import _child
from ._declared import Declared
from ._memory import Memory
from ._objects import choose_tests
from ._subjects import AllocatedMemory, holds
from ._threads import in_threads
from .rules.allocation import (
    allocated_as_asked,
    close_gives_back,
    living_memory_shares_no_byte,
    planes_share_no_byte,
)
from .rules.contexts import context_closes, one_context
from .rules.sizes import sizes_of_frames, sizes_of_tensors

__all__ = ["ContextSuite"]


class ContextSuite(Declared):
    """Tests of contexts. Inherit it once for each memory type.

    Class attributes:
        memory: the memory type.
        singleton: True if there is a single context, which is never closed.
        threads: how many threads ask for the context at once.
    """

    memory: ClassVar[Memory]
    singleton: ClassVar[bool] = True
    threads: ClassVar[int] = 8

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        choose_tests(cls, ContextSuite, test_ends_with_its_last_holder=not cls.singleton)

    def test_one_for_the_same_handles(self) -> None:
        """Equal contexts are one living object."""
        one_context(self.memory.context)
        context = self.memory.context()
        assert context.memory_type == self.memory.memory_type
        assert context.node == self.memory.node
        assert type(context).singleton == self.singleton, "ContextSuite.singleton says otherwise"
        assert context.node in repr(context)
        assert isinstance(context.device, Device)
        assert context.derive(context.node) is context

    def test_unknown_names(self) -> None:
        """Rule 5: unknown handles, devices and memory types raise an error with similar names."""
        context = self.memory.context()
        with pytest.raises(UnknownNameError) as caught:
            context.handle("va_disply")
        assert "va_display" in caught.value.nearest
        with pytest.raises(UnknownNameError):
            context.derive("no_such_memory")
        if self.singleton:
            with pytest.raises(UnknownNameError):
                samebytes.context(f"{context.node}:7")

    def test_closing(self) -> None:
        """Rule 2: a context made from handles closes; that of host memory stays open."""
        context = self.memory.context()
        with context as entered:
            assert entered is context
        if self.singleton:
            context.close()
            context.check_open()
            assert self.memory.context() is context
            return
        context_closes(self.memory.context)

    def test_one_for_all_threads(self) -> None:
        """Rule 9: threads that ask at the same moment get the one living context."""
        found = []

        def work(_: int) -> None:
            context = self.memory.context()
            found.append(context)
            assert context.derive(context.node) is context

        in_threads(self.threads, work)
        assert all(context is found[0] for context in found)

    def test_ends_with_its_last_holder(self) -> None:
        """Rule 4: a context ends with its last tensor, without the garbage collector."""
        status, _, errors = _child.run_method(self, "check_ends")
        assert status == 0, errors
        assert not errors

    def check_ends(self) -> None:
        """Runs in a child process, where nobody else holds the context."""
        gc.disable()
        before = None
        for _ in range(2):  # the first round makes what is made once for all contexts
            context = self._as_named()
            tensor = context.allocate((4, 4)) if self.memory.allocates else None
            if tensor is not None:  # the route is then in the context's own table
                tensor.map(context.node).close()
            if self.memory.allocates_frames:
                with context.allocate_frame("NV12", 8, 4) as frame:
                    frame.map(context.node).close()
                del frame
            alive = weakref.ref(context)
            del context
            if tensor is not None:
                assert alive() is not None, "a tensor holds its context"
                del tensor
            assert alive() is None, "something keeps the context alive"
            counts = dict(self.memory.native_counts())
            assert before in (None, counts), "native objects stay"
            before = counts

    def _as_named(self) -> Context:
        """The context of the node or, if the node has several devices, that of the memory.

        The node comes first because a memory may hold the context that it returns.
        """
        try:
            return samebytes.context(self.memory.node)
        except AmbiguousTargetError:
            return self.memory.context()

    def test_allocating(self) -> None:
        """Allocated memory is owned, writable, of the requested layout, and released by close()."""
        context = self.memory.context()
        if not self.memory.allocates:
            with pytest.raises(UnsupportedObjectError, match="cannot allocate"):
                context.allocate((4, 4))
            return
        allocated_as_asked(context, (4, 6), "float32")
        memory = AllocatedMemory(self.memory, TensorInfo("float32", (4, 6)))
        if self.memory.natives_hold:
            close_gives_back(memory)
        holds(living_memory_shares_no_byte, memory, self.memory.pool)
        sizes_of_tensors(context)

    def test_allocating_frames(self) -> None:
        """Allocated frames are owned and writable, and close() releases them."""
        context = self.memory.context()
        if not self.memory.allocates_frames:
            with pytest.raises(UnsupportedObjectError, match="cannot allocate"):
                context.allocate_frame("BGR", 8, 4)
            return
        entry = {"samebytes.testing": 1}
        frame = context.allocate_frame("NV12", 8, 4, pts=7, metadata=entry)
        assert frame.pts == 7
        assert frame.metadata["samebytes.testing"] == 1
        image = frame.image
        assert str(image) == "NV12 8x4"
        assert frame.context is context
        assert not frame.readonly
        frame.close()
        assert frame.closed
        memory = AllocatedMemory(self.memory, image)
        planes_share_no_byte(memory)
        holds(living_memory_shares_no_byte, memory, self.memory.pool)
        sizes_of_frames(context, "NV12")
