# SPDX-License-Identifier: Apache-2.0
"""Drops in every order, threads, leaks, and the end of the interpreter."""

from __future__ import annotations

import gc
import threading
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from samebytes import Frame, ImageInfo, Tensor, TensorInfo, Transfer
from samebytes.plugins import Access

from . import _child
from ._footprint import assert_steady
from ._guard import GuardedMemory
from ._memory import Memory, fill, views_of
from ._objects import Case, item_of

__all__ = ["LifetimeChecks"]

_PARTS = ("native", "object", "mapped", "mapped native", "view")
_MAPS_PER_THREAD = 200


class LifetimeChecks:
    """The part of MapperSuite that is about who keeps what alive."""

    source: ClassVar[Memory]
    target: ClassVar[Memory]
    cases: ClassVar[tuple[Any, ...]]
    accesses: ClassVar[tuple[Access, ...]]
    transfer: ClassVar[Transfer]
    threads: ClassVar[int] = 4

    def map(self, item: Tensor | Frame, access: Access = "r") -> Tensor | Frame:
        """The mapping under test."""
        raise NotImplementedError

    def test_drop_orders(self) -> None:
        """Rule 3: in whatever order the parts are dropped, the others read what they should.

        In a process of its own, as a mistake would end it. Where the source can lie over given
        memory, that memory cannot be touched after its release, and its release is seen.
        """
        self._in_child("check_drop_orders")

    def test_exit_with_living_mappings(self) -> None:
        """Rule 3: the interpreter may end while mappings, natives and arrays are alive."""
        self._in_child("check_exit")

    def test_threads(self) -> None:
        """Rule 9: threads map their own objects at once, the first of them at the same moment."""
        self.source.context().forget_routes()
        start = threading.Barrier(self.threads)
        errors: list[BaseException] = []

        def work(seed: int) -> None:
            try:
                items = [item_of(self.source, case) for case in self.cases]
                expected = [[fill(v, seed) for v in views_of(self.source, i)] for i in items]
                start.wait()
                for _ in range(_MAPS_PER_THREAD):
                    for item, values in zip(items, expected, strict=True):
                        mapped = self.map(item, self._reading())
                        _assert_holds(views_of(self.target, mapped), values)
                        mapped.close()
            except BaseException as error:
                errors.append(error)
                start.abort()

        workers = [threading.Thread(target=work, args=(n * 50,)) for n in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]

    def test_nothing_stays(self) -> None:
        """Rule 4: 10,000 maps leave neither memory nor descriptors nor objects behind.

        The tolerance is that of `assert_steady`: less than a tenth of one object for each map.
        """
        item = item_of(self.source, self.cases[0])
        access = self._reading()

        def once() -> None:
            mapped = self.map(item, access)
            views_of(self.target, mapped)

        assert_steady(once)

    def test_nothing_stays_of_sources(self) -> None:
        """Rule 4: the same for 1,000 sources, each mapped and closed."""
        case, access = self.cases[-1], self._reading()

        def once() -> None:
            item = item_of(self.source, case)
            with self.map(item, access):
                pass
            item.close()

        assert_steady(once, 1_000)

    def _reading(self) -> Access:
        return "r" if "r" in self.accesses else self.accesses[0]

    def _in_child(self, method: str) -> None:
        status, output, errors = _child.run_method(self, method)
        doing = (output.splitlines() or ["starting"])[-1]
        assert status == 0, f"status {status} at: {doing}\n{errors}"
        assert not errors

    def check_drop_orders(self) -> None:
        """Runs in a child process: every order of drops, for every case."""
        gc.disable()  # whatever only the collector would end must not be there
        for case in self.cases:
            for access in self.accesses:
                for order in permutations(_PARTS):
                    doing = f"{case}, access {access}, dropped in the order {', '.join(order)}"
                    print(doing, flush=True)  # noqa: T201 - the parent reads the last line
                    self._drop(case, access, order)

    def check_exit(self) -> None:
        """Runs in a child process: leave everything alive in a module that outlives us."""
        for case in self.cases:
            for access in self.accesses:
                item = item_of(self.source, case)
                mapped = self.map(item, access)
                _child.immortal.append(
                    (item.native, item, mapped, mapped.native, views_of(self.target, mapped))
                )

    def _drop(self, case: Case, access: Access, order: tuple[str, ...]) -> None:
        guard, native = self._guarded(case)
        item = item_of(self.source, case, native)
        mapped = self.map(item, access)
        if access == "r":
            values = [fill(v, 17) for v in views_of(self.source, item)]
            mapped = self.map(item, access)  # again, for a copy too to have the values
        else:
            values = [fill(v, 17) for v in views_of(self.target, mapped)]
            mapped.flush()  # a device sees what was written when it is published
        alive: dict[str, Any] = {
            "native": native,
            "object": item,
            "mapped": mapped,
            "mapped native": mapped.native,
            "view": views_of(self.target, mapped),
        }
        del native, item, mapped
        for name in order:
            if guard is not None and self.transfer is not Transfer.COPY:
                assert not guard.released, f"given back while {', '.join(alive)} are alive"
            del alive[name]
            self._take_freed_memory(case)
            for left, part in alive.items():
                _assert_holds(self._look(left, part, case), values)
                del part
        if guard is not None:
            assert guard.releases == 1, "not given back although nobody holds it"

    def _guarded(self, case: Case) -> tuple[GuardedMemory | None, Any]:
        """A native object, over guarded memory if the framework can use foreign memory."""
        guard = GuardedMemory()
        if isinstance(case, TensorInfo):
            if type(self.source).over is Memory.over:
                return None, self.source.make(case)
            return guard, self.source.over(*guard.arrays([case]))
        if type(self.source).frame_over is Memory.frame_over:
            return None, self.source.make_frame(case)
        layouts = [TensorInfo(p.dtype, p.shape, p.strides) for p in case.plane_layouts()]
        return guard, self.source.frame_over(guard.arrays(layouts), case)

    def _look(self, name: str, part: Any, case: Case) -> tuple[np.ndarray[Any, Any], ...]:
        if name == "view":
            views: tuple[np.ndarray[Any, Any], ...] = part
            return views
        memory = self.target if name.startswith("mapped") else self.source
        if name in ("object", "mapped"):
            return views_of(memory, part)
        if isinstance(case, ImageInfo):
            return memory.views(part)
        return (memory.view(part),)

    def _take_freed_memory(self, case: Case) -> None:
        """Let the allocator hand out what was freed, so that reading it on shows."""
        for _ in range(2):
            for view in views_of(self.source, item_of(self.source, case)):
                fill(view, 200)


def _assert_holds(
    views: tuple[np.ndarray[Any, Any], ...], values: list[np.ndarray[Any, Any]]
) -> None:
    for view, expected in zip(views, values, strict=True):
        assert np.array_equal(view, expected), "the bytes changed"
