# SPDX-License-Identifier: Apache-2.0
"""Read caps into formats and layouts, and make caps for frames."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from samebytes import AudioInfo, ImageFormat, ImageInfo, TensorInfo
from samebytes.errors import LayoutError, SamebytesError, UnknownNameError, UnsupportedObjectError
from samebytes.formats import DRM_FORMAT_MOD_INVALID, Colorimetry, sample_aspect_of
from samebytes.plugins import Lock

from .._abi.gi import Gst, GstAudio, GstVideo, pointer_of
from .._abi.libraries import gst
from .channel_masks import channel_mask, layout_of_positions
from .colors import chroma_site_text, colorimetry_text, read_colors
from .formats import (
    audio_format_name,
    image_format_named,
    sample_dtype,
    video_format_name,
)
from .hdr import hdr_text, read_hdr
from .interlacing import check_mode, differ, interlacing_text

__all__ = ["Description", "Sound", "caps_as_said", "caps_for", "describe", "parsed"]

_KEPT = 64
_DMABUF = "memory:DMABuf"
# Fractions of GStreamer are of two gint.
_INT = 2**31


@dataclass(frozen=True, slots=True)
class Sound:
    """Caps of sound, which become an AudioInfo with the size of a buffer."""

    rate: int
    channels: int
    dtype: str
    interleaved: bool
    frame_nbytes: int
    channel_layout: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of caps: an image, sound or tensors; with none of them, plain bytes.

    Attributes:
        image: format and size.
        pitches, offsets: the places where GStreamer assumes planes without a VideoMeta.
        modifier: the modifier of pixels behind a descriptor; None if the caps have none.
        sound: the layout of a block of sound.
        tensors: one for each memory of the buffer ("other/tensors").
        details: for `frame.metadata["gstreamer"]`.
        meaning: for `frame.metadata`, in the words that all backends share.
        interlace_mode, field_order: those in the caps; None if it is not a picture in rows.
    """

    image: ImageInfo | None = None
    pitches: tuple[int, ...] | None = None
    offsets: tuple[int, ...] | None = None
    modifier: int | None = None
    sound: Sound | None = None
    tensors: tuple[TensorInfo, ...] | None = None
    details: dict[str, Any] = field(default_factory=dict)
    meaning: dict[str, Any] = field(default_factory=dict)
    interlace_mode: str | None = None
    field_order: str | None = None


class _Held:
    """A reference of ours to caps, so that they do not change, and their address stays theirs."""

    __slots__ = ("_pointer", "description")

    def __init__(self, pointer: int, description: Description) -> None:
        self._pointer = gst.gst_mini_object_ref(pointer)
        self.description = description

    def __del__(self, unref: Any = gst.gst_mini_object_unref) -> None:
        unref(self._pointer)


# Streams send the same caps with every buffer, and parsing them takes longer than a mapping.
_described: OrderedDict[int, _Held] = OrderedDict()
_lock = Lock()


def describe(caps: Any) -> Description:
    """The description of a Gst.Caps.

    Raises:
        LayoutError: they are not fixed, or of a format that has no layout here.
        UnsupportedObjectError: it is not a Gst.Caps.
    """
    if not isinstance(caps, Gst.Caps):
        raise UnsupportedObjectError(f"{caps!r} is not a Gst.Caps")
    pointer = pointer_of(caps)
    with _lock:
        held = _described.get(pointer)
        if held is not None:
            _described.move_to_end(pointer)
            return held.description
    description = _parse(caps)
    held = _Held(pointer, description)
    with _lock:
        _described[pointer] = held
        dropped = _described.popitem(last=False) if len(_described) > _KEPT else None
    del dropped
    return description


def parsed(text: str) -> Any:
    """The Gst.Caps of a text.

    Raises:
        LayoutError: GStreamer cannot parse it, or would read only a part of it.
    """
    try:
        # For C, a text ends at its first NUL.
        found = None if "\0" in text else Gst.Caps.from_string(text)
    except UnicodeEncodeError:
        found = None
    if found is None:
        raise LayoutError(f"GStreamer cannot parse the caps {text!r}")
    return found


def _parse(caps: Any) -> Description:
    if not caps.is_fixed():
        raise LayoutError(f"caps {caps.to_string()!r} are not fixed: pass those of the buffer")
    structure = caps.get_structure(0)
    name = structure.get_name()
    if name == "video/x-raw":
        return _picture(caps, structure)
    if name == "audio/x-raw":
        return _sound(caps)
    details = {"caps": caps.to_string()}
    if name == "other/tensors":
        return Description(tensors=_tensors(structure), details=details)
    return Description(details=details)


