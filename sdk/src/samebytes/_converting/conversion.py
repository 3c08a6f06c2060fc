# SPDX-License-Identifier: Apache-2.0
"""Conversion: the base class of the converters of pictures that plugins declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core.edges.context import Context
    from .._core.memory.frame import Frame
    from .picture import PictureInfo

__all__ = ["METHODS", "Conversion"]

METHODS = ("linear", "area", "nearest", "cubic")
"""The names that `Frame.convert(method=)` takes: ways to scale."""


class Conversion:
    """Makes pictures of one kind out of pictures of another.

    A plugin derives a class from it and declares that by a `ConverterSpec`. The core chooses the
    class, makes an object for each thread that converts at the same time, maps the frames to the
    node of the spec, allocates the new ones in the spec's node for them, carries metadata over, and
    counts.

    Attributes:
        source: the pictures that come.
        target: the pictures made from them.
        method: the way to scale them, a name in METHODS.
        row_padding: bytes of memory needed behind each row of the new picture, which `run` may
            overwrite. Behind each plane there are at least 64.
        by_fields: True if even and odd rows are to be converted apart, each as `source.field` to
            `target.field`: the picture is interlaced and keeps its height, and rows of a field
            share chroma in one of the two. Fields with an odd number of rows are not separated.
    """

    row_padding: int = 0

    def __init__(self, source: PictureInfo, target: PictureInfo, method: str) -> None:
        """Prepare the conversion.

        Args:
            source: the pictures that will come.
            target: the pictures to make from them.
            method: the way to scale, a name in METHODS.

        Raises:
            Refused: exactly this conversion is not possible; the text gives the reason.
        """
        self.source = source
        self.target = target
        self.method = method
        self.by_fields = (
            source.interlaced
            and target.interlaced
            and source.image.height % 4 == 0
            and any(
                plane.y_shift for kind in (source, target) for plane in kind.image.format.planes
            )
        )

    def new_frame(self, context: Context) -> Frame[Any]:
        """A frame for a new picture, of a converter whose pictures are on its device.

        Args:
            context: the context of the frame that is converted.
        """
        image = self.target.image
        return context.allocate_frame(image.format, image.width, image.height)

    def run(self, source: Frame[Any], target: Frame[Any]) -> None:
        """Convert one picture. Called by one thread at a time.

        Args:
            source: a frame in the spec's node, to be read. It must not be kept.
            target: a new frame in the node of the spec's `gives`; each byte of it must be written.

        Raises:
            Refused: it cannot read the layout of the planes. Another converter is asked then.
        """
        raise NotImplementedError(f"{type(self).__name__} must define run()")
