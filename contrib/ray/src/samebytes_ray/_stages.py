# SPDX-License-Identifier: Apache-2.0
"""The elements that run together in one process: the driver's, or that of an actor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ray.cloudpickle

import samebytes.elements as el
from samebytes.errors import ElementError, NegotiationError, UnsupportedObjectError
from samebytes.plugins import without_secrets_in

__all__ = ["Actor", "Stage", "arrange"]

_SAME = type(el.same())


class Actor:
    """Elements that run in one Ray actor, and the resources that it needs.

        Pipeline(source, Actor(crop, detect, resources={"NPU": 1}), count)

    An element of a pipeline outside an Actor has an actor of its own, which asks for no resources.

    Args:
        items: elements, functions of a frame and branches, as in a pipeline.
        resources: the resources that the node must have, by the names that it was started with
            (`ray start --resources`). "CPU", "GPU" and "memory" are Ray's own.
        copy: allow its elements to copy frames when they must, for example before writing into
            one; each copy is counted.

    Raises:
        UnsupportedObjectError: `items` is empty or contains an Actor.
    """

    def __init__(
        self, *items: Any, resources: Mapping[str, float] | None = None, copy: bool = False
    ) -> None:
        if not items or any(isinstance(item, Actor) for item in items):
            raise UnsupportedObjectError("an Actor has one element or several, and no other Actor")
        self.items = tuple(map(_element, items))
        self.resources = dict(resources or {})
        self.copy = copy

    def __repr__(self) -> str:
        wanted = f", resources={self.resources}" if self.resources else ""
        return f"Actor({', '.join(map(_name, self.items))}{wanted})"


class Stage:
    """The elements that run in one process.

    Attributes:
        number: 0 for that of the driver, which has the source; then the actors in their order.
        items: elements, functions and branches.
        resources: as for Actor.
        copy: as for Actor.
        keeps: True if one of its elements may give frames later than in the call that brought them.
        pickled: the items, for the process that will run them; empty for the driver's.
    """

    def __init__(
        self, number: int, items: Sequence[Any], resources: Mapping[str, float], *, copy: bool
    ) -> None:
        self.number = number
        self.items = list(items)
        self.resources = dict(resources)
        self.copy = copy
        self.keeps = any(
            type(one).end_of_stream is not el.Element.end_of_stream
            for one in _elements(items)
            if isinstance(one, el.Element)
        )
        self.pickled = b""

    @property
    def name(self) -> str:
        """The stage's name in errors and in `explain`."""
        names = list(map(_name, self.items))
        if self.number == 0 and isinstance(self.items[0], list | tuple):
            names[0] = "frames"
        return " + ".join(names)

    @property
    def last(self) -> str:
        """The name of the element whose frames come out."""
        return _name(self.items[-1])

    def pickle(self) -> None:
        """Pickle the elements, each by itself first, so that an error can name the one that failed.

        Raises:
            ElementError: one cannot be pickled.
        """
        for item in _elements(self.items):
            try:
                ray.cloudpickle.dumps(item)
            except Exception as error:
                raise ElementError(
                    _name(item),
                    f"it cannot be pickled, so no actor can run it: {error}; pass the name of a "
                    "file in place of such an object, or make it in open()",
                ) from without_secrets_in(error)
        self.pickled = ray.cloudpickle.dumps(self.items)


def arrange(items: Sequence[Any], *, copy: bool) -> list[Stage]:
    """The stages of a pipeline; the first one is the driver's.

    An element that writes into its frames runs in the process of the one before it, where they are
    not in the object store yet.

    Raises:
        UnsupportedObjectError: the pipeline has no source, or more than one.
        NegotiationError: an element writes into frames that lie in the object store.
    """
    if not items or isinstance(items[0], Actor):
        raise UnsupportedObjectError(
            "a pipeline begins with a source, which runs in this process: Pipeline(source, ...)"
        )
    if isinstance(items[0], list | tuple) and any(isinstance(s, el.Element) for s in items[0]):
        raise UnsupportedObjectError(
            "a pipeline on Ray has one source: make a pipeline for each stream"
        )
    stages = [Stage(0, items[:1], {}, copy=copy)]
    stored = False  # whether what comes from the last stage lies in the store already
    for item in items[1:]:
        if not isinstance(item, Actor) and _writes(item) and not stored and not stages[-1].copy:
            last = stages.pop()
            stages.append(Stage(last.number, [*last.items, item], last.resources, copy=last.copy))
            continue
        actor = item if isinstance(item, Actor) else Actor(item)
        stage = Stage(len(stages), actor.items, actor.resources, copy=copy or actor.copy)
        stored = _stays_in_store(stage)
        stages.append(stage)
    return stages


def _stays_in_store(stage: Stage) -> bool:
    """True if the frames that a stage gives can be those that it took from the object store.

    Raises:
        NegotiationError: one of its elements writes into these.
    """
    for item in stage.items:
        if _writes(item) and not stage.copy:
            raise NegotiationError(
                _name(item),
                "it writes into frames that lie in Ray's object store, which are read-only: put it "
                "behind the element that makes them, where it runs in the same process, or let it "
                "copy: Actor(..., copy=True)",
            )
        if _makes_frames(item) or _writes(item):
            return False
    return True


def _writes(item: Any) -> bool:
    takes = getattr(item, "takes", None) if isinstance(item, el.Element) else None
    patterns = takes if isinstance(takes, tuple | list) else (takes,)
    return all(isinstance(one, el.Media) and one.access != "r" for one in patterns)


def _makes_frames(item: Any) -> bool:
    """True if an element always gives other frames than it takes."""
    passing = el.Sink | el.TransformInplace
    return (
        isinstance(item, el.Element)
        and not isinstance(item, passing)
        and not isinstance(item.gives, _SAME)
    )


def _element(item: Any) -> Any:
    """A function as an element: the names in its annotations are known here, not in an actor."""
    if isinstance(item, list | tuple):
        return [_element(one) for one in item]
    if callable(item) and not isinstance(item, el.Element | type):
        return el.transform()(item)()
    return item


def _elements(items: Sequence[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list | tuple):
            yield from _elements(item)
        else:
            yield item


def _name(item: Any) -> str:
    if isinstance(item, el.Element):
        return item.name
    if isinstance(item, list | tuple):
        return f"[{', '.join(map(_name, item))}]"
    return str(getattr(item, "__name__", type(item).__name__))
