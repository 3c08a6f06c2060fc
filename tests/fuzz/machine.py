# SPDX-License-Identifier: Apache-2.0
"""A run of random steps over all memory types: make, map, hold, write, close, drop, interrupt.

Only the public API is used. After each step everything that is held must read what the model says
(model.py), and when all is dropped, no descriptor and no storage may be left.
"""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import samebytes
from samebytes import Access, Frame, Tensor, Transfer
from samebytes.errors import (
    ClosedError,
    NoRouteError,
    RouteError,
    SamebytesError,
    UnsupportedObjectError,
)

from ..faults.striking import Striker
from ..matrix.sources import TARGETS
from .model import MAKERS, Held, Memory, View, arrays_of, contents, make, pattern, put

__all__ = ["Machine", "WrongBytesError"]

_MOST_HELD = 12
_REGISTERED = "is already registered", "registered for memory that was there before"
_INTERRUPTED = 0.3
# Powers of ten of seconds: most steps take longer than the one, and less than the other.
_SOONEST, _LATEST = -6, -3
# By step, how often it is drawn where it can be taken.
_WEIGHTS = {
    "make": 3, "map": 8, "copy": 1, "hold": 4, "write": 3, "settle": 2, "close": 3, "drop": 3,
    "leave_a_block": 1, "close_a_context": 0.5,
}  # fmt: skip
# Host memory has one context, which never closes; these make others at will.
_CLOSABLE = ("opencl", "level_zero", "openvino:GPU", "openvino:NPU", "vaapi", "sycl")


class WrongBytesError(AssertionError):
    """Something reads what nobody wrote, or the model and the library disagree."""


