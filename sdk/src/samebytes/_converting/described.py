# SPDX-License-Identifier: Apache-2.0
"""The metadata of a picture that was converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..metadata import meta_of_warped

if TYPE_CHECKING:
    from .._core.memory.frame import Frame
    from .._core.memory.meta import FrameMeta
    from .picture import PictureInfo

__all__ = ["meta_of_converted"]

_ENTRIES = ("color_range", "color_matrix", "chroma_location")


def meta_of_converted(frame: Frame[Any], source: PictureInfo, target: PictureInfo) -> FrameMeta:
    """A FrameMeta of its own for a picture that was made of the frame.

    It keeps what a picture keeps that is scaled (`meta_of_warped`). The entries about colours that
    the conversion applied become those of the new picture; RGB has none of them.
    """
    image = target.image
    meta = meta_of_warped(frame, image.width, image.height)
    meta.info = image
    own = meta.metadata
    before, model = source.image.format.color_model, image.format.color_model
    said = {key: own.pop(key) for key in _ENTRIES if key in own}
    if model != "rgb":
        explicit = before != model or "color_range" in said
        if explicit or target.color_range != source.color_range:
            own["color_range"] = target.color_range
        if model == "yuv" and (
            before != model or "color_matrix" in said or target.color_matrix != source.color_matrix
        ):
            own["color_matrix"] = target.color_matrix
        if target.chroma_location is not None:
            own["chroma_location"] = target.chroma_location
    return meta
