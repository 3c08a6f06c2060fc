# SPDX-License-Identifier: Apache-2.0
"""Translation between caps and the frames that elements take and give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import samebytes.elements as el
from samebytes import AudioInfo, ImageFormat, ImageInfo
from samebytes.errors import LayoutError, UnsupportedObjectError

from .._abi.gi import Gst
from .._caps.caps import Description, Sound, describe
from .._caps.formats import known_formats, video_format_name

__all__ = ["caps_of", "check_result", "given_caps", "info_of", "patterns_of"]

_VA = "memory:VAMemory"
_FEATURES = {"gstreamer:VA": _VA}
# Fields that are no longer true after a change of the format.
_COLORS = ("colorimetry", "chroma-site")


def patterns_of(element: Any, side: str) -> tuple[el.Media, ...] | None:
    """`takes` or `gives` of a class, or of an object, whose parameters are known.

    Returns:
        The patterns; None if it gives the frame that it takes.
    """
    declared = getattr(element, side)
    if declared == el.same():
        return None
    found = declared if isinstance(declared, tuple | list) else (declared,)
    if isinstance(element, el.Element):
        return tuple(pattern.with_parameters(element.parameters) for pattern in found)
    return tuple(found)


def caps_of(patterns: Sequence[el.Media], owner: str) -> Any:
    """The Gst.Caps of the frames that an element can take or give, for a pad's template.

    Raises:
        UnsupportedObjectError: GStreamer has no caps for it.
    """
    caps = Gst.Caps.new_empty()
    for pattern in patterns:
        for text in _texts(pattern, owner):
            caps.append(Gst.Caps.from_string(text))
    return caps


def _texts(pattern: el.Media, owner: str) -> Iterable[str]:
    # Elements that want bytes get them; others say themselves which memory they can map.
    anywhere = "" if set(pattern.memories) == {"cpu"} else "(ANY)"
    if isinstance(pattern, el.Image):
        names = _names(pattern.formats, owner)
        size = "".join(
            f",{side}={getattr(pattern, side) or '[1,2147483647]'}" for side in ("width", "height")
        )
        yield f"video/x-raw{anywhere},format={{{','.join(names)}}}{size}"
    elif isinstance(pattern, el.Audio):
        yield f"audio/x-raw{anywhere}"
    elif isinstance(pattern, el.Tensors):
        yield "other/tensors"
    else:
        yield from _texts(el.Image(memory=pattern.memory), owner)
        yield from (f"audio/x-raw{anywhere}", "other/tensors")


def _names(formats: Sequence[str], owner: str) -> list[str]:
    if not formats:
        return known_formats()
    names = []
    for name in formats:
        try:
            names.append(video_format_name(ImageFormat.of(name)))
        except LayoutError:
            continue  # GStreamer's pipelines have none of these
    if not names:
        raise UnsupportedObjectError(
            f"{owner!r} uses image formats that GStreamer does not have: {', '.join(formats)}"
        )
    return names


def info_of(caps: Any) -> el.FrameInfo:
    """The properties of the frames that caps describe, for negotiate().

    Raises:
        LayoutError: they are of a format that has no layout here.
    """
    described = describe(caps)
    memory = "gstreamer:VA" if caps.get_features(0).contains(_VA) else "gstreamer"
    if described.image is not None:
        image = described.image
        rate = described.details.get("framerate") or None
        return el.FrameInfo(
            "image", memory, image.format.name, image.width, image.height, rate=rate
        )
    return el.FrameInfo("tensors" if described.sound is None else "audio", memory)


def given_caps(caps: Any, given: el.FrameInfo) -> Any:
    """The caps of the frames that an element makes from frames with some caps.

    Args:
        caps: the caps of the frames that it takes, one fixed structure.
        given: the result of its negotiate().

    Raises:
        UnsupportedObjectError: GStreamer has no caps for it.
    """
    if given.media != info_of(caps).media:
        return caps_of([el.Image() if given.media == "image" else el.Audio()], "it")
    if given.media != "image":
        return caps
    before = info_of(caps)
    made = Gst.Caps.new_empty()
    structure = caps.get_structure(0).copy()
    if given.format not in (None, before.format):
        structure.set_value("format", _names([given.format], "it")[0])
        for field in _COLORS:
            structure.remove_field(field)
    for side in ("width", "height"):
        if getattr(given, side) is not None:
            structure.set_value(side, getattr(given, side))
    if given.rate is not None and given.rate != before.rate:
        structure = _with_rate(structure, Fraction(given.rate))
    made.append_structure(structure)
    feature = _FEATURES.get(given.memory)
    if feature is not None:
        made.set_features(0, Gst.CapsFeatures.from_string(feature))
    return made


def _with_rate(structure: Any, rate: Fraction) -> Any:
    # As text: Gst.Fraction takes its numbers only where gst-python is installed.
    structure.remove_field("framerate")
    text = structure.to_string().rstrip(";")
    stated = f"framerate=(fraction){rate.numerator}/{rate.denominator}"
    return Gst.Structure.from_string(f"{text}, {stated};")[0]


def check_result(frame: Any, caps: Any) -> None:
    """Check that a frame has the caps of its pad.

    Raises:
        LayoutError: it has others.
    """
    said, info = describe(caps), frame.meta.info
    feature = frame.context.caps_feature
    features = caps.get_features(0)
    fits = _fits(said, info) and (features.is_any() or not feature or features.contains(feature))
    if not fits:
        raise LayoutError(
            f"it gave {info} in {frame.context.node}, and the negotiated caps are "
            f"{caps.to_string()}: negotiate() says what an element will give"
        )


def _fits(said: Description, info: Any) -> bool:
    if isinstance(info, ImageInfo):
        return said.image == info
    if isinstance(info, AudioInfo):
        return said.sound is not None and _sounds(said.sound, info)
    return said.image is None and said.sound is None


def _sounds(sound: Sound, info: AudioInfo) -> bool:
    found = (info.rate, info.channels, str(info.dtype), info.interleaved)
    return found == (sound.rate, sound.channels, sound.dtype, sound.interleaved)