def _picture(caps: Any, structure: Any) -> Description:
    drm_format = structure.get_string("drm-format")
    if drm_format is not None:  # GStreamer 1.24 and later
        return _drm_picture(caps, structure, drm_format)
    image_format_named(structure.get_string("format") or "UNKNOWN")
    interlacing = structure.get_string("interlace-mode") or "progressive"
    check_mode(interlacing)
    info = _parsed(GstVideo.VideoInfo, caps, "picture")
    count = info.finfo.n_planes
    details = {
        "caps": caps.to_string(),
        "framerate": Fraction(info.fps_n, info.fps_d) if info.fps_d else None,
        "pixel_aspect_ratio": Fraction(info.par_n, info.par_d) if info.par_d else None,
        "colorimetry": info.colorimetry.to_string(),
        "interlace_mode": interlacing,
    }
    image = ImageInfo.of(image_format_named(info.finfo.name), info.width, info.height)
    colors = read_colors(info, image, structure.get_string("chroma-site"))
    meaning: dict[str, Any] = dict(colors.entries())
    if details["pixel_aspect_ratio"]:
        meaning["sample_aspect_ratio"] = details["pixel_aspect_ratio"]
    meaning |= read_hdr(structure)
    return Description(
        image=image,
        pitches=tuple(info.stride)[:count],
        offsets=tuple(info.offset)[:count],
        modifier=DRM_FORMAT_MOD_INVALID if caps.get_features(0).contains(_DMABUF) else None,
        details=details,
        meaning=meaning,
        interlace_mode=interlacing,
        field_order=structure.get_string("field-order"),
    )


def _parsed(kind: Any, caps: Any, what: str) -> Any:
    """GstVideoInfo or GstAudioInfo of caps.

    Raises:
        LayoutError: GStreamer finds none in them.
    """
    try:
        found = kind.new_from_caps(caps)
    except TypeError:  # gi's word for NULL, where it is not None
        found = None
    if found is None:
        raise LayoutError(f"GStreamer finds no {what} in caps {caps.to_string()!r}")
    return found


def _drm_picture(caps: Any, structure: Any, drm_format: str) -> Description:
    """gst/video/video-info-dma.h: "NV12", or "NV12:0x0100000000000002" with the modifier."""
    fourcc, _, modifier = drm_format.partition(":")
    try:
        image = ImageFormat.from_fourcc(int.from_bytes(fourcc.ljust(4).encode(), "little"))
        number = int(modifier, 16) if modifier else 0
    except (UnknownNameError, ValueError) as error:
        raise LayoutError(f"the DRM format {drm_format!r} is not known: {error}") from error
    found_width, width = structure.get_int("width")
    found_height, height = structure.get_int("height")
    if not (found_width and found_height):
        raise LayoutError(f"caps {caps.to_string()!r} do not give a size")
    info, details = ImageInfo.of(image, width, height), {"caps": caps.to_string()}
    plain = _as_in_memory(structure, image)
    if plain is None:
        return Description(image=info, modifier=number, details=details)
    said = _picture(plain, plain.get_structure(0))
    return replace(
        said, image=info, pitches=None, offsets=None, modifier=number,
        details=said.details | details,
    )  # fmt: skip


def _as_in_memory(structure: Any, image: ImageFormat) -> Any:
    """Caps of such pictures that do not lie behind a descriptor; None if GStreamer lacks them."""
    try:
        name = video_format_name(image)
    except LayoutError:
        return None
    plain = structure.copy()
    plain.remove_field("drm-format")
    plain.set_value("format", name)
    caps = Gst.Caps.new_empty()
    caps.append_structure(plain)
    return caps


def _sound(caps: Any) -> Description:
    info = _parsed(GstAudio.AudioInfo, caps, "sound")
    sound = Sound(
        info.rate,
        info.channels,
        sample_dtype(info.finfo.name),
        info.layout == GstAudio.AudioLayout.INTERLEAVED,
        info.bpf,
        layout_of_positions([int(position) for position in info.position[: info.channels]]),
    )
    return Description(sound=sound, details={"caps": caps.to_string()})


def _tensors(structure: Any) -> tuple[TensorInfo, ...]:
    """Dimensions are listed from the innermost on: "3:224:224:1"."""
    types = [t.strip() for t in re.split("[,.]", structure.get_string("types") or "")]
    sizes = re.split("[,.]", structure.get_string("dimensions") or "")
    if structure.has_field("strides") or len(types) != len(sizes):
        raise LayoutError(f"the tensors of {structure.to_string()!r} have an unknown layout")
    try:
        return tuple(
            TensorInfo(type_, tuple(int(n) for n in reversed(size.split(":"))))
            for type_, size in zip(types, sizes, strict=True)
        )
    except (ValueError, SamebytesError) as error:
        raise LayoutError(f"the tensors of {structure.to_string()!r}: {error}") from error


