# SPDX-License-Identifier: Apache-2.0
"""The upright picture of a frame that lies on its side: its size, and where its points are.

Nothing turns pixels here. A file's rotation is read by the backend that decodes the file, into
metadata["rotation"], and applied by what looks at the pixels, such as models of samebytes-openvino.
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

# Of a picture that is turned clockwise by so many degrees to be upright.
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
        LayoutError: metadata["rotation"] is not what it can be.
    """
    meta = meta_of(frame)
    image = image_of(meta)
    sideways = rotation_of(meta.metadata) in (90, 270)
    return (image.height, image.width) if sideways else (image.width, image.height)


def upright_transform(frame: Frame | FrameMeta) -> AffineTransform:
    """The transform from a frame's upright picture to the frame, as its metadata say.

    What a model found in an upright picture maps back to the frame: `bounds()` does so for boxes.

    Args:
        frame: the frame, or its FrameMeta.

    Returns:
        From normalised points of the upright picture to normalised points of the frame.

    Raises:
        LayoutError: metadata["rotation"] or metadata["mirrored"] is not what it can be.
    """
    metadata = meta_of(frame).metadata
    turned = _TURNED[rotation_of(metadata) or 0]
    return _MIRRORED.after(turned) if mirrored_of(metadata) else turned
