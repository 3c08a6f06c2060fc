# SPDX-License-Identifier: Apache-2.0
"""GStreamerFrame: a frame over a Gst.Buffer or a Gst.Sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import Frame, FrameMeta, ImageFormat, ImageInfo, Tensor
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import read_slot

from .._abi.gi import Gst, pointer_of
from .._abi.libraries import gst
from .._caps.caps import Description, caps_as_said, caps_for, describe, parsed
from .._memory.memory import is_readonly, is_writable
from .._memory.plane import GStreamerPlane
from .._metadata.meta import GStreamerMeta, read_meta
from .._metadata.metas import metas_of
from .places import places_of, whole_picture
from .tensor import ADVICE, buffer_in, context_of_memory

if TYPE_CHECKING:
    from typing import Self

__all__ = ["GStreamerFrame", "frame_of", "frames_of"]

# The slot of the base class, which the property of the same name stands before.
_slot: Any = Frame.readonly


class GStreamerFrame(Frame):
    """A frame over a Gst.Buffer or Gst.Sample, which is `native` and stays its owner's.

    Its planes are GStreamerPlanes. A frame without caps of pictures or sound has one plane of
    bytes for each memory, and `media` is "tensors".

    Attributes:
        readonly: True if a write would be noticed elsewhere; evaluated each time, since elements
            release a buffer later.
    """

    __slots__ = ()

    context: Any
    readonly_advice = ADVICE

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A frame over a Gst.Sample, or over a Gst.Buffer that has a VideoMeta.

        Raises:
            LayoutError: no buffer in the sample, planes outside the buffer, or a format that
                has no layout here; the message says what to do.
            UnsupportedObjectError: a buffer without a description of its contents: pass its caps to
                `frame_of`.
        """
        return cls._of_buffer(native, None, crop=True)

    @classmethod
    def _of_buffer(cls, native: Any, caps: Any, *, crop: bool) -> Self:
        buffer = _buffer_of(native)
        if isinstance(native, Gst.Sample) and caps is None:
            caps = native.get_caps()
        metas = metas_of(buffer)
        if caps is None and metas.video is None:
            raise UnsupportedObjectError(
                "a Gst.Buffer without a VideoMeta does not say what it holds: wrap its Gst.Sample, "
                "or use samebytes_gstreamer.frame_of(buffer, caps=...)"
            )
        description = Description() if caps is None else describe(caps)
        info, places = places_of(buffer, metas, description, crop=crop)
        meta = read_meta(buffer, info, metas, description, crop=crop)
        context = context_of_memory(gst.gst_buffer_peek_memory(buffer, 0))
        make = context.tensor_class
        planes = [make.borrowed(p, context, keep=native) for p in _planes_at(places, native)]
        return cls.borrowed(native, context, meta, planes=planes)

    @property
    def readonly(self) -> bool:  # evaluated each time
        if read_slot(_slot, self):
            return True
        native = self.native  # another thread may close the frame meanwhile
        buffer = buffer_in(native)
        return not all(
            is_writable(gst.gst_buffer_peek_memory(buffer, number), buffer)
            for number in range(gst.gst_buffer_n_memory(buffer))
        )

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)

    @property
    def may_become_writable(self) -> bool:  # type: ignore[override]  # not of every buffer
        """True if elements that hold the buffer may yet release it; False for read-only memory."""
        if read_slot(_slot, self):
            return False
        native = self.native
        buffer = buffer_in(native)
        memories = range(gst.gst_buffer_n_memory(buffer))
        return not any(is_readonly(gst.gst_buffer_peek_memory(buffer, n)) for n in memories)

    @property
    def writable(self) -> bool:
        """True if "w" and "rw" mappings are possible now."""
        return not self.readonly

    @property
    def buffer(self) -> Any:
        """The Gst.Buffer: `native`, or the one in it.

        A second Python object for the buffer of a sample counts as a second holder: drop it
        before you write.
        """
        return _buffer_object(self.native)

    @property
    def caps(self) -> Any:
        """Gst.Caps that describe the frame, for an appsrc or a Gst.Sample.

        They have a framerate if metadata["gstreamer"] has one; a GStreamerSink works one out.

        Raises:
            LayoutError: GStreamer lacks the format or the colour matrix, or it is neither picture
                nor sound.
            UnknownNameError: an entry of the metadata has a name that is not known.
        """
        native, meta = self.native, self.meta
        said = meta.description if isinstance(meta, GStreamerMeta) else None
        if isinstance(native, Gst.Sample):
            caps = native.get_caps()
            if caps is not None and said is None:
                return caps
            if caps is not None and said == describe(caps):
                return caps_as_said(caps, said, meta.metadata)
        info = meta.info
        if info is None:
            raise LayoutError(
                "this frame is neither picture nor sound, and caps are made for those only"
            )
        if isinstance(info, ImageInfo):
            # A crop is said by a meta of the buffer, the whole picture by its caps.
            info = whole_picture(metas_of(buffer_in(native)), said or Description()) or info
        return caps_for(info, meta.metadata, self.context.caps_feature)

    def _make_planes(self) -> tuple[Tensor, ...]:
        native, meta = self.native, self.meta
        buffer = buffer_in(native)
        crop = True
        if isinstance(meta, GStreamerMeta):
            # First, since `frame_of` may have been given other caps than the sample's.
            description, crop = meta.description, meta.crop
        elif isinstance(native, Gst.Sample):
            description = describe(native.get_caps())
        else:
            description = _description_of(meta)
        _, places = places_of(buffer, metas_of(buffer), description, crop=crop)
        return self._planes_over(_planes_at(places, native))

    def _handle(self, key: str) -> int | None:
        return buffer_in(self.native) if key == "gst_buffer" else None


