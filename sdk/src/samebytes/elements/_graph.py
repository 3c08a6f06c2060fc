# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline, made from the list that the user wrote."""

from __future__ import annotations

import inspect
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .._core.edges.edge import Access
from .._secrets import without_secrets_in
from ..errors import ElementError, UnsupportedObjectError
from ._element import Element, Sink, Source, TransformInplace
from ._functions import element_of

__all__ = ["Graph", "Step"]


class Step:
    """One element and where its frames go.

    Attributes:
        element: the element.
        name: unique in the pipeline: "blur", "blur#2".
        after: the steps that take its frames; if there are several, they may only read.
        depth: the number of branches that it lies in.
        comes_out: True at the end of the main line, whose frames the program gets.
    """

    # Weak, since `after` refers the other way: else a dropped pipeline would wait for the garbage
    # collector, with its models. The graph holds all steps.
    _before: weakref.ref[Step] | None
    __slots__ = ("__weakref__", "_before", "after", "comes_out", "depth", "element", "name")

    def __init__(self, element: Element, name: str, before: Step | None, depth: int) -> None:
        self.element = element
        self.name = name
        self.before = before
        self.after: list[Step] = []
        self.depth = depth
        self.comes_out = False

    @property
    def before(self) -> Step | None:
        """The step from which it takes frames; None for a source."""
        return None if self._before is None else self._before()

    @before.setter
    def before(self, step: Step | None) -> None:
        self._before = None if step is None else weakref.ref(step)

    @property
    def shares(self) -> tuple[str, ...]:
        """The names of other steps that get the same frames, directly or passed on by others."""
        before = self.before
        if before is None:
            return ()
        others = [repr(step.name) for step in before.after if step is not self]
        others += ["the program"] if before.comes_out else []
        return (*others, *(before.shares if before.passes_on else ()))

    @property
    def writes(self) -> bool:
        """True if it may write into the frames that it takes themselves, not into copies."""
        return not self.shares and any(taken.access != "r" for taken in self.element._takes)

    @property
    def passes_on(self) -> bool:
        """True if the frames that it gives are those that it takes.

        A step that only writes gets copies of shared frames, and passes those on.
        """
        element = self.element
        if isinstance(element, Source):
            return False
        reads = any(taken.access == "r" for taken in element._takes)
        kept = isinstance(element, Sink | TransformInplace) or element._gives is None
        return kept and reads

    def failed(
        self,
        error: Exception,
        call: str = "",
        *,
        stream: int | None = None,
        pts: int | None = None,
    ) -> ElementError:
        """An ElementError that names the element and the call; `error` itself if it is one.

        Args:
            error: the exception that the element raised, which becomes the cause.
            call: the method, if it is not the one that is called for each frame.
            stream, pts: those of the frame that it had.
        """
        without_secrets_in(error)
        if isinstance(error, ElementError):
            if error.stream is None:
                error.stream = stream
            return error
        said = f"{call}() raised " if call else ""
        failure = ElementError(
            self.name, f"{said}{type(error).__name__}: {error}", stream=stream, pts=pts,
            parameters=self.element.changed_parameters,
        )  # fmt: skip
        failure.__cause__ = error
        return failure

    def __repr__(self) -> str:
        return f"<Step {self.name}>"


class Graph:
    """All steps of a pipeline.

    Attributes:
        sources: one for each stream.
        first: the steps that take the frames of the sources; the same for all of them.
        last: the end of the main line, whose frames come out; None if there are only sources.
        steps: all but the sources, in the order in which they were written.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        if not items:
            raise UnsupportedObjectError("a pipeline begins with a source: Pipeline(source, ...)")
        self._names: Counter[str] = Counter()
        self._placed: set[int] = set()
        self.steps: list[Step] = []
        sources = items[0]
        several = _are_several(sources)
        if not several:
            sources = [sources]
        self.sources = [self._step(one, None, 0, first=True) for one in sources]
        for step in self.sources:
            if not isinstance(step.element, Source):
                advice = ": the list is of sources, and elements follow it" if several else ""
                raise UnsupportedObjectError(
                    f"a pipeline begins with a source, not {step.name!r}{advice}"
                )
        # All sources have the same steps after them.
        root = Step(self.sources[0].element, "", None, 0)
        self.last = self._chain(items[1:], root, 0)
        if self.last is root:
            self.last = None
        self.first = root.after
        for step in self.first:
            step.before = self.sources[0]
        for step in self.sources:
            step.after = self.first
        for step in self.sources if self.last is None else [self.last]:
            step.comes_out = True

    def _chain(self, items: Sequence[Any], before: Step, depth: int) -> Step | None:
        last = before
        for item in items:
            if isinstance(item, list | tuple):
                if not item:
                    raise UnsupportedObjectError(
                        "a branch without elements: put elements into the [], or remove it"
                    )
                self._chain(item, last, depth + 1)
                continue
            step = self._step(item, last, depth, first=False)
            last.after.append(step)
            last = step
        return last

    def _step(self, item: Any, before: Step | None, depth: int, *, first: bool) -> Step:
        element = element_of(item, first=first)
        if id(element) in self._placed:
            raise UnsupportedObjectError(
                f"the element {element!r} is in the pipeline twice: make another one"
            )
        if not first and isinstance(element, Source):
            raise UnsupportedObjectError(
                f"{element.name!r} is a source: sources come first, several as a list"
            )
        self._placed.add(id(element))
        self._names[element.name] += 1
        count = self._names[element.name]
        name = element.name if count == 1 else f"{element.name}#{count}"
        step = Step(element, name, before, depth)
        if not first:
            self.steps.append(step)
        return step

    @property
    def access(self) -> Access:
        """The access to the frames of the sources: "rw" if a step may write into them, else "r"."""
        return "rw" if _is_written(self.first) else "r"

    def take(self) -> None:
        """Make the elements this pipeline's own, until they are closed.

        Raises:
            ElementError: another pipeline uses one of them.
        """
        for step in self:
            if step.element._in_use:
                raise ElementError(
                    step.name, "another pipeline uses this element: make another one"
                )
        for step in self:
            step.element._in_use = True

    def __iter__(self) -> Iterator[Step]:
        yield from self.sources
        yield from self.steps

    def __str__(self) -> str:
        names = ", ".join(step.name for step in self.sources)
        sources = f"[{names}]" if len(self.sources) > 1 else names
        return " -> ".join((sources, *_names(self.first, 0)))


def _names(steps: list[Step], depth: int) -> Iterator[str]:
    """The names of steps and of the steps after them, with branches in brackets, as users write."""
    for step in steps:
        if step.depth > depth:
            yield f"[{' -> '.join(_names([step], step.depth))}]"
        else:
            yield step.name
            yield from _names(step.after, depth)


def _are_several(first: Any) -> bool:
    """True if the first item is a list of sources, and not of frames."""
    return isinstance(first, list | tuple) and any(
        isinstance(one, Element | Iterator | list | tuple) or inspect.isgeneratorfunction(one)
        for one in first
    )


def _is_written(steps: Sequence[Step]) -> bool:
    return any(step.writes or (step.passes_on and _is_written(step.after)) for step in steps)
