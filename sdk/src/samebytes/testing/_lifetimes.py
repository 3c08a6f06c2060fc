# SPDX-License-Identifier: Apache-2.0
"""The checks of lifetimes: drops in any order, threads, fork(), leaks, the interpreter's end."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
import weakref
from typing import Any, ClassVar

import numpy as np

from samebytes import Access, Frame, Tensor, Transfer

from . import _child
from ._cases import Case, guarded, item_of
from ._declared import Declared
from ._footprint import assert_nothing_left
from ._memory import Memory, fill, fill_each, views_of
from ._scenarios import Plan, run_lifetimes
from ._subjects import MappingUnderTest
from ._threads import in_threads, wait_until
from .rules.exits import interpreter_ends_well

__all__ = ["LifetimeChecks", "assert_holds"]

_FORK_LIMIT_S = 60
_SETS_PER_THREAD = 8
_LAST_STEPS = 40  # a whole scenario
# Kept for each class: a process takes longer to start than most of the checks in it.
_results: weakref.WeakKeyDictionary[type, dict[str, _child.ChildResult]] = (
    weakref.WeakKeyDictionary()
)


class LifetimeChecks(Declared):
    """The common part of the suites of tensors, frames and mappings.

    Class attributes:
        cases: the objects that are made at the source.
        accesses: the access modes that the mapping serves.
        transfer: the strongest thing that happens to the bytes on the way.
        threads: how many threads work at once; 1 where the framework allows no more.
        maps_per_thread: how often each of them maps.
        scenarios: how many scenarios of `test_lifetimes` are played, of 25 steps each.
        mixed_access: mappings for reading and for writing can live at once; False where the
            framework locks what it maps.
    """

    cases: ClassVar[tuple[Any, ...]]
    accesses: ClassVar[tuple[Access, ...]] = ("r", "w", "rw")
    transfer: ClassVar[Transfer] = Transfer.ALIAS
    threads: ClassVar[int] = 4
    maps_per_thread: ClassVar[int] = 200
    scenarios: ClassVar[int] = 15
    mixed_access: ClassVar[bool] = True

    # What runs in a child process, in this order: after the last one the interpreter ends.
    in_child: ClassVar[tuple[str, ...]] = ("check_fork", "check_lifetimes", "check_exit")

    def ends(self) -> tuple[Memory, Memory]:
        """The memory types of the source and of the target."""
        raise NotImplementedError

    def map(self, item: Tensor | Frame, access: Access = "r") -> Tensor | Frame:
        """The mapping under test."""
        raise NotImplementedError

    def _make_and_map(self) -> None:
        for case in getattr(self, "cases", ())[:1]:
            self.map(item_of(self.ends()[0], case), self.accesses[0])

    def test_lifetimes(self) -> None:
        """Rules 2 and 3: scenarios of make, map, hold, write, close and drop, in any order.

        Each part reads the right bytes for as long as it is held; close() returns False exactly
        while something holds the memory; and the memory is released with its last holder. Runs in
        a process of its own, since a mistake would end it. If the source can lie over foreign
        memory, its release is detected, and any access after it ends the process.
        """
        self._in_child("check_lifetimes")

    def test_fork(self) -> None:
        """Rule 3: objects that a forked child drops live on in its parent."""
        self._in_child("check_fork")

    def test_exit_with_living_mappings(self) -> None:
        """Rule 3: the interpreter may end while mappings, natives and arrays are alive."""
        self._in_child("check_exit")

    def test_threads(self) -> None:
        """Rule 9: threads map objects of their own at once, and begin at the same moment."""
        source, target = self.ends()
        source.context().forget_routes()
        access = self._reading()

        def work(number: int) -> None:
            items = [item_of(source, case) for case in self.cases]
            expected = [fill_each(views_of(source, i), number * 50) for i in items]
            for _ in range(self.maps_per_thread):
                for item, values in zip(items, expected, strict=True):
                    mapped = self.map(item, access)
                    assert_holds(views_of(target, mapped), values)
                    mapped.close()

        in_threads(self.threads, work)

    def test_ends_in_any_thread(self) -> None:
        """Rule 9: one thread may close or drop what another one made."""
        source, target = self.ends()
        access, sets, guards = self._reading(), [], []
        for number in range(self.threads * _SETS_PER_THREAD):
            case = self.cases[number % len(self.cases)]
            guard, native = guarded(source, case)
            item = item_of(source, case, native)
            fill_each(views_of(source, item), number)
            mapped = self.map(item, access)
            sets.append([native, item, mapped, views_of(target, mapped), mapped.native])
            guards.append(guard)
            del native, item, mapped

        def work(_: int) -> None:
            for _ in range(_SETS_PER_THREAD):
                held = sets.pop()
                del held[3:]
                for part in reversed(held[1:]):
                    part.close()

        in_threads(self.threads, work)
        given = [g for g in guards if g is not None]
        assert wait_until(lambda: all(g.released for g in given)), "not given back"
        assert all(g.releases == 1 for g in given)

    def test_nothing_is_left(self) -> None:
        """Rule 4: mappings that were dropped leave nothing: all is released at once."""
        source, target = self.ends()

        def once() -> None:
            for case in self.cases:
                for access in self.accesses:
                    item = item_of(source, case)
                    mapped = self.map(item, access)
                    views_of(target, mapped)
                    item.close()

        once()
        once()  # by now, caches that grow up to a limit, such as that of routes, have grown

        def counts() -> dict[str, int]:
            return {**source.native_counts(), **target.native_counts()}

        with assert_nothing_left(counts):
            once()

    def _reading(self) -> Access:
        return next((a for a in ("r", "rw") if a in self.accesses), self.accesses[0])

    def _in_child(self, check: str) -> None:
        cls = type(self)
        if cls not in _results:
            _results[cls] = _child.run_methods(self, self.in_child)
        status, output, errors = _results[cls][check]
        steps = "\n".join(output.splitlines()[-_LAST_STEPS:])
        assert status == 0, f"status {status} after:\n{steps}\n{errors}"
        assert not errors, errors

    def check_lifetimes(self) -> None:
        """Runs in a child process: the scenarios."""
        source, target = self.ends()
        plan = Plan(
            source, target, self.cases, self.accesses, self.transfer, self.mixed_access, self.map
        )
        run_lifetimes(plan, self.scenarios)

    def check_fork(self) -> None:
        """Runs in a child process that has no threads yet but those of frameworks."""
        gc.freeze()  # collecting the frameworks' objects takes longer than all of this
        source, target = self.ends()
        safe = source.fork_safe and target.fork_safe
        for case in self.cases:
            guard, native = guarded(source, case)
            item = item_of(source, case, native)
            values = fill_each(views_of(source, item), 31)
            item.flush()
            mapped = self.map(item, self._reading())
            sys.stdout.flush()
            child = os.fork()
            if not child:
                signal.alarm(_FORK_LIMIT_S)
                status = 1
                try:
                    if safe:
                        assert_holds(views_of(target, mapped), values)
                        mapped.close()
                        item.close()
                        del mapped, item, native
                        gc.collect()
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            _, ended = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(ended) == 0, "the forked child did not end well"
            assert_holds(views_of(source, item), values)
            assert_holds(views_of(target, mapped), values)
            mapped.close()
            assert_holds(views_of(target, self.map(item, self._reading())), values)
            assert guard is None or not guard.released
            item.close()
            del mapped, item, native
            assert guard is None or guard.releases == 1

    def check_exit(self) -> None:
        """Runs in a child process: leave everything alive in a module that outlives this one."""
        for case in self.cases:
            for access in self.accesses:
                interpreter_ends_well(MappingUnderTest(self, case), access)


def assert_holds(
    views: tuple[np.ndarray[Any, Any], ...], values: list[np.ndarray[Any, Any]]
) -> None:
    """Assert that the views hold these values."""
    for view, expected in zip(views, values, strict=True):
        assert np.array_equal(view, expected), "the bytes changed"


def take_freed_memory(memory: Memory, case: Case) -> None:
    """Make the allocator reuse freed memory, so that reading it after its release shows."""
    for _ in range(2):
        for view in views_of(memory, item_of(memory, case)):
            fill(view, 200)
