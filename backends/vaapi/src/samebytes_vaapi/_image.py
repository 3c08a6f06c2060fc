# SPDX-License-Identifier: Apache-2.0
"""VAImage: a surface, or a copy of one, as rows of elements in a buffer that the CPU can map."""

from __future__ import annotations

from ctypes import byref, c_uint8, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import ImageInfo
from samebytes.errors import LayoutError
from samebytes.formats import PlaneLayout

from ._abi.structures import VAImage, VAImageFormat
from ._display import NativeDisplay
from ._exporting import check_picture
from ._surface import SurfaceHandle

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Array", "Image", "created", "derived", "planes_at"]

Array = np.ndarray[Any, Any]


class Image:
    """A VAImage. It is destroyed by `close`, which must be called, or when its display ends.

    Attributes:
        id: the VAImageID.
        nbytes: of its buffer.
        layouts: where the planes of the picture lie in it.
        address: of the buffer, while it is mapped; else 0.
    """

    __slots__ = ("_buffer", "_display", "address", "id", "layouts", "nbytes")

    def __init__(
        self,
        display: NativeDisplay,
        image: VAImage,
        picture: ImageInfo,
        derived_from: SurfaceHandle | None = None,
    ) -> None:
        """Take a new image.

        Raises:
            LayoutError: it is not laid out as the picture is, or not what the surface was
                declared as.
        """
        self._display = display
        self._buffer: int = image.buf
        self.id: int = image.image_id
        self.nbytes: int = image.data_size
        self.address = 0
        display.resources.add_image(self.id)
        try:
            if derived_from is not None:
                check_picture(derived_from, image.format.fourcc, image.width, image.height)
            self.layouts = _layouts(image, picture)
        except BaseException:
            self.close()
            raise

    def map(self) -> None:
        """Let the CPU have the bytes.

        Raises:
            VAError: the driver refuses.
            LayoutError: it gives no address.
        """
        address = c_void_p()
        self._display.call("vaMapBuffer", self._buffer, byref(address))
        if not address.value:
            raise LayoutError("the driver mapped an image at a null address")
        self._display.resources.mapped(self.id, self._buffer)
        self.address = address.value

    def unmap(self) -> None:
        """Let the driver have the bytes."""
        self.address = 0
        self._display.resources.unmap(self.id)

    def arrays(self) -> tuple[Array, ...]:
        """The planes; valid until it is unmapped."""
        memory = (c_uint8 * self.nbytes).from_address(self.address)
        return planes_at(np.asarray(memory), self.layouts)

    def close(self) -> None:
        """Unmap and destroy it."""
        self._display.resources.destroy_image(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def derived(surface: SurfaceHandle) -> Image:
    """The surface itself as an image, mapped, where the driver can (vaDeriveImage).

    Raises:
        VAError: the driver cannot, mostly since the surface is tiled.
        LayoutError: it is not what it was declared as.
    """
    native = VAImage()
    surface.display.call("vaDeriveImage", surface.id, byref(native))
    image = Image(surface.display, native, surface.image, surface)
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
        LayoutError: it has no images of the format; the message says which it has.
    """
    formats = display.image_formats()
    known = formats.get(picture.format.name)
    if known is None:
        raise LayoutError(
            f"the driver does not transfer {picture.format}: it supports "
            f"{', '.join(sorted(formats))}"
        )
    wanted, native = VAImageFormat.from_buffer_copy(known), VAImage()
    display.call("vaCreateImage", byref(wanted), picture.width, picture.height, byref(native))
    return Image(display, native, picture)


def planes_at(memory: Array, layouts: tuple[PlaneLayout, ...]) -> tuple[Array, ...]:
    """The planes of a picture in a piece of memory."""
    return tuple(np.ndarray(p.shape, p.dtype, memory, p.offset, p.strides) for p in layouts)


def _layouts(image: VAImage, picture: ImageInfo) -> tuple[PlaneLayout, ...]:
    count = len(picture.format.planes)
    if image.num_planes != count:
        raise LayoutError(
            f"{picture} has {count} planes, but the driver's image has {image.num_planes}"
        )
    layouts = picture.plane_layouts(image.pitches[:count], image.offsets[:count])
    end = max(p.offset + p.span for p in layouts)
    if end > image.data_size:
        raise LayoutError(f"the driver's image of {picture} has {image.data_size} bytes, not {end}")
    return layouts
