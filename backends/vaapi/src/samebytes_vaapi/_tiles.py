# SPDX-License-Identifier: Apache-2.0
"""Sub-devices (tiles) of a GPU: VADisplayAttribSubDevice of va/va.h."""

from __future__ import annotations

from ctypes import byref
from operator import index

from samebytes.errors import LayoutError, UnknownNameError

from ._abi.constants import VA_ATTRIB_NOT_SUPPORTED, VADisplayAttribSubDevice
from ._abi.structures import VADisplayAttribute, VADisplayAttribValSubDevice
from ._display import NativeDisplay
from ._library import VAError

__all__ = ["choose_tile", "tiles_of"]


def tiles_of(display: NativeDisplay) -> tuple[int, ...]:
    """The numbers of the sub-devices that can be chosen; empty if the driver has none."""
    value = _value(display)
    if value is None:
        return ()
    bits = value.bits
    return tuple(n for n in range(bits.sub_device_count) if bits.sub_device_mask >> n & 1)


def choose_tile(display: NativeDisplay, tile: int) -> None:
    """Have a new display work on one sub-device. Call it before any other use of the display.

    Raises:
        LayoutError: not a number.
        UnknownNameError: there is no such sub-device.
        VAError: the driver refuses.
    """
    try:
        number = index(tile)
    except TypeError:
        raise LayoutError(f"a tile must be an integer, not {tile!r}") from None
    value, known = _value(display), tiles_of(display)
    if value is None or number not in known:
        advice = "" if known else f"({display.device} has no sub-devices: leave tile= out)"
        raise UnknownNameError("tile", str(tile), map(str, known), advice)
    value.bits.current_sub_device = number
    wanted = VADisplayAttribute(type=VADisplayAttribSubDevice, value=value.value)
    display.call("vaSetDisplayAttributes", byref(wanted), 1)


def _value(display: NativeDisplay) -> VADisplayAttribValSubDevice | None:
    attribute = VADisplayAttribute(type=VADisplayAttribSubDevice)
    try:
        display.call("vaGetDisplayAttributes", byref(attribute), 1)
    except VAError:
        return None
    # Some drivers know no attributes at all, and leave it as it was: no flags.
    if attribute.value & 0xFFFFFFFF in (0, VA_ATTRIB_NOT_SUPPORTED):
        return None
    return VADisplayAttribValSubDevice(value=attribute.value & 0xFFFFFFFF)
