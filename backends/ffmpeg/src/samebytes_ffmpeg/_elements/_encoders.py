# SPDX-License-Identifier: Apache-2.0
"""Which encoder takes frames as they are."""

from __future__ import annotations

from collections.abc import Iterator

import av

from samebytes.formats import ImageInfo

__all__ = ["encoder_for", "why_not"]

_CHOICES = ("libx264", "mpeg4", "ffv1")


def encoder_for(pixel_format: str, image: ImageInfo) -> str:
    """H.264 where its encoder takes the format and the size; else MPEG-4, else FFV1.

    Raises:
        ValueError: none of them does; the message says why.
    """
    reasons = []
    for codec in _CHOICES:
        reason = why_not(codec, pixel_format, image)
        if reason is None:
            return codec
        reasons.append(reason)
    raise ValueError(f"no encoder takes these frames: {'; '.join(reasons)}; name one with codec=")


def why_not(codec: str, pixel_format: str, image: ImageInfo) -> str | None:
    """Why an encoder does not take such frames without converting them; None if it does."""
    try:
        found = av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        return f"this FFmpeg has no encoder {codec!r}"
    known = [one.name for one in found.video_formats or ()]
    if known and pixel_format not in known:
        return f"{codec} takes {', '.join(known)}, not {pixel_format}"
    if codec == "libx264" and any(_odd(image)):
        return f"libx264 takes whole groups of pixels, not {image.width}x{image.height}"
    return None


def _odd(image: ImageInfo) -> Iterator[bool]:
    for plane in image.format.planes:
        yield bool(image.width % (1 << plane.x_shift) or image.height % (1 << plane.y_shift))
