# SPDX-License-Identifier: Apache-2.0
"""VA surfaces for tests, made by libva on the software VA-API driver, and written as arrays.

    with create_surface("NV12", 640, 480) as surface:
        y, uv = map(numpy.asarray, surface.planes)
        y[...] = 235
        context = openvino.VAContext(core, capsule_of(surface.display))
        tensors = context.create_tensor_nv12(surface.height, surface.width, surface.id)

They stand in for the surfaces that a decoder makes.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import threading
import weakref
from functools import cache
from types import TracebackType
from typing import Any

from samebytes_softdevices._plan import SoftDeviceError
from samebytes_softdevices._va import DRIVER, NODE
from samebytes_softdevices._va_abi import (
    EXPORT_READ_WRITE,
    EXPORT_SEPARATE_LAYERS,
    MEM_TYPE_DRM_PRIME_2,
    SUCCESS,
    SurfaceAttribute,
    SurfaceDescriptor,
    libva,
    libva_drm,
    pixel_format,
)

__all__ = ["Display", "Plane", "Surface", "create_surface", "shared_display"]

# The formats whose planes are arrays here, with the type of their elements. All have one plane of
# luma, and one of chroma pairs at half the width and height, rounded up.
_FORMATS = {"NV12": "|u1", "P010": "<u2", "P016": "<u2"}


def _check(status: int, what: str) -> None:
    if status != SUCCESS:
        reason = libva().vaErrorStr(status).decode()
        raise SoftDeviceError(f"{what} failed with {status}: {reason}")


class Plane:
    """A plane of a surface, for `numpy.asarray` and other users of the array interface.

    The array lies over the surface's memory, and keeps it alive.

    Attributes:
        __array_interface__: Address, shape (height, width) or (height, width, 2), strides in
            bytes, and type (https://numpy.org/doc/stable/reference/arrays.interface.html).
    """

    __slots__ = ("__array_interface__", "__weakref__", "_mapping")

    def __init__(self, mapping: mmap.mmap, interface: dict[str, Any]) -> None:
        """Take the values that Surface found."""
        self._mapping = mapping
        self.__array_interface__ = interface


class Surface:
    """A surface. It lives until close(), or the end of a with block.

    Attributes:
        display: The VADisplay, as an address.
        id: The VASurfaceID.
        width: In pixels.
        height: In pixels.
        planes: Its memory, for arrays that keep it alive by themselves; none after close().
    """

    __slots__ = (
        "__weakref__",
        "_finalizer",
        "_owner",
        "display",
        "height",
        "id",
        "planes",
        "width",
    )

    def __init__(self, owner: Display, surface_id: int, width: int, height: int) -> None:
        """Take a surface that create_surface made."""
        # The finalizer holds the display, which must not end before its surfaces.
        self._owner, self.display, self.id = owner, owner.address, surface_id
        self.width, self.height = width, height
        self._finalizer = weakref.finalize(self, owner._destroy, surface_id)
        self.planes: tuple[Plane, ...] = _planes(self.display, surface_id)

    def close(self) -> None:
        """Destroy the surface; again, do nothing. Arrays and OpenCL images keep its memory."""
        self._finalizer()
        self.planes = ()

    def __enter__(self) -> Surface:
        """Return the surface."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


class Display:
    """A VADisplay of the software VA-API driver. It lives until close().

    Raises SoftDeviceError if the driver is not active in this process.

    Attributes:
        address: The VADisplay.
    """

    __slots__ = ("_fd", "_lock", "address")

    def __init__(self) -> None:
        """Open and initialise a display of its own."""
        if os.environ.get("LIBVA_DRIVER_NAME", "") + "_drv_video.so" != DRIVER:
            raise SoftDeviceError(
                "the software VA-API driver is not active in this process: run it with "
                "`samebytes-softdevices run --vaapi -- COMMAND`, or with "
                "`pytest --softdevices=vaapi`"
            )
        # Taken again by finalizers of surfaces, which may run at any moment in the same thread.
        self._lock = threading.RLock()
        self._fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)
        found = libva_drm().vaGetDisplayDRM(self._fd)
        version = ctypes.c_int(), ctypes.c_int()
        try:
            if not found:
                raise SoftDeviceError(f"libva has no display for {NODE}")
            _check(libva().vaInitialize(found, *map(ctypes.byref, version)), "vaInitialize")
        except SoftDeviceError:
            if found:
                libva().vaTerminate(found)
            os.close(self._fd)
            raise
        self.address: int = found

    def create_surface(self, format: str, width: int, height: int) -> Surface:
        """Make a surface of zeros.

        Args:
            format: "NV12", "P010" or "P016".
            width: In pixels.
            height: In pixels.

        Returns:
            The surface. It is destroyed by its close(), or with its last reference.

        Raises:
            SoftDeviceError: the planes of the format are not arrays, or the driver refuses it.
        """
        if format not in _FORMATS:
            raise SoftDeviceError(f"the planes of {format} are not arrays; use NV12, P010 or P016")
        made = ctypes.c_uint()
        attributes = (SurfaceAttribute * 1)(pixel_format(format))
        # VA_RT_FORMAT_* is 0: the pixel format says everything.
        status = libva().vaCreateSurfaces(
            self.address, 0, width, height, ctypes.byref(made), 1, attributes, 1
        )
        _check(status, f"vaCreateSurfaces of {format} {width}x{height}")
        return Surface(self, made.value, width, height)

    def close(self) -> None:
        """End the display, and with it the surfaces that are left. A second call does nothing."""
        with self._lock:
            address, self.address = self.address, 0
            if not address:
                return
            libva().vaTerminate(address)
            os.close(self._fd)

    def _destroy(self, surface_id: int) -> None:
        with self._lock:
            if self.address:
                number = ctypes.c_uint(surface_id)
                libva().vaDestroySurfaces(self.address, ctypes.byref(number), 1)


