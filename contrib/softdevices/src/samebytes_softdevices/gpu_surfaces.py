# SPDX-License-Identifier: Apache-2.0
"""VA surfaces for the software GPU, made of arrays.

The device offers cl_intel_va_api_media_sharing. Here a test says which memory the surfaces of a
display are:

    with register_nv12(y, uv) as surface:
        context = openvino.VAContext(core, capsule_of(surface.display))
        tensors = context.create_tensor_nv12(surface.height, surface.width, surface.id)
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import threading
from types import TracebackType
from typing import Any, Protocol

from samebytes_softdevices._gpu_layer import layer
from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["DISPLAY", "Surface", "register_nv12", "register_p010"]

# A VADisplay is a pointer. Nothing reads what it points to, but it should point to something.
_DISPLAY_MEMORY = ctypes.create_string_buffer(64)
DISPLAY: int = ctypes.addressof(_DISPLAY_MEMORY)

# Arrays of surfaces by the surfaces' numbers: their memory must stay while the layer may use it.
_kept: dict[int, tuple[object, object]] = {}
# The numbers among them whose surfaces were closed.
_closed: set[int] = set()
_lock = threading.Lock()
_ids = itertools.count(1)


class Array(Protocol):
    """What numpy arrays are, as far as it is needed here."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Address, shape, strides and type of the elements."""


class Surface:
    """A registered surface. It stays until close(), or the end of a with block.

    Attributes:
        display: The VADisplay, as an address.
        id: The VASurfaceID.
        width: In pixels.
        height: In pixels.
    """

    __slots__ = ("_number", "display", "height", "id", "width")

    def __init__(self, display: int, surface_id: int, width: int, height: int, number: int) -> None:
        """Take what register_nv12 found."""
        self.display, self.id, self.width, self.height = display, surface_id, width, height
        self._number = number

    @property
    def live_images(self) -> int:
        """How many OpenCL images of the surface live, also after close()."""
        return int(layer().softgpu_va_live_images(self._number))

    def close(self) -> None:
        """Forget the surface, so that no new images can be made of it.

        Images that live keep its memory, as with a VA-API driver. Doing it again does nothing.
        """
        with _lock:
            # The same id may be that of a newer surface.
            if self._number in _kept and self._number not in _closed:
                layer().softgpu_va_unregister_surface(self.display, self.id)
                _closed.add(self._number)
            _let_go()

    def __enter__(self) -> Surface:
        """Give the surface."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


def _let_go() -> None:
    """Drop the arrays that nothing uses any more. To be called with the lock held."""
    for number in [n for n in _closed if not layer().softgpu_va_surface_alive(n)]:
        _closed.discard(number)
        del _kept[number]


def register_nv12(
    y: Array, uv: Array, *, display: int = DISPLAY, surface_id: int | None = None
) -> Surface:
    """Say that these two planes are an NV12 surface.

    Args:
        y: uint8, (height, width).
        uv: uint8, (height / 2, width / 2, 2), halves rounded up.
        display: The VADisplay that the surface belongs to, as an address.
        surface_id: Its VASurfaceID; without it one that no other surface has.

    Both arrays must be writable; rows may be padded. They are kept alive until the surface is
    closed and OpenCL has no images of it any more.

    Raises:
        ValueError: the arrays are not such planes.
        SoftDeviceError: the display has a surface of this id, or the software GPU is not on.
    """
    return _register(b"NV12", 1, y, uv, display, surface_id)


def register_p010(
    y: Array, uv: Array, *, display: int = DISPLAY, surface_id: int | None = None
) -> Surface:
    """Say that these two planes of uint16 are a P010 surface; else as register_nv12."""
    return _register(b"P010", 2, y, uv, display, surface_id)


def _register(
    fourcc: bytes, item: int, y: Array, uv: Array, display: int, surface_id: int | None
) -> Surface:
    y_address, y_pitch, (height, width) = _plane("y", y, item, axes=2)
    uv_address, uv_pitch, shape = _plane("uv", uv, item, axes=3)
    wanted = ((height + 1) // 2, (width + 1) // 2, 2)
    if shape != wanted:
        raise ValueError(f"uv has the shape {shape}; a y of {(height, width)} needs {wanted}")
    if surface_id is None:
        surface_id = next(_ids)
    pitches = (ctypes.c_size_t * 2)(y_pitch, uv_pitch)
    offsets = (ctypes.c_ssize_t * 2)(0, uv_address - y_address)
    with _lock:
        _let_go()
        number = layer().softgpu_va_register_surface(
            display,
            surface_id,
            int.from_bytes(fourcc, "little"),
            y_address,
            width,
            height,
            pitches,
            offsets,
        )
        if number == -errno.EEXIST:
            raise SoftDeviceError(
                f"the display has a surface {surface_id} already: close that first"
            )
        if number < 0:
            raise ValueError(f"the software GPU refuses the surface: {errno.errorcode[-number]}")
        _kept[number] = (y, uv)
    return Surface(display, surface_id, width, height, number)


def _plane(name: str, array: Array, item: int, axes: int) -> tuple[int, int, tuple[int, ...]]:
    """Give the address, pitch and shape of a plane.

    The array interface: https://numpy.org/doc/stable/reference/arrays.interface.html.
    """
    facts = array.__array_interface__
    shape: tuple[int, ...] = tuple(facts["shape"])
    address, readonly = facts["data"]
    if facts["typestr"][1:] != f"u{item}" or len(shape) != axes or 0 in shape:
        raise ValueError(
            f"{name} must be an array of uint{8 * item} with {axes} axes, and not empty; it is "
            f"{facts['typestr']} of the shape {shape}"
        )
    if readonly:
        raise ValueError(f"{name} is read-only; a surface can be written")
    strides = facts.get("strides")
    if strides is None:  # C order without gaps
        return address, item * _product(shape[1:]), shape
    inner = tuple(item * _product(shape[axis + 1 :]) for axis in range(1, axes))
    if tuple(strides[1:]) != inner or strides[0] < inner[0] * shape[1]:
        raise ValueError(
            f"the pixels of {name} must lie one after another in rows that follow each other; its "
            f"strides are {tuple(strides)}"
        )
    return address, strides[0], shape


def _product(numbers: tuple[int, ...]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result
