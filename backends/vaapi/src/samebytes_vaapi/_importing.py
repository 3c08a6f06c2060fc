# SPDX-License-Identifier: Apache-2.0
"""Surfaces over memory behind file descriptors: made, and owned until the last user is gone."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_size_t
from functools import partial

from samebytes import Storage
from samebytes.errors import LayoutError, NativeError
from samebytes.formats import DRM_FORMAT_MOD_INVALID, DRM_FORMAT_MOD_LINEAR, drm_layer_fourccs

from ._abi import constants as va
from ._abi.structures import (
    VADRMPRIMESurfaceDescriptor,
    VASurfaceAttrib,
    VASurfaceAttribExternalBuffers,
)
from ._creation import create, pointer_to, whole
from ._display import NativeDisplay
from ._formats import format_of
from ._layout import SurfaceLayout
from ._library import VAError

__all__ = ["Imported", "import_layout"]

_IN_ROWS = (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)
_MOST_BYTES = 0xFFFFFFFF


class Imported:
    """A surface over memory of another owner. It is destroyed when the last holder is gone.

    The driver holds the memory itself, so nothing of its source needs to be held.

    Attributes:
        surface: the VASurfaceID.
    """

    __slots__ = ("_display", "_owner", "surface")

    def __init__(self, display: NativeDisplay, surface: int, owner: Storage) -> None:
        self.surface = surface
        self._display = display
        self._owner = owner

    def mapping(self) -> Storage:
        """An owner for one mapping of the import.

        Each mapping has an owner of its own, since an import may outlive its mappings, and must not
        hold the source that each of them holds.
        """
        return Storage(holds=self, wait=partial(self._display.sync, self.surface))


def import_layout(display: NativeDisplay, layout: SurfaceLayout) -> tuple[int, Storage]:
    """A surface over the memory of a layout that was checked: its id, and its owner.

    No descriptor is kept.

    Raises:
        LayoutError: VA-API cannot describe it.
        NativeError: the driver refuses each description; the message has them all.
    """
    # Only text: an error that is kept keeps this frame, and so itself, and the objects in it.
    failures: list[str] = []
    code = 0
    for what, attributes in _descriptions(layout):
        try:
            return create(display, layout.image, attributes)
        except VAError as error:
            failures.append(f"{what}: {error.status}")
            code = error.code
    if not failures:
        raise LayoutError(f"VA-API cannot describe {layout}")
    raise NativeError("vaCreateSurfaces", code, "; ".join(failures))


def _descriptions(layout: SurfaceLayout) -> Iterator[tuple[str, list[VASurfaceAttrib]]]:
    """The ways to describe it, most precise first. Each keeps its structures until the next one."""
    image = layout.image
    if image.format.fourcc is not None:
        composed = _prime2(layout, (image.format.fourcc,))
        yield "as one layer", _external(va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, composed)
    try:
        codes = drm_layer_fourccs(image.format)
    except LayoutError:
        codes = ()
    if len(codes) > 1 or (codes and image.format.fourcc is None):
        separate = _prime2(layout, codes)
        yield "as layers", _external(va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, separate)
    if len(layout.objects) == 1 and layout.objects[0].modifier in _IN_ROWS:
        # It cannot express a modifier: tiles that were read so would be wrong numbers.
        old = _prime1(layout)
        yield "in the old way", _external(va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, old)


def _external(
    memory_type: int, descriptor: VADRMPRIMESurfaceDescriptor | VASurfaceAttribExternalBuffers
) -> list[VASurfaceAttrib]:
    return [
        whole(va.VASurfaceAttribMemoryType, memory_type),
        pointer_to(va.VASurfaceAttribExternalBufferDescriptor, descriptor),
    ]


def _prime2(layout: SurfaceLayout, codes: tuple[int, ...]) -> VADRMPRIMESurfaceDescriptor:
    """A descriptor for memory of any layout: one layer for all planes, or one for each."""
    image = layout.image
    described = VADRMPRIMESurfaceDescriptor(
        fourcc=format_of(image.format).fourcc,
        width=image.width,
        height=image.height,
        num_objects=len(layout.objects),
        num_layers=len(codes),
    )
    for target, source in zip(described.objects, layout.objects, strict=False):
        target.fd = source.fd
        target.size = min(source.size, _MOST_BYTES)
        target.drm_format_modifier = source.modifier
    in_each = len(layout.places) // len(codes)
    for number, code in enumerate(codes):
        layer = described.layers[number]
        layer.drm_format = code
        layer.num_planes = in_each
        places = layout.places[number * in_each : (number + 1) * in_each]
        for index, place in enumerate(places):
            layer.object_index[index], layer.offset[index], layer.pitch[index] = place
    return described


def _prime1(layout: SurfaceLayout) -> VASurfaceAttribExternalBuffers:
    """For rows in one object: what drivers knew before VA-API 1.1, and some still want."""
    image, (memory,) = layout.image, layout.objects
    described = VASurfaceAttribExternalBuffers(
        pixel_format=format_of(image.format).fourcc,
        width=image.width,
        height=image.height,
        data_size=min(memory.size, _MOST_BYTES),
        num_planes=len(layout.places),
        buffers=(c_size_t * 1)(memory.fd),
        num_buffers=1,
    )
    for index, place in enumerate(layout.places):
        described.offsets[index], described.pitches[index] = place.offset, place.pitch
    return described