class Machine:
    """The objects that are held, and the steps that can be taken.

    Args:
        seed: of all choices; the same one does the same again.
        say: gets a line before each step.
        striker: if there is one, it interrupts three of ten of the steps that map, write or close.

    Attributes:
        struck: how many it has interrupted.
    """

    def __init__(
        self, seed: int, say: Callable[[str], None], striker: Striker | None = None
    ) -> None:
        self.rng = random.Random(seed)
        self.say = say
        self.striker = striker
        self.held: list[Held] = []
        self.made = self.struck = 0

    def run(self, steps: int) -> None:
        """Take that many steps, then drop everything, in any order."""
        for _ in range(steps):
            self.step()
        while self.held:
            self.drop()
            self.check()

    def step(self) -> None:
        """One step, and what must hold after it."""
        room, objects = len(self.held) < _MOST_HELD, bool(self.objects())
        possible = {
            "make": room,
            "map": room and objects,
            "copy": room and objects,
            "hold": room and objects,
            "leave_a_block": room and objects,
            "write": objects,
            "settle": objects,
            "close": objects,
            "drop": bool(self.held),
            "close_a_context": True,
        }
        names = [name for name, can_be in possible.items() if can_be]
        (name,) = self.rng.choices(names, [_WEIGHTS[n] for n in names])
        getattr(self, name)()
        self.check()

    def make(self) -> None:
        """Memory of any type, by the means of its framework or by samebytes."""
        name, layout = self.rng.choice(MAKERS)
        self.say(f"make {name}, {layout}")
        item = make(name, layout)
        memory = Memory(f"{name}, {layout}", [()])
        self.made += 1
        values = self.overwrite(item)
        assert values is not None, "what is made can be read"
        memory.versions[:] = [values]
        self.held.append(Held(View(memory), item))

    def map(self) -> None:
        """To another memory type, or another mapping of the same."""
        source = self.choose()
        target = self.rng.choice((*TARGETS, source.item.context.node))
        access: Access = self.rng.choice(("r", "rw"))
        view = source.view
        if not self.may_map(view, access):
            return
        self.say(f"map {self.name(source)} to {target}, access {access}")
        mapped: Any = None
        with self.maybe_interrupted(view.memory):
            mapped = self.attempt(lambda: source.item.map(target, access))
        if mapped is None:
            return
        if self.goes_apart(source.item, target, access):
            since = len(view.memory.versions) - 1 if view.since is None else view.since
            view = View(view.memory, since, access != "r")
        self.held.append(Held(view, mapped))

    def copy(self) -> None:
        """Its own memory with the same contents."""
        source = self.choose()
        target = self.rng.choice(TARGETS)
        if source.view.memory.unknown or self.writers_apart(source.view):
            return
        before = samebytes.stats().copies
        self.say(f"copy {self.name(source)} to {target}")
        mapped = self.attempt(lambda: source.item.map(target, "r", copy=True))
        if mapped is None:
            return
        if samebytes.stats().copies == before:  # it was possible without
            if self.goes_apart(source.item, target, "r"):
                since = source.view.since
                since = len(source.view.memory.versions) - 1 if since is None else since
                self.held.append(Held(View(source.view.memory, since, False), mapped))
            else:
                self.held.append(Held(source.view, mapped))
            return
        memory = Memory(f"copy of {source.view.memory.name}", source.view.may_read())
        # What is in it was read once, so it is one of these from now on.
        memory.versions[:] = [self.one_of(mapped, memory)]
        self.held.append(Held(View(memory), mapped))

    def hold(self) -> None:
        """Something else over the same memory: the native object, arrays, a slice, a plane."""
        source = self.choose()
        item, how = source.item, self.rng.choice(("native", "arrays", "slice", "plane", "storage"))
        self.say(f"hold the {how} of {self.name(source)}")
        if how == "native":
            self.held.append(Held(source.view, native=item.native))
        elif how == "storage" and isinstance(item, Tensor):
            self.held.append(Held(source.view, native=item.storage))
        elif how == "plane" and isinstance(item, Frame):
            number = self.rng.randrange(len(item.planes))
            plane = item.planes[number]
            if plane.context.node == "cpu":
                self.held.append(Held(source.view, arrays=(plane.native,), planes=(number,)))
            else:
                self.held.append(Held(source.view, native=plane))
        elif item.context.node == "cpu":
            arrays = arrays_of(item)
            if how == "slice":
                number = self.rng.randrange(len(arrays))
                arrays = (arrays[number][:],)
                self.held.append(Held(source.view, arrays=arrays, planes=(number,)))
            else:
                numbers = tuple(range(len(arrays)))
                self.held.append(Held(source.view, arrays=arrays, planes=numbers))

    def write(self) -> None:
        """All of it, through any object, and published."""
        source = self.choose()
        if source.item.readonly or not self.may_write(source.view):
            return
        self.say(f"write to {self.name(source)}")
        memory = source.view.memory
        before, memory.unknown = memory.unknown, True
        with self.maybe_interrupted(memory):
            values = self.overwrite(source.item)
            if values is None:
                memory.unknown = before
                return
            memory.write(values)
        source.item.flush()

    def leave_a_block(self) -> None:
        """A block of a mapping for writing that arrays outlive."""
        source = self.choose()
        if source.item.readonly or not self.may_write(source.view):
            return
        self.say(f"write in a block over {self.name(source)}, and hold its arrays")
        memory = source.view.memory
        try:
            apart = self.goes_apart(source.item, "cpu", "rw")
        except SamebytesError:
            return
        memory.unknown, ended = True, False
        self.made += 1
        with self.maybe_interrupted(memory):
            view = self.attempt(lambda: source.item.map("cpu", "rw"))
            if view is None:
                memory.unknown = False
                return
            with view:
                arrays = arrays_of(view)
                for plane, array in enumerate(arrays):
                    array[...] = pattern(self.made + plane, array)
                values = tuple(array.tobytes() for array in arrays)
            ended = True
        if not ended:
            return
        if not view.closed:
            raise WrongBytesError("a block was left, and its view is open")
        memory.write(values)
        seen = View(memory, len(memory.versions) - 1) if apart else source.view
        self.held.append(Held(seen, arrays=arrays, planes=tuple(range(len(arrays)))))

    def settle(self) -> None:
        """Take a step that changes no byte and ends nothing."""
        source, how = self.choose(), self.rng.choice(("flush", "wait", "repr", "collect"))
        if how == "flush" and (source.view.since is not None or source.view.memory.unknown):
            return  # it would publish what was mapped before
        self.say(f"{how} {self.name(source)}")
        if how == "collect":
            gc.collect()
        elif how == "repr":
            repr(source.item)
        else:
            getattr(source.item, how)()

    def close(self) -> None:
        """It is closed, and says whether what it made is gone."""
        source = self.choose()
        alone = not [h for h in self.held if h is not source and h.view is source.view]
        alone = alone and not self.is_kept_by_a_parent(source)
        self.say(f"close {self.name(source)}")
        item, memory = source.item, source.view.memory
        made, said = [weakref.ref(storage) for storage in item._made], None
        struck = self.struck
        with self.maybe_interrupted(memory) as may_fail:
            said = item.close()
        if self.struck > struck:
            item.close()  # as a `finally` would: some of its planes may be closed already
        if not item.closed and not may_fail:
            raise WrongBytesError("close() closed nothing")
        if not may_fail and (said is None) is not (not made):
            raise WrongBytesError(f"close() said {said}")
        if said and any(ref() is not None for ref in made):
            raise WrongBytesError("close() said True of what is held")
        if (
            said is False
            and alone
            and not memory.struck  # what that call leaked may hold it
            and len({id(h.view.memory) for h in self.held}) == len(self.held)
        ):
            raise WrongBytesError("close() said False although nobody else holds anything of it")
        if item.closed:
            self.held.remove(source)
            with suppress(ClosedError):
                _ = item.native
                if self.struck > struck:  # what an interrupted close() was releasing may stay
                    return
                raise WrongBytesError("a closed object shows its native object")

    def is_kept_by_a_parent(self, source: Held) -> bool:
        """True if a mapping that was dropped, such as a copy's parent, may hold the memory."""
        items = [held.item for held in self.held if held is not source and held.item is not None]
        parents = [item.parent for item in items if not item.closed]
        return any(p is not None and p is not source.item and not p.closed for p in parents)

    def drop(self) -> None:
        """One reference; whoever else holds the memory keeps it."""
        source = self.rng.choice(self.held)
        self.say(f"drop {self.name(source)}")
        self.held.remove(source)

    def close_a_context(self) -> None:
        """Close a held object's context, or any: its objects stay usable; the next one is another.

        The checks after this step, and all further ones, read and map the objects that it has.
        """
        contexts = [held.item.context for held in self.held if held.item is not None]
        if contexts and self.rng.random() < 0.7:
            context = self.rng.choice(contexts)
        else:
            node = self.rng.choice(_CLOSABLE)
            context = self.attempt(lambda: samebytes.context(node))
            if context is None:
                return
        self.say(f"close the context {context.node}")
        context.close()
        if context.closed == context.shared:
            raise WrongBytesError(f"{context!r} is shared: {context.shared}")
        if context.closed:
            with suppress(ClosedError, UnsupportedObjectError):
                context.allocate((4, 4))
                raise WrongBytesError("a closed context allocates")

    def check(self) -> None:
        """Everything that is held reads one of the contents that are right."""
        for held in self.held:
            if held.view.memory.unknown:
                continue
            if held.arrays:
                self.compare(held, tuple(a.tobytes() for a in held.arrays), held.planes)
            elif held.item is not None and not self.writers_apart(held.view):
                found = self.attempt(partial(contents, held.item))
                if found is not None:
                    self.compare(held, found, tuple(range(len(found))))

    def compare(self, held: Held, found: Sequence[bytes], planes: Sequence[int]) -> None:
        right = held.view.may_read()
        # Each plane may be seen at another time.
        for number, values in zip(planes, found, strict=True):
            if not any(values == version[number] for version in right):
                raise WrongBytesError(f"plane {number} of {self.name(held)} reads other bytes")

    def one_of(self, item: Tensor | Frame, memory: Memory) -> tuple[bytes, ...]:
        found = contents(item)
        self.compare(Held(View(memory, 0), item), found, tuple(range(len(found))))
        return found

    def overwrite(self, item: Tensor | Frame) -> tuple[bytes, ...] | None:
        """Return what was written, the contents where it is read-only, or None if neither works."""
        self.made += 1
        # "w" where the memory cannot be read, and now and then elsewhere.
        for access in self.rng.sample(("w", "rw"), 2):
            with suppress(SamebytesError):
                return put(item, self.made, access)
        # Such as device memory, which a queue of the framework's fills: read only. Memory of a
        # device behind a descriptor may not be for the CPU at all.
        try:
            return contents(item)
        except NoRouteError:
            return None

    def maybe_interrupted(self, memory: Memory) -> AbstractContextManager[bool]:
        """A block of a call on that memory, which an exception may end; it gets whether."""
        if self.striker is None or self.rng.random() >= _INTERRUPTED:
            return nullcontext(False)
        seconds = 10 ** self.rng.uniform(_SOONEST, _LATEST)
        self.say(f"  interrupted after {seconds * 1e6:.0f} us")
        return self.interrupted(self.striker, seconds, memory)

    @contextmanager
    def interrupted(self, striker: Striker, seconds: float, memory: Memory) -> Iterator[bool]:
        with striker.within(seconds):
            yield True
        self.struck += striker.struck
        memory.struck = memory.struck or bool(striker.struck)

    def attempt(self, call: Callable[[], Any]) -> Any:
        """Return what the call gives, or None if the library refuses it with a named error."""
        try:
            return call()
        except ClosedError as error:
            raise WrongBytesError(f"something open says that it is closed: {error}") from error
        except SamebytesError:
            return None

    def goes_apart(self, item: Tensor | Frame, target: str, access: Access) -> bool:
        """True if a mapping is a driver's, which publishes when it is flushed or ends."""
        if item.context.node == target:
            return False
        try:
            hops = samebytes.route(item, target, access=access).hops
        except RouteError as error:
            # A registration with CUDA whose finalizer an exception ended is leaked: whatever comes
            # to lie at its address has no way to the device.
            if self.striker is None or not any(said in str(error) for said in _REGISTERED):
                raise
            return False
        return any(hop.spec.transfer is Transfer.MAP for hop in hops)

    def may_map(self, view: View, access: Access) -> bool:
        """True if drivers define what a further mapping sees and publishes."""
        if self.writers_apart(view) or view.memory.unknown:
            return False
        return access == "r" or not self.apart(view.memory)

    def may_write(self, view: View) -> bool:
        """True if no driver would write back older bytes afterwards."""
        others = [v for v in self.apart(view.memory) if v is not view]
        return not any(v.writable for v in others) and (view.since is None or view.writable)

    def writers_apart(self, view: View) -> bool:
        return any(v.writable and v is not view for v in self.apart(view.memory))

    def apart(self, memory: Memory) -> set[View]:
        return {h.view for h in self.held if h.view.memory is memory and h.view.since is not None}

    def objects(self) -> list[Held]:
        return [h for h in self.held if h.item is not None]

    def choose(self) -> Any:
        return self.rng.choice(self.objects())

    def name(self, held: Held) -> str:
        where = held.item.context.node if held.item is not None else "arrays or natives"
        return f"{where} over {held.view.memory.name}"
