# SPDX-License-Identifier: Apache-2.0
"""Frame.convert, and the table of the ways that it has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.edges.mapper import Refused
from ..errors import RouteError, UnknownNameError
from ..formats import ImageFormat
from .choosing import Way, choose, device_of
from .conversion import METHODS
from .memory import Memory, Take
from .picture import picture_of, wanted

if TYPE_CHECKING:
    from .._core.memory.frame import Frame
    from .._plugins.specs import ConverterSpec

__all__ = ["convert_frame", "forget"]

_MOST_WAYS = 64


class _Ways:
    """The ways that were found; the node to map to where nothing is to be done.

    Frames of a stream have the very same objects in their keys. Those of the last one are compared
    without a call, while a look-up in the table asks each for its hash.

    Attributes:
        table: by all that decides. Plugins that come later empty it.
        last: the key and the way that were asked for last.
    """

    def __init__(self) -> None:
        self.table: dict[tuple[Any, ...], Way | str] = {}
        self.last: tuple[tuple[Any, ...], Way | str] = (), ""

    def add(self, key: tuple[Any, ...], way: Way | str) -> None:
        """Remember a way."""
        if len(self.table) >= _MOST_WAYS:
            self.table.clear()
        self.table[key] = way

    def clear(self) -> None:
        """Forget all."""
        self.table.clear()
        self.last = (), ""


_ways = _Ways()
_memory = Memory()


def convert_frame(
    frame: Frame[Any],
    format_: str | ImageFormat,
    width: int | None = None,
    height: int | None = None,
    *,
    method: str = "linear",
    color_range: str | None = None,
    color_matrix: str | None = None,
    by: str | None = None,
    memory: str | None = "cpu",
    copy: bool = False,
    take: Take = _memory.take,
) -> Frame[Any]:
    """`Frame.convert`, into a frame that `take` gives."""
    info, said = frame.meta.info, frame.meta.metadata.get
    key = (
        format_, width, height, method, color_range, color_matrix, by, memory, copy, info,
        said("color_range"), said("color_matrix"), said("chroma_location"), said("field_order"),
        frame.context.node,
    )  # fmt: skip
    last, way = _ways.last
    if last != key:
        try:
            known = _ways.table.get(key)
        except TypeError:  # without a hash it is not a name, which is said below
            known = None
        if known is None:
            known = _find(
                frame, format_, width, height, method, color_range, color_matrix, by, memory, copy
            )
            _ways.add(key, known)
        way = known
        _ways.last = key, way
    if isinstance(way, str):
        return frame.map(way, "r", copy=copy)
    refused: dict[ConverterSpec, str] = {}
    while True:
        try:
            return way.run(frame, take, copy)
        except (RouteError, Refused) as error:
            refused[way.spec] = str(error)
        way = choose(
            frame, way.source, way.target, method, by, memory=memory, copy=copy, not_by=refused
        )


def _find(
    frame: Frame[Any],
    format_: str | ImageFormat,
    width: int | None,
    height: int | None,
    method: str,
    color_range: str | None,
    color_matrix: str | None,
    by: str | None,
    memory: str | None,
    copy: bool,
) -> Way | str:
    """The way of such frames; the node to map to where nothing is to be done."""
    source = picture_of(frame)
    if method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS) from None
    target = wanted(source, format_, width, height, color_range, color_matrix)
    if target != source:
        return choose(frame, source, target, method, by, memory=memory, copy=copy)
    return memory or device_of(frame) or "cpu"


def forget() -> None:
    """Forget what was found, as when plugins were added, and drop the memory."""
    _ways.clear()
    _memory.clear()
