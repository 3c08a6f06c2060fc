# SPDX-License-Identifier: Apache-2.0
"""Lifetimes as scenarios: whoever holds memory, in whatever order, sees the right bytes.

A scenario draws steps: make, map, hold a native, an array or a slice, write, flush, wait, close,
drop, collect. A model knows after each step who holds what, and therefore what every part must
read, what close() must return, and when memory is released.

random.Random draws the steps. Hypothesis would not do: its state machines leave some rules out of
most scenarios and repeat others, and few mistakes show without all kinds of steps in one scenario.
"""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebytes import Access, Frame, Tensor, TensorInfo, Transfer
from samebytes.errors import AccessError, ClosedError

from ._cases import Case, allocate, guarded, item_of
from ._held import Part, Root, View, check_values, name_of
from ._memory import Memory, fill_each, views_of

__all__ = ["Plan", "run_lifetimes"]

_STEPS = 25
_MOST_PARTS = 10
_SEEDS = 251
_HELD = ("native", "views", "slices", "array", "storage", "plane")
# The weight of each step in the draw from those that can be taken.
_WEIGHTS = {
    "wrap": 2, "allocate": 2, "map": 6, "hold": 5, "write": 2, "settle": 2, "close": 2, "drop": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The memory, the cases and the mapping that scenarios are played with.

    Attributes:
        source, target: the two ends; the same one for identities.
        cases: the objects that are made in the source.
        accesses, transfer, mixed_access: as in the suite.
        map: the mapping.
    """

    source: Memory
    target: Memory
    cases: Sequence[Case]
    accesses: Sequence[Access]
    transfer: Transfer
    mixed_access: bool
    map: Callable[[Tensor | Frame, Access], Tensor | Frame]


def run_lifetimes(plan: Plan, scenarios: int) -> None:
    """Play `scenarios` scenarios, which are the same each time."""
    for number in range(scenarios):
        _say(f"scenario {number}")
        scenario = _Scenario(plan, random.Random(number))
        for _ in range(_STEPS):
            scenario.step()
        scenario.end()


class _Scenario:
    """The state of a scenario, and the steps that can be taken."""

    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self.plan = plan
        self.rng = rng
        self.parts: list[Part] = []
        self.roots: list[Root] = []
        gc.disable()  # no object may need the collector to be released

    def step(self) -> None:
        """Take one of the steps that are possible now, and check what must hold after it."""
        room, objects = len(self.parts) < _MOST_PARTS, bool(self.of_kind("object"))
        possible = {
            "wrap": room,
            "allocate": room and bool(self.owned_cases()),
            "map": room and objects,
            "hold": room and objects,
            "write": bool(self.writable()),
            "settle": objects,
            "close": objects,
            "drop": bool(self.parts),
        }
        names = [name for name, can_be in possible.items() if can_be]
        (name,) = self.rng.choices(names, [_WEIGHTS[n] for n in names])
        getattr(self, name)()
        self.check()

    def end(self) -> None:
        """Drop what is left, in any order."""
        while self.parts:
            self.drop()
            self.check()

    def check(self) -> None:
        self.every_part_reads_its_values()
        self.memory_is_given_back_with_its_last_holder()

    def wrap(self) -> None:
        """Wrap memory of the user's."""
        chosen = self.rng.choice(self.plan.cases)
        _say(f"wrap {chosen}")
        source = self.plan.source
        guard, native = guarded(source, chosen)
        item = item_of(source, chosen, native)
        root = Root(chosen, guard)
        view = View(root, self.values(source, item))
        item.flush()
        self.roots.append(root)
        held = frozenset([root])
        self.parts += [
            Part("native", native, source, view, False, held),
            Part("object", item, source, view, False, held),
        ]

    def allocate(self) -> None:
        """Allocate memory of samebytes'."""
        chosen = self.rng.choice(self.owned_cases())
        _say(f"allocate {chosen}")
        source = self.plan.source
        item = allocate(source, chosen)
        root = Root(chosen, None, weakref.ref(item.storage))
        view = View(root, self.values(source, item))
        item.flush()
        self.roots.append(root)
        held = frozenset([root])
        self.parts.append(Part("object", item, source, view, False, held, ends=root))

    def map(self) -> None:
        """Map an object to the other end, or to its own context."""
        part = self.choose("object")
        across = self.rng.random() < 0.6 and part.memory is self.plan.source and not part.view.apart
        apart = across and self.plan.transfer in (Transfer.MAP, Transfer.COPY)
        accesses: Sequence[Access] = self.plan.accesses if across else ("r", "w", "rw")
        chosen = self.rng.choice(accesses)
        if across and not self.plan.mixed_access:
            root = part.view.root
            if not any(p.memory is self.plan.target and p.view.root is root for p in self.parts):
                root.access = None
            chosen = root.access = root.access or chosen
        if part.view.stale or (apart and self.disturbs(part.view.root, chosen)):
            return
        if chosen == "w" and not part.readonly and part not in self.writable():
            return
        item = part.value
        _say(f"map {name_of(part)} {'across' if across else 'to itself'}, access {chosen}")
        try:
            mapped = self.plan.map(item, chosen) if across else item.map(item.context, chosen)
        except AccessError:
            assert item.readonly, "access was refused to what can be written"
            return
        assert chosen == "r" or not item.readonly, "read-only memory became writable"
        memory = self.plan.target if across else part.memory
        view = part.view
        if apart:
            view = View(view.root, view.values, True, chosen != "r")
        made: frozenset[object] = frozenset([object()] if mapped._made else [])
        holds, may_hold = part.holds, part.may_hold
        if apart and self.plan.transfer is Transfer.COPY:  # its parent may be closed
            holds, may_hold = frozenset(), holds | may_hold
        if not part.memory.natives_hold:  # close() does not see what its framework counts
            holds, may_hold = frozenset(), holds | may_hold
        mine = Part(
            "object", mapped, memory, view, mapped.readonly, holds | made, may_hold,
            next(iter(made), None),
        )  # fmt: skip
        self.parts.append(mine)
        if chosen == "w":
            self.fill_through(mine)

    def hold(self) -> None:
        """Hold something else over the memory of an object."""
        part, how = self.choose("object"), self.rng.choice(_HELD)
        item, memory, index = part.value, part.memory, 0
        value: Any = None
        if how == "native":
            value = item.native
        elif how == "views":
            value = views_of(memory, item)
        elif how == "slices":
            views = views_of(memory, item)
            if not all(v.ndim for v in views):
                return
            value = tuple(v[:1] for v in views)
            del views
        elif how == "storage":
            if isinstance(item, Frame):  # one of several: not all that a frame holds
                return
            value = item.storage
        elif how == "array" or isinstance(item, Frame):
            if not memory.host_visible:
                return
            planes = item.planes if isinstance(item, Frame) else (item,)
            index = self.rng.randrange(len(planes))
            if planes[index].closed:
                return
            value = planes[index] if how == "plane" else np.asarray(planes[index])
        else:
            return
        _say(f"hold the {how} of {name_of(part)}")
        holds, may_hold = part.holds, part.may_hold
        if not memory.natives_hold and how != "storage":
            holds, may_hold = frozenset[object](), holds | may_hold
        self.parts.append(
            Part(how, value, memory, part.view, part.readonly, holds, may_hold, None, index,
                  part if how == "plane" else None)
        )  # fmt: skip

    def write(self) -> None:
        """Write through an object, and publish it."""
        part = self.rng.choice(self.writable())
        _say(f"write to {name_of(part)}")
        self.fill_through(part)

    def settle(self) -> None:
        """flush(), wait() and the garbage collector change no byte, and end nothing."""
        part, how = self.choose("object"), self.rng.choice(("flush", "wait", "collect"))
        _say(f"{how} {name_of(part)}")
        if how == "wait":
            part.value.wait()
        elif how == "collect":
            gc.collect()
        elif not part.view.stale:  # publishing what was read before would undo a later write
            part.value.flush()

    def close(self) -> None:
        """Close an object; close() returns False exactly while others hold the memory."""
        ending = [p for p in self.parts if p.ends is not None]
        part = (
            self.rng.choice(ending) if ending and self.rng.random() < 0.5 else self.choose("object")
        )
        _say(f"close {name_of(part)}")
        others = [p for p in self.parts if p is not part and p.frame is not part]
        busy = part.ends is not None and any(part.ends in p.holds for p in others)
        unsure = part.ends is not None and any(part.ends in p.may_hold for p in others)
        made = bool(part.value._made)
        said = part.value.close()
        if not made:
            assert said is None, "close() said something of what it did not make"
        elif not unsure:
            assert said is (not busy), (
                f"close() said {said} of what is {'' if busy else 'not '}held"
            )
        assert part.value.closed
        planes = [p for p in self.parts if p.frame is part]
        for closed in (part, *planes):
            try:
                _ = closed.value.native
            except ClosedError:
                continue
            raise AssertionError("a closed object shows its native")
        self.remove([part, *planes])

    def drop(self) -> None:
        """Drop only the reference: other holders of the memory keep it."""
        part = self.rng.choice(self.parts)
        _say(f"drop {name_of(part)}")
        for plane in self.parts:
            if plane.frame is part:
                plane.frame = None  # it is a tensor of its own now
        self.remove([part])

    def every_part_reads_its_values(self) -> None:
        for part in self.parts:
            if part.kind != "storage" and not part.view.stale:
                check_values(part)

    def memory_is_given_back_with_its_last_holder(self) -> None:
        for root in list(self.roots):
            held = any(root in p.holds for p in self.parts)
            maybe = any(root in p.may_hold for p in self.parts)
            if root.guard is not None:
                assert not (held and root.guard.released), "given back while it is held"
                assert root.guard.releases < 2, "given back twice"
                assert held or maybe or root.guard.released, "not given back with its last holder"
            if root.storage is not None and not held and not maybe:
                assert root.storage() is None, "not given back with its last holder"
            if not held and not maybe:
                self.roots.remove(root)

    def of_kind(self, kind: str) -> list[Part]:
        return [p for p in self.parts if p.kind == kind]

    def choose(self, kind: str) -> Part:
        return self.rng.choice(self.of_kind(kind))

    def values(self, memory: Memory, item: Tensor | Frame) -> list[np.ndarray[Any, Any]]:
        """Write new values into an object, and return copies of them."""
        seed = self.rng.randrange(_SEEDS)
        return fill_each(views_of(memory, item), seed)

    def owned_cases(self) -> list[Case]:
        """The cases that samebytes can allocate and the mapping then shares."""
        if self.plan.transfer is Transfer.COPY:
            return []
        source = self.plan.source
        return [
            c for c in self.plan.cases
            if (source.allocates and c.strides is not None if isinstance(c, TensorInfo)
                else source.allocates_frames)
        ]  # fmt: skip

    def disturbs(self, root: Root, access: Access) -> bool:
        """True if a new mapping with bytes of its own would conflict with another such mapping."""
        apart = [p.view for p in self.parts if p.view.root is root and p.view.apart]
        return any(p.writable for p in apart) or (access != "r" and bool(apart))

    def writable(self) -> list[Part]:
        """The objects that can be written without conflict with a mapping with bytes of its own."""
        return [
            p for p in self.of_kind("object")
            if not p.readonly and not p.view.stale and all(
                o.view is p.view for o in self.parts
                if o.view.root is p.view.root and o.view.apart and o.view.writable
            )
        ]  # fmt: skip

    def fill_through(self, part: Part) -> None:
        values = self.values(part.memory, part.value)
        part.value.flush()
        root, copies = part.view.root, self.plan.transfer is Transfer.COPY
        for view in {id(p.view): p.view for p in self.parts}.values():
            if view.root is not root:
                continue
            if view is part.view or not view.apart:
                view.values = values
            elif not copies:  # an earlier mapping of a driver is not read until it is mapped again
                view.stale = True

    def remove(self, parts: list[Part]) -> None:
        for part in parts:
            self.parts.remove(part)


def _say(what: str) -> None:
    """Print a step; the parent process shows the last ones if this one ends."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
