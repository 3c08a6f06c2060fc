# SPDX-License-Identifier: Apache-2.0
"""MemoryMapper: one edge, and what the core does around it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from operator import is_
from typing import Any, cast

from ..._counting import count_copy
from ...errors import CopyRequiredError, NoRouteError
from ..memory.frame import Frame
from ..memory.info import TensorInfo
from ..memory.tensor import Tensor
from ..owner.storage import (
    JointStorage,
    Storage,
    joint_owner,
    owners_of_planes,
    parts_of,
    write_nothing_back,
)
from .context import Context, Level
from .edge import Access, MapperSpec, Transfer, check_access, not_writable

__all__ = ["Fallback", "Gone", "MemoryMapper", "Refused", "hop_of", "parts_in"]


class Refused(Exception):  # noqa: N818 - not an error: an answer, which the router acts upon
    """Raised by `connect` where an edge cannot take this object: the next route is tried.

    Args:
        reason: for the error, if all routes refuse.
        out_of_reach: the target cannot use this memory where it lies, whatever brings it there. So
            ways through other devices, which would have to copy it in secret, are not tried.
    """

    took = 0
    """Number of edges of the route that had taken it before. The router sets it."""

    def __init__(self, reason: str = "", *, out_of_reach: bool = False) -> None:
        super().__init__(reason)
        self.out_of_reach = out_of_reach


class Gone(Refused):
    """A context of a compiled route is gone: the route must be compiled again."""


# The advice for an object that an edge refused.
Fallback = Callable[[Any, Refused], Any]


class MemoryMapper:
    """One edge: from the memory of one context to that of another.

    A plugin subclasses this and writes `connect`, and `accepts` where the edge cannot take
    everything. The core alone makes the tensor or frame around what `connect` returns: it checks
    that the source is open and may be written, sets the parent, carries format, time and
    metadata, and counts copies. `map` does all that by hand.

    Attributes:
        spec: what the plugin declared of the edge.
    """

    __slots__ = ("_source", "_target", "spec")

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        self.spec = spec
        # Weak, since contexts hold compiled mappers and must not keep each other alive.
        self._source = weakref.ref(source)
        self._target = weakref.ref(target)

    @property
    def source(self) -> Context:
        """The context in which the memory lives."""
        return _alive(self._source)

    @property
    def target(self) -> Context:
        """The context in which the memory will be used."""
        return _alive(self._target)

    def accepts(self, item: Any) -> str | None:
        """None if this edge can take the tensor or frame, else the reason why not.

        Where finding out costs as much as connecting, leave this and raise `Refused` there.

        Args:
            item: a tensor or frame of the source.
        """
        return None

    def connect(self, item: Any, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """Make the native object of the target over the memory of `item`.

        Args:
            item: an open Tensor or Frame (by the edge's level) of the source context.
            access: already checked against `item.readonly`.

        Returns:
            (native, layout, storage). `native` must keep its memory alive by itself, and is
            read-only for "r", where that can be; for a frame of a framework without frame objects
            it is a tuple, one for each plane. `layout` is a TensorInfo, or None to read it from
            `native` when asked; that of a frame is not used. `storage` owns what this call made and
            close() must give back, or None where nothing was; for planes in memories of their own
            it is `joint_owner` of a storage for each. Where its `keep` is None, the core puts the
            owner of the source there, unless the edge copies; a `keep` of the edge's own includes
            what holds the memory of the source.

        Raises:
            Refused: the edge cannot take this object; the message is the reason.
        """
        raise NotImplementedError

    def map(self, item: Any, access: Access = "r", *, copy: bool = False) -> Any:
        """Use this edge alone, by hand.

        Args:
            item: a tensor or frame of the source context.
            access: "r", "w" or "rw".
            copy: allow this edge to copy, if it is one that does.

        Returns:
            A tensor or frame of the edge's target, which keeps `item` alive.

        Raises:
            AccessError: `item` is read-only, and `access` writes.
            NoRouteError: the edge cannot take the object, or not an image of this format.
            CopyRequiredError: it copies, and `copy` is False.
        """
        check_access(access)
        if access != "r" and item.readonly:
            raise not_writable(item, access)
        spec = self.spec
        try:
            if isinstance(item, Frame):
                check_format(spec, item)
            if spec.transfer is Transfer.COPY and not copy:
                raise CopyRequiredError(spec.source, spec.target, spec.name)
            return hop_of(self, access, "frame" if isinstance(item, Frame) else "tensor")(item)
        except Refused as reason:
            raise NoRouteError(spec.source, spec.target, [f"{spec.name}: {reason}"]) from reason

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec.name} ({self.spec.transfer.value})>"


def _alive(ref: weakref.ref[Context]) -> Context:
    context = ref()
    if context is None:
        raise Gone("a context of this route is gone: hold it while the route is used")
    return context


def check_format(spec: MapperSpec, item: Frame) -> None:
    """Refuse an image whose format is not among those that the edge declares."""
    if spec.formats and item.format.name not in spec.formats:
        raise Refused(f"{spec.name} takes {', '.join(spec.formats)}, not {item.format}")


def check_linear(item: Tensor | Frame) -> None:
    """Refuse what has no linear layout; packed types have no strides but are linear."""
    for part in parts_in(item):
        info = part.info
        if info.strides is None and not info.dtype.packed:
            node = item.context.node
            raise Refused(f"{node} memory of this kind (tiled, an image) is not linear")


def parts_in(item: Tensor | Frame) -> tuple[Tensor, ...]:
    """The planes of a frame, or the tensor."""
    return item.planes if isinstance(item, Frame) else (item,)


def hop_of(
    mapper: MemoryMapper, access: Access, level: Level, refused: Fallback | None = None
) -> Callable[[Any], Any]:
    """The edge as one function, of tensors or of frames. The hot path: see `python3 dev.py bench`.

    Args:
        mapper: the edge. One of tensors is applied to each plane of a frame.
        access: already known to be a mode that the edge serves.
        level: of the objects that it maps.
        refused: called in place of raising Refused.
    """
    frames = level == "frame"
    if frames and mapper.spec.level == "tensor":
        return _lifted_hop(mapper, access, refused)
    connect = mapper.connect
    accepts = mapper.accepts if type(mapper).accepts is not MemoryMapper.accepts else None
    readonly = access == "r"
    copies = mapper.spec.transfer is Transfer.COPY
    make: Any = mapper.target.frame_class if frames else mapper.target.tensor_class
    constant = mapper.target if mapper.target.singleton else None
    ref = mapper._target
    linear = mapper.source.may_be_opaque and not mapper.spec.opaque
    at_once = readonly and not linear and accepts is None

    def ready(source: Any) -> Any:
        target = constant or _alive(ref)
        if not readonly and source.readonly:
            raise not_writable(source, access)
        if linear:
            check_linear(source)
        if accepts is not None and (reason := accepts(source)) is not None:
            raise Refused(reason)
        return target

    def hop(source: Any) -> Any:
        try:
            target = (at_once and (constant or ref())) or ready(source)
            # Held here while the edge reads pointers: another thread may close the source.
            owner, _held = source._owner, source.native
            native, says, storage = connect(source, access)
        except BaseException as answer:
            owner = _held = None  # the traceback holds them
            if refused is None or not isinstance(answer, Refused):
                raise
            return refused(source, answer)
        if frames or copies:
            if frames:
                says = source.meta
            if copies:
                count_copy(mapper.spec.name, sum(part.info.nbytes for part in parts_in(source)))
                owner = native  # a copy needs nothing of its source's
        if storage is None:
            return make(native, target, owner, source, readonly, says)
        made: tuple[Storage, ...] = (storage,)
        if frames and type(storage) is JointStorage:
            made = _parts(storage, None if copies else owner)
        elif storage.keep is None and not copies:
            storage.keep = owner
        return make(native, target, storage, source, readonly, says, made)

    return hop


def _parts(joint: JointStorage, owner: Any) -> tuple[Storage, ...]:
    """The storages that an edge made for planes, each once; each holds what it lies in."""
    owners = owners_of_planes(owner, len(joint.keep))
    for part, keep in zip(joint.keep, owners, strict=True):
        assert isinstance(part, Storage), "an edge returns storages that it made"
        if part.keep is None:
            part.keep = keep
    return parts_of(joint)


def _lifted_hop(
    mapper: MemoryMapper, access: Access, refused: Fallback | None
) -> Callable[[Frame], Frame]:
    """The edge of tensors, for each plane of a frame, whose close() ends their storages."""
    plane_hop = hop_of(mapper, access, "tensor")
    readonly = access == "r"

    def hop(source: Frame) -> Frame:
        if not readonly and source.readonly:
            raise not_writable(source, access)
        planes: list[Tensor] = []
        try:
            for plane in source.planes:
                planes.append(plane_hop(plane))  # noqa: PERF401 - of those before one that raises
        except BaseException as answer:
            write_nothing_back(s for plane in planes for s in plane._made)
            planes.clear()  # the traceback holds them
            if refused is None or not isinstance(answer, Refused):
                raise
            return cast(Frame, refused(source, answer))
        target, owner = mapper.target, source._owner
        made: tuple[Storage, ...] = ()
        native, owners = tuple([p.native for p in planes]), [p._owner for p in planes]
        # What was mapped without a storage of its own has the owners of its source.
        if type(owner) is not JointStorage or not all(map(is_, owner.keep, owners)):
            owner = joint_owner(owners)
            made = tuple([s for p in planes for s in p._made])
        frame = target.frame_class(native, target, owner, source, readonly, source.meta, made)
        for plane in planes:
            plane.parent, plane._made = source, ()
        frame._planes = tuple(planes)
        return frame

    return hop
