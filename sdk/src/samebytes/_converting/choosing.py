# SPDX-License-Identifier: Apache-2.0
"""The choice of a converter: the cheapest that can read a frame without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._core.edges.edge import Transfer
from .._core.edges.mapper import Refused
from .._counting import count_conversion
from .._plugins.discovery import tables
from .._plugins.installing import working
from .._plugins.loading import load_class
from .._routing.route import Route, route
from ..errors import (
    CopyRequiredError,
    PluginError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from .conversion import Conversion
from .described import meta_of_converted
from .picture import PictureInfo

if TYPE_CHECKING:
    from .._core.edges.context import Context
    from .._core.memory.frame import Frame
    from .._plugins.specs import ConverterSpec
    from .memory import Take

__all__ = ["Way", "choose", "device_of"]

# Those of this project that have converters, for the hint where none is installed.
_WITH_CONVERTERS = ("ffmpeg", "opencv")


class Way:
    """A way from pictures of one kind to those of another.

    Attributes:
        plugin: whose converter it is.
        spec: its declaration.
        source, target: the pictures that it takes and makes.
    """

    def __init__(
        self,
        plugin: str,
        spec: ConverterSpec,
        make: Callable[[], Conversion],
        source: PictureInfo,
        target: PictureInfo,
    ) -> None:
        self.plugin = plugin
        self.spec = spec
        self.source = source
        self.target = target
        self._make = make
        self._nbytes = target.image.nbytes
        self._label = f"{source.image.format} -> {target.image.format} ({plugin})"
        # Each is used by one thread at a time: every call takes one out.
        self._idle = [make()]

    def run(self, frame: Frame[Any], take: Take, copy: bool) -> Frame[Any]:
        """The new picture.

        Raises:
            RouteError: there is no route for this very frame.
            Refused: the converter cannot read how it lies.
        """
        node = self.spec.node
        # Memory that is there already needs no mapping: it is read, and not kept.
        view = frame if frame.context.node == node else frame.map(node, "r", copy=copy)
        # Before the pictures drive all that is needed for it out of the processor's caches.
        meta = meta_of_converted(frame, self.source, self.target)
        try:
            conversion = self._idle.pop()
        except IndexError:
            conversion = self._make()
        if self.spec.gives == "cpu":
            made = take(self.target.image, conversion.row_padding)
        else:
            made = conversion.new_frame(view.context)
        made.meta = meta
        conversion.run(view, made)
        self._idle.append(conversion)
        count_conversion(self._label, self._nbytes)
        return made


def choose(
    origin: Frame[Any] | Context,
    source: PictureInfo,
    target: PictureInfo,
    method: str,
    by: str | None,
    *,
    memory: str | None = "cpu",
    copy: bool,
    not_by: dict[ConverterSpec, str] | None = None,
) -> Way:
    """The cheapest way from one kind of picture to another.

    Args:
        origin: a frame, whose own layout counts then, or where frames are.
        by: the plugin whose converter it must be, or None.
        memory: where the new picture is to be, "cpu" or another node; None for where the frame is,
            if a converter gives such pictures, and else "cpu".
        not_by: the converters that have refused the frame, and why.

    Raises:
        CopyRequiredError: a converter takes it, but cannot read it without a copy.
        UnsupportedObjectError: no converter is installed, or none can do that.
        UnknownNameError: no installed plugin of the name `by` has a converter.
    """
    reasons = dict(not_by or {})
    needs_copy: CopyRequiredError | None = None
    found: list[tuple[float, str, ConverterSpec]] = []
    plugins = {spec: plugin for plugin, spec in _converters(by)}
    for spec, plugin in plugins.items():
        if spec in reasons or memory not in (None, spec.gives):
            continue
        # A device converts the frames that are on it, and others only if it is asked for.
        asked = spec.gives in ("cpu", memory) or by is not None
        try:
            there = route(origin, spec.node, level="frame", format=source.image.format, copy=copy)
        except (RouteError, PluginError) as error:  # no way there, or no such device here
            if not asked:
                continue
            reasons[spec] = str(error)
            if isinstance(error, CopyRequiredError):
                needs_copy = needs_copy or error
            continue
        if not (asked or _is_there(there)):
            continue
        found.append((there.cost + spec.cost, plugin, spec))
    # A frame of a device stays there.
    for _, plugin, spec in sorted(
        found, key=lambda one: (one[2].gives == "cpu", *one[:2], one[2].node)
    ):
        try:
            kind = load_class(spec.converter, plugin, Conversion)
            return Way(plugin, spec, lambda k=kind: k(source, target, method), source, target)  # type: ignore[misc]  # a default
        except (Refused, PluginError) as error:
            reasons[spec] = str(error)
    if needs_copy is not None:
        raise needs_copy
    refusals = sorted({f"\n  - {plugins[spec]}: {working(why)}" for spec, why in reasons.items()})
    where = "" if memory in (None, "cpu") else f" in {memory}"
    raise _nothing_converts(source, f"{target}{where}", refusals, by)


def _nothing_converts(
    source: PictureInfo, target: str, refusals: list[str], by: str | None
) -> UnsupportedObjectError:
    """The error for pictures that nothing converts: the reason of each converter, and advice."""
    if by is None:
        lines = [*refusals, *[f"\n  - {missing}" for missing in _absent()]]
        return UnsupportedObjectError(
            f"no installed plugin converts {source} to {target}:{''.join(lines)}"
        )
    others = sorted({plugin for plugin, _ in tables().converters} - {by})
    tried = "; ".join(_absent())
    if others:
        tried = f"{', '.join(map(repr, others))} {'is' if len(others) == 1 else 'are'} tried too"
    return UnsupportedObjectError(
        f"{by!r} does not convert {source} to {target}:{''.join(refusals)}"
        + (f"\n  - without by=: {tried}" if tried else "")
    )


def device_of(origin: Frame[Any] | Context) -> str | None:
    """The node of the device that a frame is on, if a converter gives such pictures."""
    for _, spec in tables().converters:
        if spec.gives != "cpu":
            with suppress(RouteError, PluginError):
                if _is_there(route(origin, spec.node, level="frame")):
                    return spec.gives
    return None


def _is_there(there: Route) -> bool:
    """True if a frame is in the memory of a route's target already."""
    return all(hop.spec.transfer is Transfer.ALIAS for hop in there.hops)


def _converters(by: str | None) -> Iterator[tuple[str, ConverterSpec]]:
    """The converters that are there.

    Raises:
        UnsupportedObjectError: none is.
        UnknownNameError: no plugin of that name has one.
    """
    known = tables().converters
    if not known:
        missing = "; ".join(_absent())
        raise UnsupportedObjectError(f"no installed plugin converts pictures: {missing}")
    if by is not None and by not in {plugin for plugin, _ in known}:
        missing = "; ".join(_absent(by))
        raise UnknownNameError(
            "converter", by, [plugin for plugin, _ in known], f"({missing})" if missing else ""
        )
    yield from ((plugin, spec) for plugin, spec in known if by in (None, plugin))


def _absent(by: str | None = None) -> list[str]:
    """Return which of this project's plugins with converters are missing, and how to get them."""
    found = tables()
    return [
        f"plugin {name!r} {found.absence(name)}"
        for name in _WITH_CONVERTERS
        if name not in found.plugins and by in (None, name)
    ]