def _buffer_object(native: Any) -> Any:
    return native.get_buffer() if isinstance(native, Gst.Sample) else native


def _planes_at(places: Any, native: Any) -> list[GStreamerPlane]:
    """The planes of a Gst.Buffer or Gst.Sample, each of which holds it."""
    buffer = _buffer_object(native)
    memories = {place.memory: buffer.get_memory(place.memory) for place in places}
    del buffer  # one holder less
    return [
        GStreamerPlane(memories[p.memory], p.info, p.offset, native, p.modifier) for p in places
    ]


def _buffer_of(native: Any) -> int:
    if not isinstance(native, Gst.Buffer | Gst.Sample) or not pointer_of(native):
        raise UnsupportedObjectError(f"{native!r} is neither a Gst.Buffer nor a Gst.Sample")
    buffer = buffer_in(native)
    if not buffer:
        lists = native.get_buffer_list() is not None
        raise LayoutError(
            "the sample has no buffer"
            + (" but a list of them: use samebytes_gstreamer.frames_of()" if lists else "")
        )
    return buffer


def _description_of(meta: FrameMeta) -> Description:
    """A frame over a buffer of ours, whose caps were never asked for."""
    return Description() if meta.info is None else describe(caps_for(meta.info))


def frame_of(
    native: Any,
    caps: Any = None,
    *,
    format: str | ImageFormat | None = None,  # the field's word for it
    width: int | None = None,
    height: int | None = None,
    crop: bool = True,
) -> GStreamerFrame:
    """A frame over a Gst.Buffer or Gst.Sample, with a description of its contents.

    Args:
        native: a Gst.Buffer or Gst.Sample.
        caps: Gst.Caps, or their text; for a sample, instead of its own.
        format, width, height: instead of caps, for a picture in GStreamer's usual layout (rows of a
            multiple of four bytes), or in that of the buffer's VideoMeta.
        crop: show the part that a GstVideoCropMeta names; False shows the whole picture.

    Raises:
        LayoutError: as `GStreamerFrame.wrap`; caps that GStreamer cannot parse; caps and a format.
        UnknownNameError: no such format.
        UnsupportedObjectError: neither buffer nor sample, or its contents are not described.
    """
    if isinstance(caps, str):
        caps = parsed(caps)
    if format is not None:
        if caps is not None or width is None or height is None:
            raise LayoutError("pass caps=, or all of format=, width= and height=")
        caps = caps_for(ImageInfo.of(format, width, height))
    return GStreamerFrame._of_buffer(native, caps, crop=crop)


def frames_of(
    native: Any,
    caps: Any = None,
    *,
    format: str | ImageFormat | None = None,  # the field's word for it
    width: int | None = None,
    height: int | None = None,
    crop: bool = True,
) -> list[GStreamerFrame]:
    """The frames of a Gst.BufferList, or of a Gst.Sample that has one: a batch.

    Args:
        native: a Gst.BufferList or Gst.Sample.
        caps: Gst.Caps of the buffers, or their text; for a sample, instead of its own.
        format, width, height: instead of caps, as for `frame_of`.
        crop: as for `frame_of`.

    Raises:
        LayoutError, UnknownNameError, UnsupportedObjectError: as from `frame_of`.
    """
    if isinstance(native, Gst.Sample):
        caps = native.get_caps() if caps is None and format is None else caps
        listed = native.get_buffer_list()
    else:
        listed = native
    if not isinstance(listed, Gst.BufferList):
        raise UnsupportedObjectError(f"{native!r} neither is nor has a Gst.BufferList")
    return [
        frame_of(listed.get(n), caps, format=format, width=width, height=height, crop=crop)
        for n in range(listed.length())
    ]