def caps_for(
    info: ImageInfo | AudioInfo, metadata: Mapping[str, Any] | None = None, feature: str = ""
) -> Any:
    """Gst.Caps of frames.

    Args:
        metadata: the metadata of the frame, for rates, colours and fields that are known.
        feature: "memory:..." for pictures that do not lie in memory.

    Raises:
        LayoutError: GStreamer lacks the format, or cannot express the metadata.
        UnknownNameError: an entry of the metadata has a name that is not known.
    """
    if isinstance(info, AudioInfo):
        layout = "interleaved" if info.interleaved else "non-interleaved"
        text = (
            f"audio/x-raw,format={audio_format_name(info.dtype)},rate={info.rate},"
            f"channels={info.channels},layout={layout}"
        )
        mask = channel_mask(info)
        if mask is not None:
            text += f",channel-mask=(bitmask){mask:#x}"
        return Gst.Caps.from_string(text)
    known = metadata or {}
    private = known.get("gstreamer")
    details = private if isinstance(private, dict) else {}
    text = (
        f"video/x-raw{f'({feature})' if feature else ''},"
        f"format={video_format_name(info.format)},width={info.width},height={info.height}"
    )
    rate = _rational(details, "framerate")
    if rate is not None:
        text += f",framerate={rate.numerator}/{rate.denominator}"
    text += _said_text(info, known, details)
    text += interlacing_text(known, details)
    caps = Gst.Caps.from_string(text)
    if caps is None:
        raise LayoutError(f"the frame's metadata does not give valid caps: {text!r}")
    return caps


# Fields of caps that correspond to entries of the metadata, except those about interlacing.
_SAID_FIELDS = (
    "pixel-aspect-ratio", "colorimetry", "chroma-site", "mastering-display-info",
    "content-light-level",
)  # fmt: skip
_SAID_KEYS = (
    "color_range", "color_primaries", "color_transfer", "color_matrix", "chroma_location",
    "sample_aspect_ratio", "mastering_display", "content_light",
)  # fmt: skip


def _said_text(info: ImageInfo, known: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """The fields of caps that are in _SAID_FIELDS, each after a comma."""
    text = ""
    ratio = sample_aspect_of(known) or _rational(details, "pixel_aspect_ratio")
    if ratio and ratio.numerator < _INT > ratio.denominator:
        text += f",pixel-aspect-ratio={ratio.numerator}/{ratio.denominator}"
    colors = Colorimetry.of(known)
    colorimetry = colorimetry_text(info, colors, details.get("colorimetry"))
    if colorimetry:
        text += f",colorimetry={colorimetry}"
    site = chroma_site_text(colors)
    if site is not None:
        text += f",chroma-site={site}"
    return text + hdr_text(known)


def caps_as_said(caps: Any, said: Description, metadata: Mapping[str, Any]) -> Any:
    """The caps of a buffer, with the changes made in the metadata of its frame since.

    Args:
        caps: Gst.Caps that came with the buffer.
        said: their description.
        metadata: the metadata of the frame.

    Raises:
        LayoutError, UnknownNameError: as from `caps_for`.
    """
    image, meaning = said.image, said.meaning
    fields = differ(said.interlace_mode, said.field_order, metadata)
    same = not fields and all(metadata.get(key) == meaning.get(key) for key in _SAID_KEYS)
    if image is None or same:
        return caps
    private = metadata.get("gstreamer")
    details = dict(private) if isinstance(private, dict) else {}
    if "sample_aspect_ratio" not in metadata:
        details.pop("pixel_aspect_ratio", None)
    structure = caps.get_structure(0).copy()  # to PyGObject it is a copy anyway
    for name in (*_SAID_FIELDS, *(("interlace-mode", "field-order") if fields else ())):
        structure.remove_field(name)
    text = _said_text(image, metadata, details)
    if fields:
        text += interlacing_text(metadata, {})
    rest = Gst.Caps.new_empty()
    rest.append_structure(structure)
    rest.set_features(0, caps.get_features(0).copy())
    return Gst.Caps.from_string(rest.to_string() + text)


def _rational(known: Mapping[str, Any], key: str) -> Fraction | int | None:
    value = known.get(key)
    if value is None:
        return None
    if isinstance(value, Fraction | int) and 0 <= value.numerator < _INT > value.denominator:
        return value
    raise LayoutError(
        f"metadata['gstreamer'][{key!r}] is {value!r}: GStreamer takes a fraction of two "
        "integers, such as fractions.Fraction(30000, 1001)"
    )
