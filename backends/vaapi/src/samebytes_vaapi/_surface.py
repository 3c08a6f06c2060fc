# SPDX-License-Identifier: Apache-2.0
"""VASurface and VAPlane: the native objects of "vaapi" frames and their planes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from samebytes import Access, ImageInfo, Storage, TensorInfo

from ._display import NativeDisplay

__all__ = ["SurfaceHandle", "VAPlane", "VASurface"]


class SurfaceHandle(NamedTuple):
    """The parts of a surface that calls into the driver need; it does not keep the surface alive.

    The functions that a mapping's storage calls use it: if they held the surface's storage, a
    close() that ends both would find it in use.
    """

    display: NativeDisplay
    id: int
    image: ImageInfo

    def sync(self) -> None:
        """Wait until nothing renders into it any more."""
        self.display.sync(self.id)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class VASurface:
    """A VASurfaceID, and what keeps it valid. `VAAPIContext.surface` makes one of a bare id.

    Attributes:
        context: the VAAPIContext of the display that it is a surface of.
        id: the VASurfaceID.
        image: format and size of the picture. The surface itself may be larger.
        storage: its owner; the surface lives as long as this object, which holds it.
        native_display, exports: the display, and the exports of the surface. For this package's
            edges.
    """

    context: Any  # a VAAPIContext
    id: int
    image: ImageInfo
    storage: Storage
    native_display: NativeDisplay = field(repr=False)
    # What it was exported as, once for each access: see _to_dma.
    exports: dict[Access, tuple[Any, ...]] = field(default_factory=dict, repr=False, init=False)

    @property
    def display(self) -> int:
        """The VADisplay."""
        return self.native_display.pointer

    @property
    def handle(self) -> SurfaceHandle:
        """The surface without what keeps it alive."""
        return SurfaceHandle(self.native_display, self.id, self.image)

    def sync(self) -> None:
        """Wait until nothing renders into it any more (vaSyncSurface).

        Raises:
            VAError: it was destroyed, or its display fails.
            ClosedError: its display was terminated.
        """
        self.native_display.sync(self.id)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class VAPlane:
    """One plane of a surface. It keeps the surface.

    Attributes:
        surface: the surface that it belongs to.
        index: its number, in the order of the format.
    """

    surface: VASurface
    index: int

    @property
    def info(self) -> TensorInfo:
        """dtype and shape. A surface need not lie in rows, so there are no strides."""
        layout = self.surface.image.plane_layouts()[self.index]
        return TensorInfo(layout.dtype, layout.shape, opaque=True)
