# SPDX-License-Identifier: Apache-2.0
"""What a message says of its descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from samebytes import FrameMeta, TensorInfo

__all__ = ["FRAME", "IMAGE", "PLANE", "REGION", "Description", "PlaneDescription"]

# The members of the objects in a message.
PLANE = ("buffer", "dtype", "shape", "strides", "offset", "pitch", "modifier")
FRAME = ("planes", "image", "pts", "time_base", "regions", "metadata")
IMAGE = ("format", "width", "height")
REGION = ("x", "y", "width", "height", "label", "confidence", "metadata")


@dataclass(frozen=True, slots=True)
class PlaneDescription:
    """Where one array lies.

    Attributes:
        buffer: in which of the message's descriptors.
        info, offset, pitch, modifier: as of a DMAPlane.
    """

    buffer: int
    info: TensorInfo
    offset: int
    pitch: int | None
    modifier: int


@dataclass(frozen=True, slots=True)
class Description:
    """A tensor or a frame without its memory.

    Attributes:
        planes: the one of a tensor, or those of a frame.
        meta: what is known of a frame; None for a tensor.
        readonly: the sender's object was.
    """

    planes: tuple[PlaneDescription, ...]
    meta: FrameMeta | None
    readonly: bool
