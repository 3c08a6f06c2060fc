# SPDX-License-Identifier: Apache-2.0
"""The format to convert frames to before an element that does not take their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UnknownNameError
from ..formats import ImageFormat
from ._convert import Convert
from ._media import FrameInfo, Image, Media

if TYPE_CHECKING:
    from ._contexts import Contexts

__all__ = ["format_to_convert_to"]

_USUAL = {
    "gray": ("GRAY8", "GRAY16", "I420", "NV12", "I422", "I422_10", "RGB", "BGRA", "RGBA"),
    "yuv": ("I420", "NV12", "I444", "I422", "I422_10", "RGB", "BGRA", "RGBA", "GRAY8"),
    "rgb": ("RGB", "BGR", "I420", "NV12", "BGRA", "RGBA", "I422", "I422_10", "GRAY8"),
}
"""Formats to try for frames of each colour model, the most similar first; gray loses colours.

Studio encoders, ProRes and DNxHD, take nothing but 4:2:2.
"""


def format_to_convert_to(takes: Iterable[Media], given: FrameInfo, contexts: Contexts) -> str:
    """Return the name of a format that is taken, and to which an installed plugin converts.

    Args:
        takes: the patterns of the element.
        given: the frames that come.
        contexts: the contexts of the pipeline.

    Returns:
        The name; "" if there is none, or if the frames have no pixel format.
    """
    if given.format is None:
        return ""
    try:
        model = ImageFormat.of(given.format).color_model
    except UnknownNameError:  # of one framework alone, as palettes and Bayer patterns are
        model = "rgb"
    patterns = [pattern for pattern in takes if isinstance(pattern, Image)]
    for name in _candidates(patterns, model):
        wanted = replace(given, format=name)
        if all(pattern.why_not(wanted) for pattern in patterns):
            continue
        convert = Convert(name)
        convert._contexts = contexts
        try:
            convert.negotiate(given)
        except ValueError:  # nothing converts it
            continue
        return name
    return ""


def _candidates(patterns: Iterable[Image], model: str) -> Iterator[str]:
    yield from _USUAL[model]
    for pattern in patterns:
        yield from pattern.formats
