# SPDX-License-Identifier: Apache-2.0
"""Frame: a picture or a piece of sound whose planes are tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, SupportsIndex, cast, overload

from ...errors import ExportError, UnsupportedObjectError
from ...formats import ImageFormat, ImageInfo
from ..edges.edge import Access, map_in_order
from ..owner.closing import Holder
from ..owner.storage import JointStorage, Storage, owners_of_planes, parts_of
from .meta import FrameMeta
from .tensor import TensorT_co, TypedFrame

if TYPE_CHECKING:
    from typing import Self

    from ..._region import Region
    from ...formats import AudioInfo
    from ..edges.context import Context, Target
    from .info import TensorInfo
    from .tensor import AnyFrame, CpuTensor

__all__ = ["Frame"]


class Frame(Holder, TypedFrame[TensorT_co]):
    """One picture or piece of sound. Iterating gives its planes, and frame[0] the first.

    A backend whose framework has a frame object of its own subclasses this and overrides `wrap`
    and `_make_planes`.

    Attributes:
        native: the framework's own frame; if it has none, a tuple of the planes' natives.
        context: where the memory lives.
        meta: format, size, time and metadata, shared with every mapping of this frame.
        parent: the frame that map() was called on.
        readonly: the frame may not be written through.

    Ownership and `readonly_advice` are as for Tensor. Closing a frame closes its planes.
    """

    # _origin: the source of a pipeline that read it, and when.
    __slots__ = ("_origin", "_planes", "meta")

    may_become_writable: ClassVar[bool] = False
    """True if `readonly` can end by itself, as when a decoder drops its reference to the frame."""

    _instead = (
        "use map(), or numpy.array(plane) for a copy of a plane's elements; to send it to another "
        "process, samebytes.copied(frame)"
    )

    context: Context
    meta: FrameMeta
    parent: Frame | None
    _planes: tuple[TensorT_co, ...] | None
    _origin: tuple[Any, int]

    def __init__(
        self,
        native: Any,
        context: Context,
        owner: Any,
        parent: Frame | None,
        readonly: bool,
        meta: FrameMeta,
        made: tuple[Storage, ...] = (),
    ) -> None:
        """Make a frame. The core does so for each mapping; backends call `borrowed` and `owned`.

        The arguments are those of `Tensor`, with `meta` in the place of `info`. All mappings of a
        frame share it.
        """
        self.native = native
        self.context = context
        self.meta = meta
        self._owner = owner
        self.parent = parent
        self.readonly = readonly
        self._made = made
        self._planes = None

    @classmethod
    def borrowed(
        cls,
        native: Any,
        context: Context,
        meta: FrameMeta,
        *,
        keep: object = None,
        readonly: bool = False,
        planes: Iterable[TensorT_co] | None = None,
    ) -> Self:
        """For backends: a frame over memory that belongs to somebody else, such as the user.

        Args:
            native: the framework's frame; if a user wraps one, that very object. If the framework
                has none, a tuple of the planes' natives.
            context, keep, readonly: as for `Tensor.borrowed`. For planes in separate memories,
                `keep` is the `joint_owner` of what keeps each of them.
            meta: format, size, time and metadata.
            planes: the planes, if already made; else `_make_planes` makes them when needed.
        """
        frame = cls(native, context, native if keep is None else keep, None, readonly, meta)
        frame._planes = None if planes is None else tuple(planes)
        return frame

    @classmethod
    def owned(
        cls,
        native: Any,
        context: Context,
        meta: FrameMeta,
        storage: Storage,
        *,
        made: Iterable[Storage] | None = None,
        readonly: bool = False,
        planes: Iterable[TensorT_co] | None = None,
    ) -> Self:
        """For backends: a frame over memory made for it, such as `allocate_frame` makes.

        Args:
            native, context, meta, readonly, planes: as for `borrowed`; the natives hold `storage`.
            storage: releases the memory. For planes in separate memories, the `joint_owner` of
                their storages.
            made: the storages that close() looks for, if these are not `storage`, or all parts of a
                joint one; those that others of them lie in come first.
        """
        parts = parts_of(storage) if made is None else made
        frame = cls(native, context, storage, None, readonly, meta, tuple(parts))
        frame._planes = None if planes is None else tuple(planes)
        return frame

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A frame over the user's own object, which stays the user's.

        Args:
            native: the framework's own frame, which the result keeps alive.
        """
        raise NotImplementedError(f"{cls.__name__} does not wrap native objects")

    @property
    def media(self) -> str:
        """ "image", "audio" or "tensors"."""
        info = self.meta.info
        if isinstance(info, ImageInfo):
            return "image"
        return "tensors" if info is None else "audio"

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
        if info is None or isinstance(info, ImageInfo):
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

    # Without this method, numpy.asarray(frame) is an array of one Python object, the frame.
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise UnsupportedObjectError(_why_not_one_array(self))

    # DLPack's consumers expect a BufferError of a producer that cannot export.
    def __dlpack__(self, **_: Any) -> NoReturn:
        raise ExportError(_why_not_one_array(self))

    def __dlpack_device__(self) -> NoReturn:
        raise ExportError(_why_not_one_array(self))

    @property
    def planes(self) -> tuple[TensorT_co, ...]:
        """One tensor for each plane, in the order of the format."""
        planes = self._planes
        if planes is None:
            planes = self._planes = self._make_planes()
        return planes

    def end_writing(self) -> None:
        """For backends: the frame and its planes are read-only from now on."""
        for plane in self._planes or ():  # first: a closed frame has none, and raises
            plane.readonly = True
        self.readonly = True

    def _planes_moved(self) -> None:
        """Make the planes again when they are asked for: the native has other memory now."""
        self._planes = None

    @overload
    def map(
        self, target: Literal["cpu"] = ..., access: Access = ..., *, copy: bool = ...,
        queue: Any = ...,
    ) -> Frame[CpuTensor]: ...  # fmt: skip

    @overload
    def map(
        self, target: Context[Any, AnyFrame] | type[Context[Any, AnyFrame]], access: Access = ...,
        *, copy: bool = ..., queue: Any = ...,
    ) -> AnyFrame: ...  # fmt: skip

    @overload
    def map(
        self, target: Target, access: Access = ..., *, copy: bool = ..., queue: Any = ...
    ) -> Frame: ...  # fmt: skip

    def map(
        self,
        target: Target = "cpu",
        access: Access = "r",
        *,
        copy: bool = False,
        queue: Any = None,
    ) -> Any:
        """The same picture or sound as a new frame of another memory type.

        The new frame shares this one's `meta`.

        Args:
            target, access, copy: as for `Tensor.map`, with the same errors.
            queue: the same; it stays the caller's.
        """
        if queue is not None:
            return map_in_order(self, target, access, copy, queue)
        route = self.context.frame_routes.get((target, access, copy) if copy else (target, access))
        if route is None:
            context = self.context
            route = context.router.compile_route(context, "frame", target, access, copy, self)
        return route(self)

    def crop(self, x: int, y: int, width: int, height: int, *, fit: bool = False) -> Self:
        """A part of the picture, as a frame over the same bytes: nothing is copied.

        It holds the memory as an ALIAS does, with this frame as `parent`. Its `meta` is its own:
        docs/reference/metadata.md says what it keeps.

        Args:
            x, y, width, height: pixels from the top left; `*region.box` of a Region.
            fit: take what lies inside of the picture, widened to whole chroma samples.

        Raises:
            LayoutError: the rectangle is empty, reaches beyond the picture, or splits chroma
                samples, or the fields of an interlaced picture.
            UnsupportedObjectError: no picture, or memory whose planes are not arrays: map it to
                "cpu" first.
        """
        return cast("Self", self.context.router.crop(self, x, y, width, height, fit))

    def convert(
        self,
        format: str | ImageFormat,
        width: int | None = None,
        height: int | None = None,
        *,
        method: str = "linear",
        color_range: str | None = None,
        color_matrix: str | None = None,
        by: str | None = None,
        memory: str | None = None,
        copy: bool = False,
    ) -> Frame[Any]:
        """The picture in another format and size: in memory of the CPU, or on the frame's device.

        It is converted by a plugin that can read the frame without a copy: FFmpeg's or OpenCV's, in
        memory of the CPU. A surface of VA-API, also one of FFmpeg's or GStreamer's, becomes a
        surface by VA-API's own video processing, if the driver can. The new frame has its own
        memory and does not hold this one; memory of the CPU is used again when nobody holds it.
        Its `meta` is its own: docs/reference/metadata.md says what it keeps. `samebytes.stats()`
        counts it. If nothing has to change, the frame is mapped to that memory, to be read.

        Colours are those in the frame's metadata, or else those of `samebytes.formats.colors_of`.

        Args:
            format: the pixel format, in any spelling: "RGB24", "NV12".
            width: pixels in a row; this frame's if None.
            height: rows; this frame's if None.
            method: how to scale: "linear", "area", "nearest" or "cubic".
            color_range: of the new picture, if it is YUV or gray: "limited" or "full".
            color_matrix: of the new picture, if it is YUV: "bt709", "smpte170m" ...
            by: the plugin that converts: "ffmpeg", "opencv" or "vaapi". None for the cheapest one.
            memory: where the new picture is to be: "cpu" or "vaapi". None for the device that the
                frame is on, if something installed converts there, otherwise "cpu".
            copy: allow a copy on the way to where it is converted; it is counted.

        Raises:
            UnknownNameError: there is no such format, method, range, matrix or converter.
            UnsupportedObjectError: this is not a picture, or no converter is installed that can
                do it; the message says why.
            CopyRequiredError: no converter can read the frame without a copy.
            LayoutError: a size that the format cannot have, or colours that it does not have.
        """
        return self.context.router.convert(
            self, format, width, height, method=method, color_range=color_range,
            color_matrix=color_matrix, by=by, memory=memory, copy=copy,
        )  # fmt: skip

    def __iter__(self) -> Iterator[TensorT_co]:
        return iter(self.planes)

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, number: SupportsIndex) -> TensorT_co:
        """The plane of that number; -1 is the last one.

        Raises:
            IndexError: the frame has no such plane.
            TypeError: neither a number nor an index of numpy's: use `planes` for slices.
        """
        try:
            return (self._planes or self.planes)[index(number)]
        except IndexError:
            raise IndexError(f"plane {number} of {len(self)}") from None
        except TypeError:
            raise TypeError(
                f"a frame is indexed by the number of a plane, not by a {type(number).__name__}: "
                "frame.planes is a tuple of them, and frame.map('cpu').planes[0].native the array "
                "of the first"
            ) from None

    def __repr__(self) -> str:
        what, where = self.meta.info or f"of {self.media}", self.context.node
        mode = ", read-only" if self.readonly else ""
        return f"<{type(self).__name__} {what} in {where}{mode}>"

    def _repr_png_(self) -> bytes | None:
        return None if self.closed else self.context.router.thumbnail(self)

    def _owners(self) -> tuple[Any, ...]:
        owner = self._owner
        own = [p._owner for p in self._planes or () if not p.closed]
        return (owner, *[each for each in own if each is not owner])  # mostly there is one

    def _to_close(self) -> list[Holder]:
        return [*[p for p in self._planes or () if not p.closed], self]

    def _make_planes(self) -> tuple[TensorT_co, ...]:
        """The planes, if `native` is the tuple of the planes' natives.

        A backend whose native is something else returns `_planes_over(...)`.
        """
        return self._planes_over(self.native)

    def _planes_over(
        self, natives: Sequence[Any], infos: Sequence[TensorInfo] | None = None
    ) -> tuple[TensorT_co, ...]:
        """The planes of this frame over those natives, each with its part of what the frame holds.

        Args:
            natives: one for each plane.
            infos: their layouts, if they are known.
        """
        context, parent, owner = self.context, self.parent, self._owner
        make, readonly = context.tensor_class, _get_readonly(self)
        if infos is None and type(owner) is not JointStorage:  # the most frequent case
            made = [make(native, context, owner, parent, readonly) for native in natives]
        else:
            owners = owners_of_planes(owner, len(natives))
            made = [
                make(native, context, owner, parent, readonly, info)
                for native, owner, info in zip(
                    natives, owners, infos or (None,) * len(natives), strict=True
                )
            ]
        return tuple(made)  # type: ignore[arg-type]  # of the context's class


def _why_not_one_array(frame: Any) -> str:
    """Explain that the frame is not an array, and which expression gives its planes, which are."""
    info = frame.meta.info
    names = info.format.plane_names if isinstance(info, ImageInfo) else ()
    count = len(names) or len(frame.planes)
    planes = f"{count} plane{'s' * (count != 1)}" + (f" ({', '.join(names)})" if names else "")
    # Memory of a context that is not the process's one of its type may lie on a device.
    on_cpu = "frame" if frame.context.singleton else 'frame.map("cpu")'
    what = f"{info} frame" if info is not None else "frame of tensors"
    return (
        f"this {what} in {frame.context.node} has {planes} and is not an array itself: "
        f"pass {on_cpu}.planes[{'0' if count == 1 else 'i'}]"
    )


_get_readonly = vars(Holder)["readonly"].__get__
