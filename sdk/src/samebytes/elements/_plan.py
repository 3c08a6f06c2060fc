# SPDX-License-Identifier: Apache-2.0
"""The plan of a pipeline: the agreements on each link before the first frame, also in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._core.edges.context import Context
from .._raising import throw
from ..errors import NegotiationError
from ._element import Source
from ._graph import Graph, Step
from ._media import FrameInfo
from ._negotiation import Link, Negotiation

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Plan"]


class Plan:
    """The frames that each source gives, and the links of each stream.

    Attributes:
        given: the frames that each source gives; None if only known with the first one.
    """

    def __init__(
        self,
        graph: Graph,
        negotiation: Negotiation,
        given: dict[Step, FrameInfo | None],
        links: dict[tuple[Step, int], Link],
    ) -> None:
        self._graph = graph
        self._negotiation = negotiation
        self.given = given
        self._links = links

    @classmethod
    def made(cls, graph: Graph, negotiation: Negotiation) -> Self:
        """Ask every element.

        Raises:
            NegotiationError: two elements cannot agree.
            ElementError: an element raised in negotiate().
        """
        plan = cls(graph, negotiation, {}, {})
        plan._make()
        return plan

    def _make(self) -> None:
        graph = self._graph
        if len(graph.sources) > 1:
            for step in graph.steps:
                one = step.element.one_stream
                if one:
                    way = one if isinstance(one, str) else "give each a pipeline of its own"
                    raise NegotiationError(
                        step.name,
                        f"it takes one stream, and there are {len(graph.sources)} sources: {way}",
                    )
        self._same: dict[tuple[Step, FrameInfo], Link] = {}
        for step in graph.sources:
            vars(step.element)["wanted_access"] = graph.access
            try:
                info = self.given[step] = self._negotiation.source(step)
            except Exception as error:
                throw(step.failed(error, "negotiate"))
            if info is not None:
                self._negotiation.settle_on(info)
        for stream, step in enumerate(graph.sources):
            info = self.given[step]
            if info is not None:
                for next_ in graph.first:
                    self._follow(next_, info, stream)
        for step in graph.steps:
            if not self.links_of(step):  # agreed on with the first frame
                self._negotiation.check_shared(step)

    def _follow(self, step: Step, info: FrameInfo, stream: int) -> None:
        link = self._same.get((step, info))
        if link is None:
            try:
                link = self._same[step, info] = self._negotiation.link(step, info, stream=stream)
            except Exception as error:
                throw(step.failed(error, "negotiate", stream=self._stream(stream)))
        self._links[step, stream] = link
        for next_ in step.after:
            self._follow(next_, link.gives, stream)

    def _stream(self, number: int) -> int | None:
        """The number; None if there is only one stream."""
        return number if len(self._graph.sources) > 1 else None

    def links_of(self, step: Step) -> dict[int, Link]:
        """The links of a step, by stream."""
        return {number: link for (one, number), link in self._links.items() if one is step}

    def context_of(self, step: Step) -> Context | None:
        """The context where a step's element gets its frames, or gives them; None if not known."""
        links = self.links_of(step)
        for link in links.values():
            return link.target or self._negotiation.contexts.find(link.given.memory)
        given = self.given.get(step)
        return None if given is None else self._negotiation.contexts.find(given.memory)

    def lines(self) -> Iterator[str]:
        """The plan in words, a line or more for each step."""
        for stream, step in enumerate(self._graph.sources):
            info = self.given[step]
            text = "what its first frame is" if info is None else str(info)
            number = f"stream {stream}: " if len(self._graph.sources) > 1 else ""
            yield f"{number}{step.name} gives {text}"
            assert isinstance(step.element, Source)
            yield from (f"  {line}" for line in step.element.how().splitlines())
        for step in self._graph.steps:
            yield from self._lines_of(step)

    def notes(self) -> dict[str, str]:
        """A note on each step, by name: the frames of a source; where another takes them."""
        found: dict[str, str] = {}
        for step, info in self.given.items():
            found[step.name] = "" if info is None else str(info).partition(",")[0]
        for step in self._graph.steps:
            links = self.links_of(step).values()
            words = [f'in {_place(link)}, "{link.access}"' for link in links]
            found[step.name] = "; ".join(dict.fromkeys(words))
        return found

    def _lines_of(self, step: Step) -> Iterator[str]:
        """The lines on the frames of one step: once for all streams, or for each if they differ."""
        streams: dict[tuple[str, ...], list[int]] = {}
        links = self.links_of(step)
        for stream in range(len(self._graph.sources)):
            lines = tuple(_words(step, links.get(stream)))
            streams.setdefault(lines, []).append(stream)
        indent = "  " * (step.depth + 1)
        for (first, *rest), numbers in streams.items():
            yield f"{indent}{_prefix(numbers) if len(streams) > 1 else ''}{first}"
            for line in rest:
                yield f"{indent}{line}"


def _prefix(streams: list[int]) -> str:
    if len(streams) == 1:
        return f"stream {streams[0]}: "
    return f"streams {', '.join(map(str, streams[:-1]))} and {streams[-1]}: "


def _place(link: Link) -> str:
    """The memory in which a step takes frames."""
    return str(link.given.memory if link.target is None else link.target.node)


def _words(step: Step, link: Link | None) -> Iterator[str]:
    if link is None:
        takes = " or ".join(map(str, step.element._takes))
        yield f"{step.name} takes {takes}; agreed on with the first frame"
        return
    where = _place(link)
    own = link.own
    itself = "" if own is None or own.node == where else f", and maps it to {own.node} itself"
    yield f'{step.name} takes it in {where}, access "{link.access}"{itself}'
    if link.private:
        why = "others read the same one" if step.shares else "it is read-only"
        yield f"  COPIES each frame first: {why}"
    if link.route is not None and link.route.hops:
        for line in link.route.explain().splitlines():
            if line.startswith("  whether your"):
                continue
            yield f"  {line}"
        if not link.confirmed:
            yield "  not confirmed: the first frame can have a layout that is refused"
    elif itself and link.confirmed:
        yield "  the element maps the planes one by one: no route takes frames of this layout whole"
    if link.copies:
        yield f"  COPIES each frame {link.copies}"
    if link.converts:
        yield f"  CONVERTS each frame {link.converts}"
    if link.gives != link.given:
        yield f"  gives {link.gives}"
