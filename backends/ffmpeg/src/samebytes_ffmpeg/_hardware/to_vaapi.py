# SPDX-License-Identifier: Apache-2.0
"""ffmpeg:VAAPI -> vaapi: the surface of the frame, under its own number."""

from __future__ import annotations

from typing import Any

from samebytes.plugins import Access, Frame, MemoryMapper, Refused, Storage

from .objects import described
from .reference import reference_to

__all__ = ["VAAPIFrameToVA"]


class VAAPIFrameToVA(MemoryMapper):
    """The surface, with a reference of its own to the AVFrame's buffer.

    While it lives, FFmpeg's pool does not use the surface again.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A native surface of the target's.

        Raises:
            LayoutError: the frame was given back meanwhile.
            Refused: the target has another display.
        """
        found = described(item.native)
        target: Any = self.target
        if target.handle("va_display") != self.source.handle("va_display"):
            raise Refused(
                "the surface belongs to another VADisplay: derive the target from the frame's "
                'context, as frame.map("vaapi") does'
            )
        keep = reference_to(item.native, found)
        surface = target.import_surface(found.data, found.image, keep=keep)
        return surface, None, surface.storage
