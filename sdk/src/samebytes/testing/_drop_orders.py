# SPDX-License-Identifier: Apache-2.0
"""Drops in every order, and leaks of many maps: what MapperSuite adds about lifetimes."""

from __future__ import annotations

import gc
import sys
from functools import partial
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from samebytes import Access, ImageInfo, Transfer

from ._cases import Case, guarded, item_of, native_of
from ._footprint import assert_steady
from ._lifetimes import LifetimeChecks, assert_holds, take_freed_memory
from ._memory import Memory, fill_each, views_of

__all__ = ["DropChecks"]

_PARTS = ("native", "object", "mapped", "mapped native", "view")
_ORDERS = list(permutations(_PARTS))


class DropChecks(LifetimeChecks):
    """The part of MapperSuite that is about who keeps what alive."""

    source: ClassVar[Memory]
    target: ClassVar[Memory]

    in_child: ClassVar[tuple[str, ...]] = (
        "check_fork", "check_drop_orders", "check_lifetimes", "check_exit",
    )  # fmt: skip

    def ends(self) -> tuple[Memory, Memory]:
        """The memory types of the source and of the target."""
        return self.source, self.target

    def test_drop_orders(self) -> None:
        """Rule 3: in whatever order the parts are dropped, the others read the right bytes.

        The first case is tried with every access mode in every order, each other case in every
        order with the access modes in turn. Runs in a process of its own, over guarded memory,
        like `test_lifetimes`.
        """
        self._in_child("check_drop_orders")

    def test_nothing_stays(self) -> None:
        """Rule 4: 4,000 maps leave neither memory nor descriptors nor objects behind.

        The tolerance is that of `assert_steady`: less than a tenth of one object for each map.
        """
        item = item_of(self.source, self.cases[0])
        access = self._reading()
        # Held, as in real programs: opening a device again takes much longer than a map. The
        # test below opens one for each source.
        context = self.target.context()

        def once() -> None:
            mapped = self.map(item, access)
            views_of(self.target, mapped)

        assert_steady(once)
        del context

    def test_nothing_stays_of_sources(self) -> None:
        """Rule 4: the same for 500 sources, each mapped and closed."""
        case, access = self.cases[-1], self._reading()

        def once() -> None:
            item = item_of(self.source, case)
            with self.map(item, access):
                pass
            item.close()

        # `by_hand` measures what the framework leaves behind of its own natives: that is allowed.
        assert_steady(once, 500, by_hand=partial(native_of, self.source, case))

    def check_drop_orders(self) -> None:
        """Runs in a child process: every order of drops."""
        gc.disable()  # no object may need the collector to be released
        first, *others = self.cases
        for access in self.accesses:
            for order in _ORDERS:
                self._drop(first, access, order)
        for case in others:
            for number, order in enumerate(_ORDERS):
                self._drop(case, self.accesses[number % len(self.accesses)], order)

    def _drop(self, case: Case, access: Access, order: tuple[str, ...]) -> None:
        doing = f"{case}, access {access}, dropped in the order {', '.join(order)}"
        sys.stdout.write(f"{doing}\n")  # the parent shows the last line
        sys.stdout.flush()
        guard, native = guarded(self.source, case)
        item = item_of(self.source, case, native)
        mapped = self.map(item, access)
        if access == "r":
            values = fill_each(views_of(self.source, item), 17)
            mapped = self.map(item, access)  # again, so that a copy has the values too
        else:
            values = fill_each(views_of(self.target, mapped), 17)
            mapped.flush()  # a device sees writes once they are published
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
            if len(alive) == 1:
                # This shows memory that was released too early. Each part is the last one in some
                # orders, after the others were dropped in every order.
                take_freed_memory(self.source, case)
            for left, part in alive.items():
                assert_holds(self._look(left, part, case), values)
                del part
        if guard is not None:
            assert guard.releases == 1, "not given back although nobody holds it"

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
