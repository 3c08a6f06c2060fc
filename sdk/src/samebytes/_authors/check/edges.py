# SPDX-License-Identifier: Apache-2.0
"""The rules for one edge: it does with the bytes what it says, and releases them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from ..._core.edges.context import Context
from ..._core.edges.edge import Access, MapperSpec, Transfer
from ..._core.edges.mapper import MemoryMapper
from ..._core.memory.frame import Frame
from ..._core.memory.tensor import Tensor
from ..._plugins.loading import load_class
from ...testing.rules import NotChecked
from ...testing.rules.contents import SAMEBYTES
from ...testing.rules.dtypes import every_dtype
from ...testing.rules.exits import interpreter_ends_well
from ...testing.rules.footprint import nothing_stays_of_a_mapping
from ...testing.rules.lifetimes import (
    mapping_outlives_its_source,
    mappings_close_in_any_order,
    plane_keeps_its_memory,
    source_closes_after_its_mapping,
)
from ...testing.rules.mappings import (
    copies_are_copies,
    each_plane_is_published,
    edge_takes_something,
    same_bytes,
    writes_to_the_mapping_show,
    writes_to_the_source_show,
)
from ...testing.rules.planes import planes_keep_their_places
from ...testing.rules.readonly import mapping_is_readonly, mapping_is_writable
from ...testing.rules.regions import regions_map
from ...testing.rules.subjects import Item
from .reporting import Report
from .samples import Regions, contexts_of, frame_in, items

__all__ = ["check"]


def check(report: Report, spec: MapperSpec, plugin: str) -> None:
    """Map objects along one edge, by itself."""
    edge = _Edge(spec, plugin)
    with report.trying(edge_takes_something, spec.name):
        edge_takes_something(edge.candidates(), edge.take)
    if not edge.ready:
        return
    _check_bytes(report, edge)
    # An edge from a node to itself takes only what it has a use for.
    if spec.source != spec.target and "r" in spec.access:
        _check_kinds(report, edge)
    with report.trying(mapping_is_readonly, spec.name):
        mapping_is_readonly(edge.mapped_for_reading())
    report.tries(source_closes_after_its_mapping, spec.name, edge, edge.reading)
    report.tries(mappings_close_in_any_order, spec.name, edge, edge.reading)
    report.tries(mapping_outlives_its_source, spec.name, edge, edge.reading)
    with report.trying(nothing_stays_of_a_mapping, spec.name):
        item = edge.item()
        nothing_stays_of_a_mapping(
            lambda: edge.map(item, edge.reading).close(), lambda: edge.map(item, edge.reading)
        )
    report.last(interpreter_ends_well, spec.name)
    interpreter_ends_well(edge, edge.reading)


def _check_bytes(report: Report, edge: _Edge) -> None:
    name = edge.spec.name
    for access in edge.spec.access:
        subject = f'{name}, access "{access}"'
        if edge.transfer is Transfer.COPY:
            report.tries(copies_are_copies, subject, edge, access)
        else:
            report.tries(same_bytes, subject, edge, access)
            if access != "w":
                report.tries(writes_to_the_source_show, subject, edge, access)
        if access != "r":
            with report.trying(mapping_is_writable, subject):
                mapped = edge.map(edge.item(), access)
                mapping_is_writable(mapped, SAMEBYTES.views(mapped) or ())
                del mapped
            report.tries(writes_to_the_mapping_show, subject, edge, access)
            if edge.spec.level == "frame":
                report.tries(each_plane_is_published, subject, edge, access)


def _check_kinds(report: Report, edge: _Edge) -> None:
    """Check an edge with each element type and with regions, or with frames of each format."""
    name = edge.spec.name
    if edge.spec.level == "tensor":
        with report.trying(every_dtype, name):
            report.note(every_dtype(edge.source_context, edge.shape(), edge.map_tensor))
        report.tries(regions_map, name, Regions(edge.tensor), edge)
        return
    report.tries(
        planes_keep_their_places, name,
        partial(frame_in, edge.source_context), lambda f: cast(Frame, edge.map(f, "r")),
        lambda f: SAMEBYTES.write(f, 3), SAMEBYTES.read,
    )  # fmt: skip
    report.tries(plane_keeps_its_memory, name, edge, edge.reading)


class _Edge:
    """One edge between two contexts, and the kind of object that it takes.

    Attributes:
        source, target: how their elements are seen.
        transfer: as declared.
        ready: a sample was found.
    """

    source = target = SAMEBYTES

    def __init__(self, spec: MapperSpec, plugin: str) -> None:
        self.spec = spec
        self.plugin = plugin
        self.transfer = spec.transfer
        self.ready = False
        self._number = -1
        self.source_context: Context
        self._target: Context
        self._mapper: MemoryMapper

    def candidates(self) -> Iterator[Item]:
        """Objects that the edge may take.

        Raises:
            NotChecked: an end of it is not there, or nothing here makes any.
        """
        self.source_context, self._target = contexts_of(self.spec, self.plugin)
        mapper = load_class(self.spec.mapper, self.plugin, MemoryMapper)
        self._mapper = mapper(self.spec, self.source_context, self._target)
        return items(self.source_context, self._target, self.spec)

    def take(self, item: Item) -> None:
        """Map one of them, and remember which one it was.

        Raises:
            NoRouteError: the edge refuses it.
        """
        self._number += 1
        self.map(item, self.spec.access[0])
        self.ready = True

    def item(self) -> Item:
        """A new object that the edge takes."""
        for number, item in enumerate(items(self.source_context, self._target, self.spec)):
            if number == self._number:
                return item
        raise NotChecked("what it took before cannot be made again")

    def tensor(self) -> Tensor:
        """The same of an edge for tensors."""
        item = self.item()
        assert isinstance(item, Tensor)
        return item

    def shape(self) -> tuple[int, ...]:
        """The shape of the tensors that it takes."""
        return self.tensor().shape

    def map(self, item: Item, access: Access) -> Item:
        """The mapping along this edge alone."""
        mapped: Item = self._mapper.map(item, access, copy=self.transfer is Transfer.COPY)
        return mapped

    def map_tensor(self, tensor: Tensor) -> Tensor:
        """The mapping of a tensor for reading."""
        return cast(Tensor, self.map(tensor, "r"))

    @property
    def reading(self) -> Access:
        """An access that it serves; one that reads, if there is."""
        return "r" if "r" in self.spec.access else self.spec.access[0]

    def mapped_for_reading(self) -> Item:
        """A mapping with access "r".

        Raises:
            NotChecked: it serves none.
        """
        if "r" not in self.spec.access:
            raise NotChecked('it does not serve access "r"')
        return self.map(self.item(), "r")
