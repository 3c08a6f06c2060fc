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

# By all that decides; the node to map to where nothing is to be done. Plugins that come later
# empty it.
_ways: dict[tuple[Any, ...], Way | str] = {}
_MOST_WAYS = 64

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
    try:
        way = _ways[key]
    except (KeyError, TypeError):  # without a hash it is not a name, which is said below
        source = picture_of(frame)
        if method not in METHODS:
            raise UnknownNameError("method", str(method), METHODS) from None
        target = wanted(source, format_, width, height, color_range, color_matrix)
        if target != source:
            way = choose(frame, source, target, method, by, memory=memory, copy=copy)
        else:
            way = memory or device_of(frame) or "cpu"
        if len(_ways) >= _MOST_WAYS:
            _ways.clear()
        _ways[key] = way
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


def forget() -> None:
    """Forget what was found, as when plugins were added, and drop the memory."""
    _ways.clear()
    _memory.clear()
