# SPDX-License-Identifier: Apache-2.0
"""VAAPIContext: a VADisplay, in which surfaces are allocated, wrapped and imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from samebytes import AudioInfo, Context, FrameMeta, ImageFormat, ImageInfo, Storage
from samebytes.errors import UnknownNameError
from samebytes.plugins import ImportCache, native_pointer

from . import _displays
from ._creation import allocate, valid_id
from ._display import NativeDisplay
from ._formats import format_of
from ._frame import VAFrame
from ._importing import Imported
from ._processor import Processor
from ._surface import VASurface
from ._tensor import VATensor

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["VAAPIContext"]


class VAAPIContext(Context[VATensor, VAFrame]):
    """A VADisplay: `samebytes.context("vaapi")`, or "vaapi:renderD129" for another GPU.

    Handles: "va_display", and "drm_fd" if it has a DRM node. There is one context for each display.
    A display that this class opened is terminated after the last surface in it is gone; a display
    of the user's never is.

    Attributes:
        imports: the memory that was imported here, for this package's edges.
    """

    memory_type = "vaapi"
    node = "vaapi"
    tensor_class = VATensor
    frame_class = VAFrame
    primary_handle = "va_surface"
    may_be_opaque = True

    def __init__(self, display: NativeDisplay, parent: Context | None = None) -> None:
        handles = {"va_display": display.pointer}
        if display.drm is not None:
            handles["drm_fd"] = display.drm.fileno()
        super().__init__(display.device, handles=handles, parent=parent)
        self._display = display
        self._processor: Processor | None = None
        # For this package's edges.
        self.imports: ImportCache[Imported] = ImportCache()

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context on a DRM node, or the one of the display of `parent`.

        Args:
            device: a node: "renderD129" or its path; None for the default one.

        Raises:
            UnknownNameError: there is no such node, or the parent has no display.
            MissingDependencyError: no libva, no driver, or no permission to use the node.
        """
        if parent is not None:
            return cls._of_display(_displays.of_context(parent), parent)
        return cls.open(None if device is None else _displays.path_of(device))

    @classmethod
    def open(cls, node: str | None = None, *, tile: int | None = None) -> Self:
        """The context on a DRM node. A display is opened if no valid context has one there.

        Args:
            node: the path. By default that in the environment variable SAMEBYTES_VAAPI_DEVICE, else
                the first /dev/dri/renderD* for which there is a driver.
            tile: a sub-device of the GPU; by default the driver chooses.

        Raises:
            UnknownNameError: there is no such node or tile, or the file is not a DRM node.
            MissingDependencyError: no libva, no driver, or no permission to use the node.
        """
        return cls._of_display(_displays.on_node(node, tile))

    @classmethod
    def open_x11(cls, display_name: str | None = None) -> Self:
        """The context on an X server. A connection is opened if no valid context has one.

        Args:
            display_name: for instance ":0"; by default that in the environment, DISPLAY.

        Raises:
            MissingDependencyError: no libva, no server, or no driver.
        """
        return cls._of_display(_displays.on_x11(display_name))

    @classmethod
    def from_display(cls, display: Any, *, keep: object = None) -> Self:
        """The context over the user's own display, which samebytes never terminates.

        Args:
            display: an initialised VADisplay as an int, a `ctypes.c_void_p` or a PyCapsule, or a
                context of samebytes that has one.
            keep: an object to hold as long as the display is used here, for instance the one that
                terminates it. Without it, the display must live until this context is closed and
                its last surface is gone.

        Raises:
            LayoutError: the pointer is not that of a display, or the display was not initialised. A
                terminated display is refused if its memory shows it: libva frees that, and freed
                memory may hold anything.
            UnsupportedObjectError: it is not a pointer.
            MissingDependencyError: no libva.
        """
        if isinstance(display, Context):
            return cls._of_display(_displays.of_context(display), display)
        return cls._of_display(_displays.of_pointer(native_pointer(display, "a VADisplay"), keep))

    @classmethod
    def _of_display(cls, display: NativeDisplay, parent: Context | None = None) -> Self:
        context = _displays.context_of(display, lambda: cls(display, parent))
        assert isinstance(context, cls), "contexts of one node are of one class"
        return context

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why no surface can be such media, or return None."""
        if not isinstance(info, ImageInfo):
            return "surfaces are pictures"
        try:
            format_of(info.format)
        except UnknownNameError as error:
            return str(error)
        return None

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        *,
        modifiers: Sequence[int] = (),
        **says: Unpack[FrameSays],
    ) -> VAFrame:
        """A new surface, destroyed with its last holder. Its contents are undefined.

        Args:
            modifiers: layout modifiers of drm_fourcc.h among which the driver chooses: (0,) for
                memory in rows, which devices of other kinds can use. By default it is the
                driver's choice, on a GPU mostly tiled. Drivers without modifiers ignore it.
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have, or a modifier that is invalid.
            UnknownNameError: no such format, or VA-API has none.
            VAError: the driver has no such surfaces: `samebytes doctor vaapi` lists its formats.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        display = self.native_display()
        surface, storage = allocate(display, image, modifiers)
        native = VASurface(self, surface, image, storage, display)
        return VAFrame.owned(native, self, FrameMeta(image), storage)

    def surface(
        self,
        surface_id: int,
        format_: str | ImageFormat,
        width: int,
        height: int,
        *,
        keep: object = None,
    ) -> VAFrame:
        """A frame over a surface of the user, who destroys it after the last use.

        Args:
            surface_id: the VASurfaceID, of this display.
            format_, width, height: those of the picture, in pixels. VA-API does not report them;
                mappings compare them with the driver's information.
            keep: an object to hold as long as the surface is used, for instance the one that
                destroys it.

        Raises:
            LayoutError: not an id, or not a size.
            UnknownNameError: no such format, or VA-API has none.
            VAError: this display has no such surface.
        """
        self.check_open()
        image = ImageInfo(ImageFormat.of(format_), width, height)
        return VAFrame.wrap(self.import_surface(surface_id, image, keep=keep))

    def import_surface(self, surface_id: int, image: ImageInfo, *, keep: object) -> VASurface:
        """A native surface over an id, for mappers of other plugins whose target is "vaapi".

            surface = self.target.import_surface(surface_id, item.image, keep=reference)
            return surface, None, surface.storage

        Args:
            surface_id: the VASurfaceID, of this display.
            image: format and size of the picture.
            keep: an object that keeps the surface valid.

        Raises:
            LayoutError: not an id.
            UnknownNameError: VA-API has no such format.
            VAError: this display has no such surface.
        """
        display = self.native_display()
        format_of(image.format)
        number = valid_id(display, surface_id)
        storage = Storage(keep=(display, keep), wait=lambda: display.sync(number))
        return VASurface(self, number, image, storage, display)

    def processor(self) -> Processor:
        """The video processing of the display, for this package; made once.

        Raises:
            VAError: the driver has none.
            ClosedError: its display belongs to the process before fork().
        """
        display = self.native_display()
        if self._processor is None:
            self._processor = Processor(display)
        return self._processor

    def native_display(self) -> NativeDisplay:
        """The display, for this package.

        Raises:
            ClosedError: its display is of the process before fork().
        """
        display = self._display
        display.resources.check()
        return display
