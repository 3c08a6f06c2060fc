# SPDX-License-Identifier: Apache-2.0
"""The upright picture of a frame that lies on its side: its size, and the places of its points.

Nothing turns pixels here. The backend that decodes a file reads its rotation into
metadata["rotation"], and code that looks at the pixels applies it, such as models of
samebytes-openvino.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.memory.meta import FrameMeta
from ..formats import mirrored_of, rotation_of
from ._affine import AffineTransform
from ._views import image_of, meta_of

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["upright_size", "upright_transform"]

# The transform of a picture that is turned clockwise by so many degrees to be upright.
_TURNED = {
    0: AffineTransform(),
    90: AffineTransform((0, 1, 0, -1, 0, 1)),
    180: AffineTransform((-1, 0, 1, 0, -1, 1)),
    270: AffineTransform((0, -1, 1, 1, 0, 0)),
}
_MIRRORED = AffineTransform((-1, 0, 1, 0, 1, 0))


def upright_size(frame: Frame | FrameMeta) -> tuple[int, int]:
    """(width, height) of the picture when it is turned as its metadata say.

    Args:
        frame: the frame, or its FrameMeta.

    Raises:
        MetadataError: it is not an image.
        LayoutError: metadata["rotation"] is invalid.
    """
    meta = meta_of(frame)
    image = image_of(meta)
    sideways = rotation_of(meta.metadata) in (90, 270)
    return (image.height, image.width) if sideways else (image.width, image.height)


def upright_transform(frame: Frame | FrameMeta) -> AffineTransform:
    """The transform from a frame's upright picture to the frame, as its metadata say.

    It maps the results of a model for an upright picture back to the frame: boxes by `bounds()`.

    Args:
        frame: the frame, or its FrameMeta.

    Returns:
        From normalised points of the upright picture to normalised points of the frame.

    Raises:
        LayoutError: metadata["rotation"] or metadata["mirrored"] is invalid.
    """
    metadata = meta_of(frame).metadata
    turned = _TURNED[rotation_of(metadata) or 0]
    return _MIRRORED.after(turned) if mirrored_of(metadata) else turned
