# SPDX-License-Identifier: Apache-2.0
"""Frame: a picture or a piece of sound whose planes are tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ..errors import ClosedError, UnknownNameError
from ..formats import AudioInfo, ImageFormat, ImageInfo
from .access import Access
from .closed import become_closed, become_open, drop_extras
from .closing import end
from .frame_meta import FrameMeta, Region
from .handles import check_handle_key
from .holder import Holder
from .ordering import map_in_order
from .storage import Storage, publish, settle
from .tensor import Tensor

if TYPE_CHECKING:
    from typing import Self

    from .context import Context

__all__ = ["Frame"]


class _ClosedPlane:
    """Stands in a frame's natives for a plane that was closed by itself."""

    def __getattr__(self, name: str) -> Any:
        raise ClosedError("a plane of this frame was closed")


_CLOSED_PLANE = _ClosedPlane()


class Frame(Holder):
    """One picture or piece of sound. Iterating gives its planes.

    The core makes frames; a backend whose framework has a frame object of its own subclasses
    this and overrides `wrap` and `_make_planes`.

    Attributes:
        native: the framework's own frame; where it has none, a tuple of the planes' natives.
        context: where the memory lives.
        meta: format, size, time and metadata, shared with every mapping of this frame.
        parent: the frame that map() was called on.
        readonly: nobody may write through this frame.

    Ownership is as for Tensor. Closing a frame closes its planes.
    """

    __slots__ = ("__weakref__", "_made", "_owner", "_planes", "context", "meta", "native",
                 "parent", "readonly")  # fmt: skip

    _instead = "use map(), or numpy.array(plane) for a copy of a plane's elements"

    native: Any
    context: Context
    meta: FrameMeta
    parent: Frame | None
    readonly: bool
    _planes: tuple[Tensor, ...] | None

    def __init__(
        self,
        native: Any,
        context: Context,
        meta: FrameMeta,
        owner: Any,
        parent: Frame | None,
        readonly: bool,
        made: tuple[Storage, ...] = (),
    ) -> None:
        self.native = native
        self.context = context
        self.meta = meta
        self._owner = owner
        self.parent = parent
        self.readonly = readonly
        self._made = made
        self._planes = None

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A frame over the user's own object, which stays the user's."""
        raise NotImplementedError(f"{cls.__name__} does not wrap native objects")

    @property
    def planes(self) -> tuple[Tensor, ...]:
        """One tensor for each plane, in the order of the format."""
        planes = self._planes
        if planes is None:
            planes = self._planes = self._make_planes()
        return planes

    @property
    def media(self) -> str:
        """ "image", "audio" or "tensors"."""
        info = self.meta.info
        if isinstance(info, ImageInfo):
            return "image"
        return "audio" if isinstance(info, AudioInfo) else "tensors"

    @property
    def image(self) -> ImageInfo:
        """Format and size.

        Raises:
            AttributeError: this is not an image.
        """
        info = self.meta.info
        if not isinstance(info, ImageInfo):
            raise AttributeError(f"a frame of {self.media} has no image format or size")
        return info

    @property
    def audio(self) -> AudioInfo:
        """Samples, channels and rate.

        Raises:
            AttributeError: this is not sound.
        """
        info = self.meta.info
        if not isinstance(info, AudioInfo):
            raise AttributeError(f"a frame of {self.media} has no audio layout")
        return info

    @property
    def format(self) -> ImageFormat:
        """The pixel format."""
        return self.image.format

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self.image.width

    @property
    def height(self) -> int:
        """Rows."""
        return self.image.height

    @property
    def pts(self) -> int | None:
        """Presentation time in units of `meta.time_base`."""
        return self.meta.pts

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's own entries."""
        return self.meta.metadata

    @property
    def regions(self) -> list[Region]:
        """Rectangles of interest."""
        return self.meta.regions

    def handle(self, key: str) -> int:
        """A native handle of the whole frame as an int; it stays with its owner.

        Raises:
            UnknownNameError: this frame has no such handle.
        """
        _ = self._made  # a closed frame has no handles at all
        check_handle_key(key)
        return self._handle(key)

    def map(
        self,
        target: str | Context = "cpu",
        access: Access = "r",
        *,
        copy: bool = False,
        queue: Any = None,
    ) -> Frame:
        """The same picture or sound as a new frame of another memory type.

        Arguments and errors are those of `Tensor.map`. The new frame shares this one's `meta`.
        """
        if queue is not None:
            return cast("Frame", map_in_order(self, target, access, copy, queue))
        try:
            route = self.context.frame_routes[(target, access, copy) if copy else (target, access)]
        except KeyError:
            route = self.context.compile_route("frame", target, access, copy)
        mapped: Frame = route(self)
        return mapped

    def flush(self) -> None:
        """Publish what was written through this mapping, without ending it."""
        for owner in self._owners():
            publish(owner)

    def wait(self) -> None:
        """Return when whatever still writes to the planes is done."""
        for owner in self._owners():
            settle(owner)

    def close(self) -> None:
        """End this frame, its planes, and the memory that was made for it.

        Raises:
            BusyError: something else still uses the memory. The frame stays usable.
        """
        open_planes = [
            p for p in (self.planes if self._made else self._planes or ()) if not p.closed
        ]
        if self._made:
            end([*open_planes, self], self._made)
        else:
            for plane in open_planes:
                plane.close()
            self._forget()
            drop_extras(self)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.planes)

    def __len__(self) -> int:
        return len(self.planes)

    def __repr__(self) -> str:
        info, where = self.meta.info, self.context.node
        mode = ", read-only" if self.readonly else ""
        return f"<{type(self).__name__} {info} in {where}{mode}>"

    def _owners(self) -> list[Any]:
        owners = {id(p._owner): p._owner for p in self._planes or () if not p.closed}
        owners[id(self._owner)] = self._owner
        return list(owners.values())

    def _make_planes(self) -> tuple[Tensor, ...]:
        """The planes, where `native` is the tuple of the planes' natives."""
        make, context, owner = self.context.tensor_class, self.context, self._owner
        parent, readonly = self.parent, self.readonly
        return tuple([make(n, context, owner, parent, readonly) for n in self.native])

    def _handle(self, key: str) -> int:
        raise UnknownNameError("handle of a " + type(self).__name__, key, ())

    def _native_from_planes(self, planes: tuple[Tensor, ...]) -> Any:
        """`native` again, after a close() that was refused."""
        return tuple(_CLOSED_PLANE if p.closed else p.native for p in planes)

    def _forget(self) -> None:
        del self.native, self.context, self.meta, self._owner, self.parent
        del self.readonly, self._made, self._planes
        become_closed(self)

    def _recipe(self, ending: frozenset[int]) -> tuple[Any, ...]:
        owner = self._owner
        return (
            self.context,
            self.meta,
            id(owner) if id(owner) in ending else owner,
            self.parent,
            self.readonly,
            [id(s) for s in self._made],
            self._planes,
        )

    def _restore(self, parts: tuple[Any, ...], storages: dict[int, Storage]) -> None:
        context, meta, owner, parent, readonly, made, planes = parts
        native = self._native_from_planes(planes)
        kept = tuple(storages[i] for i in made)
        held = storages[owner] if isinstance(owner, int) else owner
        become_open(self)
        Frame.__init__(self, native, context, meta, held, parent, readonly, kept)
        self._planes = planes