_lock = threading.Lock()


def shared_display() -> Display:
    """Return the display of the surfaces that create_surface makes. It is closed at exit.

    Returns:
        The display, one for the whole process.

    Raises:
        SoftDeviceError: the software VA-API driver is not active in this process.
    """
    with _lock:
        return _open_display()


@cache
def _open_display() -> Display:
    display = Display()
    atexit.register(display.close)
    return display


def create_surface(format: str, width: int, height: int) -> Surface:
    """Make a surface on the shared display; otherwise like Display.create_surface.

    Args:
        format: such as "NV12".
        width: pixels in a row.
        height: rows.

    Returns:
        The surface. It is destroyed by its close(), or with its last reference.
    """
    return shared_display().create_surface(format, width, height)


def _planes(display: int, surface_id: int) -> tuple[Plane, ...]:
    """Export the surface and map it."""
    exported = SurfaceDescriptor()
    status = libva().vaExportSurfaceHandle(
        display,
        surface_id,
        MEM_TYPE_DRM_PRIME_2,
        EXPORT_READ_WRITE | EXPORT_SEPARATE_LAYERS,
        ctypes.byref(exported),
    )
    _check(status, f"vaExportSurfaceHandle of surface {surface_id}")
    objects = exported.objects[: exported.num_objects]
    try:
        if any(item.drm_format_modifier for item in objects):
            raise SoftDeviceError(f"surface {surface_id} is tiled: its planes are not arrays")
        mappings = [mmap.mmap(item.fd, item.size) for item in objects]
    finally:
        for item in objects:
            os.close(item.fd)
    return tuple(
        _plane(exported, number, mappings[exported.layers[number].object_index[0]])
        for number in range(exported.num_layers)
    )


def _plane(exported: SurfaceDescriptor, number: int, mapping: mmap.mmap) -> Plane:
    layer = exported.layers[number]
    kind = _FORMATS[exported.fourcc.to_bytes(4, "little").decode("ascii")]
    item = int(kind[2])
    shape: tuple[int, ...] = (exported.height, exported.width)
    strides: tuple[int, ...] = (layer.pitch[0], item)
    if number:
        shape = ((exported.height + 1) // 2, (exported.width + 1) // 2, 2)
        strides = (layer.pitch[0], 2 * item, item)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping)) + layer.offset[0]
    return Plane(
        mapping,
        {
            "version": 3,
            "typestr": kind,
            "shape": shape,
            "strides": strides,
            "data": (address, False),
        },
    )
