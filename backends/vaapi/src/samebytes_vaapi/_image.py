# SPDX-License-Identifier: Apache-2.0
"""VAImage: a surface, or a copy of one, as rows of elements in a buffer that the CPU can map."""

from __future__ import annotations

from ctypes import byref, c_uint8, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import ImageInfo, Storage
from samebytes.errors import LayoutError
from samebytes.formats import PlaneLayout
from samebytes.plugins import counted

from ._abi import constants as va
from ._abi.structures import VAImage, VAImageFormat
from ._display import NativeDisplay
from ._display_resources import ImageCells
from ._exporting import check_picture
from ._library import VAError
from ._surface import SurfaceHandle

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["Array", "Image", "arrays_at", "created", "derived", "planes_at"]

Array = np.ndarray[Any, Any]


class Image:
    """A VAImage. `close` destroys it, or its last holder, or the end of its display.

    Attributes:
        id: the VAImageID.
        nbytes: the size of its buffer.
        layouts: the layouts of the picture's planes in it.
        storage: its owner, which gets the address of the bytes from code that maps it for longer.
    """

    __slots__ = ("_cells", "_display", "id", "layouts", "nbytes", "storage")

    def __init__(
        self,
        display: NativeDisplay,
        picture: ImageInfo,
        make: Callable[[VAImage], None],
        derived_from: SurfaceHandle | None = None,
    ) -> None:
        """Make a new image.

        Args:
            make: a function that has the driver fill a VAImage.

        Raises:
            VAError: `make` raises it.
            LayoutError: it does not have the picture's layout, or does not match the declaration of
                the surface.
        """
        image = VAImage(image_id=va.VA_INVALID_ID)
        self._display = display
        self._cells = cells = ImageCells(image, c_void_p())
        # Before the image, which no exception of a signal handler can lose then.
        self.storage = Storage(partial(display.resources.destroy_image, cells), holds=display)
        display.resources.add_image(cells)
        try:
            make(image)
        except VAError:
            image.image_id = va.VA_INVALID_ID
            raise
        self.id: int = image.image_id
        self.nbytes: int = image.data_size
        try:
            if derived_from is not None:
                check_picture(derived_from, image.format.fourcc, image.width, image.height)
            self.layouts = _layouts(image, picture)
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> int:
        """The address of the buffer while it is mapped; otherwise 0."""
        return self._cells.address.value or 0

    def map(self) -> None:
        """Map the bytes for the CPU.

        Raises:
            VAError: the driver refuses.
            LayoutError: it gives no address.
        """
        image, address = self._cells
        try:
            self._display.call("vaMapBuffer", image.buf, byref(address))
        except VAError:
            address.value = None
            raise
        if not address.value:
            raise LayoutError("the driver mapped an image at a null address")

    def unmap(self) -> None:
        """Give the bytes back to the driver."""
        self._display.resources.unmap(self._cells)

    def arrays(self) -> tuple[Array, ...]:
        """The planes; valid until it is unmapped."""
        return arrays_at(self.address, self.nbytes, self.layouts)

    def close(self) -> None:
        """Unmap and destroy it."""
        self._display.resources.destroy_image(self._cells)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def derived(surface: SurfaceHandle) -> Image:
    """The surface itself as an image, mapped, if the driver can do that (vaDeriveImage).

    Raises:
        VAError: the driver cannot, usually because the surface is tiled.
        LayoutError: the surface does not match its declaration.
    """
    display = surface.display

    def make(native: VAImage) -> None:
        display.call("vaDeriveImage", surface.id, byref(native))

    image = Image(display, surface.image, make, surface)
    try:
        image.map()
    except BaseException:
        image.close()
        raise
    return image


def created(display: NativeDisplay, picture: ImageInfo) -> Image:
    """A new image of that format and size (vaCreateImage). Its contents are undefined.

    Raises:
        VAError: the driver refuses.
        LayoutError: it has no images of the format; the message lists those that it has.
    """
    formats = display.image_formats()
    known = formats.get(picture.format.name)
    if known is None:
        raise LayoutError(
            f"the driver does not transfer {picture.format}: it supports "
            f"{', '.join(sorted(formats))}"
        )
    wanted, size = VAImageFormat.from_buffer_copy(known), (picture.width, picture.height)
    return Image(
        display,
        picture,
        lambda native: display.call("vaCreateImage", byref(wanted), *size, byref(native)),
    )


def arrays_at(address: int, nbytes: int, layouts: tuple[PlaneLayout, ...]) -> tuple[Array, ...]:
    """The planes of a picture in memory that is mapped there, and that they do not keep."""
    memory = (c_uint8 * nbytes).from_address(address)
    return planes_at(np.asarray(memory), layouts)


def planes_at(memory: Array, layouts: tuple[PlaneLayout, ...]) -> tuple[Array, ...]:
    """The planes of a picture in a piece of memory."""
    return tuple(np.ndarray(p.shape, p.dtype, memory, p.offset, p.strides) for p in layouts)


def _layouts(image: VAImage, picture: ImageInfo) -> tuple[PlaneLayout, ...]:
    count = len(picture.format.planes)
    if image.num_planes != count:
        raise LayoutError(
            f"{picture} has {counted(count, 'plane')}, but the driver's image has "
            f"{image.num_planes}"
        )
    layouts = picture.plane_layouts(image.pitches[:count], image.offsets[:count])
    end = max(p.offset + p.span for p in layouts)
    if end > image.data_size:
        raise LayoutError(f"the driver's image of {picture} has {image.data_size} bytes, not {end}")
    return layouts
