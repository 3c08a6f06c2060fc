# SPDX-License-Identifier: Apache-2.0
"""ffmpeg:DRM -> dma: the frame's DMA-BUFs, under descriptors of our own."""

from __future__ import annotations

from typing import Any

from samebytes.errors import AccessError, LayoutError
from samebytes.plugins import Access, Fd, Frame, MemoryMapper, Refused, Storage

from .drm_descriptor import planes_of
from .objects import described
from .reference import reference_to

__all__ = ["DRMFrameToDMA"]


class DRMFrameToDMA(MemoryMapper):
    """Each buffer once, however many planes lie in it. The AVFrame is referred to meanwhile."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A native plane of the target's for each plane.

        Raises:
            LayoutError: the frame was given back meanwhile, or its descriptor contradicts itself.
            Refused: what its file descriptors are does not go with it.
        """
        target: Any = self.target
        found = described(item.native)
        planes = planes_of(found)
        try:
            keep = reference_to(item.native, found)
            buffers = {}
            for plane in planes:
                if plane.number not in buffers:
                    buffers[plane.number] = target.import_fd(Fd.borrow(plane.fd), keep=keep)
                buffer = buffers[plane.number]
                if plane.size > buffer.size:
                    raise LayoutError(
                        f"the frame says that descriptor {plane.fd} has {plane.size} bytes, and "
                        f"it has {buffer.size}"
                    )
                if access != "r" and buffer.readonly:
                    raise Refused(f"descriptor {plane.fd} may only be read")
            natives = tuple(
                buffers[p.number].plane(p.info, offset=p.offset, pitch=p.pitch, modifier=p.modifier)
                for p in planes
            )
        except (AccessError, LayoutError) as error:
            raise Refused(str(error)) from error
        only = next(iter(buffers.values())) if len(buffers) == 1 else None
        return natives, None, None if only is None else only.storage
