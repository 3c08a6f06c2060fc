# SPDX-License-Identifier: Apache-2.0
"""The rules for one edge: it does with the bytes what it says, and lets go of them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from ..._core.access import Access
from ..._core.address import data_address
from ..._core.context import Context
from ..._core.edge import MapperSpec, Transfer
from ..._core.mapper import MemoryMapper
from ..._plugins.loading import load_class
from ..._stats import reset_stats, stats
from ...errors import BusyError, NoRouteError, SamebytesError
from .footprint import assert_nothing_stays
from .reporting import BrokenRule, NotChecked, Report
from .samples import Array, Item, contexts_of, hosts, items, planes, read, write

__all__ = ["check"]

# Objects put here live until the interpreter ends.
_immortal: list[Any] = []

_SHARES = {
    Transfer.ALIAS: "declare Transfer.COPY, or make the target's object over the source's pointer",
    Transfer.IMPORT: "import the source's handle instead of copying from it",
    Transfer.MAP: "write back what was written when the mapping is flushed and when it ends: "
    "Storage(release=, flush=)",
    Transfer.COPY: "new memory with the same elements; if it is the same memory, declare "
    "Transfer.ALIAS",
}


def check(report: Report, spec: MapperSpec, plugin: str) -> None:
    """Map objects along one edge, by itself."""
    edge = _Edge(spec, plugin)
    with report.rule(
        "an edge takes something", spec.name,
        "connect() returns (native, TensorInfo or None, Storage or None); what it cannot take it "
        'refuses with Refused("why")',
    ):  # fmt: skip
        edge.find_sample()
    if not edge.ready:
        return
    copies = spec.transfer is Transfer.COPY
    with report.rule(
        "a copy is a copy, and counted" if copies else "both sides have the same bytes", spec.name,
        _SHARES[spec.transfer],
    ):  # fmt: skip
        for access in spec.access:
            (edge.check_copy if copies else edge.check_shared)(access)
        report.note(edge.seen)
    with report.rule(
        "read-only memory stays read-only", spec.name,
        'for access "r", connect() returns a native object that cannot be written: of an array, a '
        "view with flags.writeable = False",
    ):  # fmt: skip
        edge.check_readonly()
    with report.rule(
        "the source closes when nothing maps it any more", spec.name,
        "hold the source only through the Storage or the native object that connect() returns",
    ):  # fmt: skip
        edge.check_closing()
    with report.rule(
        "what a mapping made outlives the source", spec.name,
        "the native object keeps its memory alive by itself: it holds the source's native, or the "
        "Storage that connect() returns, whose keep= then is what the memory lies in",
    ):  # fmt: skip
        edge.check_drops()
    with report.rule(
        "nothing stays of a mapping", spec.name,
        "no table, no closure and no cycle may hold tensors, natives or storages; each descriptor "
        "has one samebytes.plugins.Fd",
    ):  # fmt: skip
        edge.check_leaks()
    report.last(
        "the interpreter ends well with living mappings", spec.name,
        "memory whose release calls into a driver has Storage(at_exit=True)",
    )  # fmt: skip
    edge.leave_alive()


class _Edge:
    """One edge between two contexts, and the kind of object that it takes.

    Attributes:
        seen: what was compared, for the report.
        ready: a sample was found.
    """

    def __init__(self, spec: MapperSpec, plugin: str) -> None:
        self.spec = spec
        self.plugin = plugin
        self.seen = ""
        self.ready = False
        self._number = 0
        self._source: Context
        self._target: Context
        self._mapper: MemoryMapper

    def find_sample(self) -> None:
        """Find an object that the edge takes.

        Raises:
            NotChecked: it refuses all, or an end of it is not there.
        """
        self._source, self._target = contexts_of(self.spec, self.plugin)
        mapper = load_class(self.spec.mapper, self.plugin, MemoryMapper)
        self._mapper = mapper(self.spec, self._source, self._target)
        reasons = []
        for number, item in enumerate(items(self._source, self._target, self.spec)):
            try:
                self.map(item, self.spec.access[0])
            except NoRouteError as error:
                reasons.append("; ".join(error.reasons))
                continue
            self._number, self.ready = number, True
            return
        raise NotChecked(f"it refuses what can be made here: {' | '.join(dict.fromkeys(reasons))}")

    def item(self) -> Item:
        """A new object that the edge takes."""
        for number, item in enumerate(items(self._source, self._target, self.spec)):
            if number == self._number:
                return item
        raise NotChecked("what it took before cannot be made again")

    def map(self, item: Item, access: Access) -> Item:
        """Along this edge alone."""
        mapped: Item = self._mapper.map(item, access, copy=self.spec.transfer is Transfer.COPY)
        return mapped

    @property
    def reading(self) -> Access:
        """An access that it serves; one that reads, if there is."""
        return "r" if "r" in self.spec.access else self.spec.access[0]

    def check_shared(self, access: Access) -> None:
        """Compare addresses, and what one side writes with what the other reads."""
        item = self.item()
        values = write(item, 1)
        reset_stats()
        mapped = self.map(item, access)
        if stats().copies:
            raise BrokenRule(f'access "{access}": a copy was counted on an edge that declares none')
        self._compare_addresses(item, mapped, access)
        if access != "w":
            _assert_same(values, read(mapped), f'access "{access}": the target reads other bytes')
            if self.spec.transfer is not Transfer.MAP:
                later = write(item, 60)
                what = f'access "{access}": what is written to the source later is not seen'
                _assert_same(later, read(mapped), what)
        if access != "r":
            values = write(mapped, 2)
            mapped.flush()
            mapped.close()
            what = f'access "{access}": what is written to the mapping is not in the source'
            _assert_same(values, read(item), what)

    def _compare_addresses(self, item: Item, mapped: Item, access: Access) -> None:
        here, there = hosts(item), hosts(mapped)
        if self.spec.transfer is not Transfer.ALIAS or here is None or there is None:
            self.seen = "by writing on one side and reading on the other"
            return
        for number, (ours, theirs) in enumerate(zip(here, there, strict=True)):
            if data_address(ours) != data_address(theirs):
                raise BrokenRule(
                    f'access "{access}": it declares ALIAS, and the first element of plane '
                    f"{number} is at {data_address(ours):#x} in the source and at "
                    f"{data_address(theirs):#x} in the target"
                )
        self.seen = "equal pointers, and writes seen on the other side"

    def check_copy(self, access: Access) -> None:
        """See that bytes moved, and that the core was told."""
        item = self.item()
        values = write(item, 1)
        reset_stats()
        mapped = self.map(item, access)
        if stats().copies == 0:
            raise BrokenRule("no copy was counted")
        if access != "w":
            _assert_same(values, read(mapped), f'access "{access}": the copy has other elements')
            later = write(item, 60)
            if _same(later, read(mapped)):
                raise BrokenRule(
                    f'access "{access}": what is written to the source later shows in what should '
                    "be a copy"
                )
        self.seen = f"{stats().copies} counted"

    def check_readonly(self) -> None:
        """Look for a way to write to what was mapped for reading."""
        if "r" not in self.spec.access:
            raise NotChecked('it does not serve access "r"')
        mapped = self.map(self.item(), "r")
        if not mapped.readonly or not all(plane.readonly for plane in planes(mapped)):
            raise BrokenRule("what was mapped is not readonly")
        natives = mapped.native if isinstance(mapped.native, tuple) else (mapped.native,)
        if any(isinstance(n, np.ndarray) and n.flags.writeable for n in natives):
            raise BrokenRule("its native array can be written")

    def check_closing(self) -> None:
        """Close the mapping, then the source; and the other way round."""
        item = self.item()
        values = write(item, 5)
        mapped = self.map(item, self.reading)
        mapped.close()
        if not mapped.closed:
            raise BrokenRule("close() of the mapping did not close it")
        _assert_same(values, read(item), "close() of the mapping changed the source")
        try:
            item.close()
        except BusyError as error:
            raise BrokenRule(
                "the mapping is closed and dropped, and still holds the source"
            ) from error

    def check_drops(self) -> None:
        """Drop everything but an array, or but the native object; its bytes must stay."""
        for survivor in ("array", "native object"):
            item = self.item()
            values = write(item, 9)
            mapped = self.map(item, self.reading)
            kept: Any = hosts(mapped) if survivor == "array" else mapped.native
            if self.spec.transfer is Transfer.COPY or self.reading != "w":
                del item, mapped
                gc.collect()
                self._take_freed_memory()
                found = self._look(kept)
                if found is not None:
                    _assert_same(
                        values, found, f"only its {survivor} is left, and the bytes changed"
                    )

    def _take_freed_memory(self) -> None:
        for _ in range(4):
            try:
                write(self.item(), 200)
            except (NotChecked, SamebytesError):
                return

    def _look(self, kept: Any) -> list[Array] | None:
        """The bytes of arrays or of a native object; None where there is no way to see them."""
        from ... import frame, tensor

        if kept is None:
            return None
        parts = kept if isinstance(kept, list | tuple) else (kept,)
        if all(isinstance(part, np.ndarray) for part in parts):
            return [part.reshape(-1).copy() for part in parts]
        try:
            if isinstance(kept, tuple) or self.spec.level == "tensor":
                return [read(tensor(part))[0] for part in parts]
            return read(frame(kept))
        except (NotChecked, SamebytesError):
            return None

    def check_leaks(self) -> None:
        """Map again and again; close, or just drop."""
        item = self.item()

        def closed() -> None:
            self.map(item, self.reading).close()

        def dropped() -> None:
            self.map(item, self.reading)

        assert_nothing_stays(closed)
        assert_nothing_stays(dropped)

    def leave_alive(self) -> None:
        """Let the interpreter end with a mapping, its source and its native object."""
        item = self.item()
        mapped = self.map(item, self.reading)
        _immortal.append((item, mapped, mapped.native, hosts(mapped)))


def _same(ours: list[Array], theirs: list[Array]) -> bool:
    pairs = zip(ours, theirs, strict=True)
    return all(a.size == b.size and np.array_equal(a, b.astype(a.dtype)) for a, b in pairs)


def _assert_same(ours: list[Array], theirs: list[Array], what: str) -> None:
    if not _same(ours, theirs):
        raise BrokenRule(what)
