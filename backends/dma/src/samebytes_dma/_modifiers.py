# SPDX-License-Identifier: Apache-2.0
"""DRM layout modifiers: linear, or tiled in a way that only devices understand."""

from __future__ import annotations

from samebytes.formats import DRM_FORMAT_MOD_INVALID, DRM_FORMAT_MOD_LINEAR, is_linear_modifier

__all__ = [
    "INVALID",
    "LINEAR",
    "is_tiled",
    "keeps_every_bit",
    "modifier_name",
]

LINEAR = DRM_FORMAT_MOD_LINEAR
"""Rows one after another."""
INVALID = DRM_FORMAT_MOD_INVALID
"""Not known: by convention rows, or a layout that the exporter's driver knows by other means."""

# drm/drm_fourcc.h: fourcc_mod_get_vendor().
_VENDOR_SHIFT = 56
_ARM = 0x08
_VENDORS = {
    0x01: "Intel",
    0x02: "AMD",
    0x03: "NVIDIA",
    0x04: "Samsung",
    0x05: "Qualcomm",
    0x06: "Vivante",
    0x07: "Broadcom",
    _ARM: "Arm",
    0x09: "Allwinner",
    0x0A: "Amlogic",
}


def is_tiled(modifier: int) -> bool:
    """True if the memory has no linear rows that the CPU could read one after another."""
    return not is_linear_modifier(modifier)


def keeps_every_bit(modifier: int) -> bool:
    """True if an image takes at least the bytes of its elements.

    Compression saves bandwidth, not memory, except for Arm's fixed rate compression (AFRC).
    """
    return modifier >> _VENDOR_SHIFT != _ARM


def modifier_name(modifier: int) -> str:
    """A modifier in words: "linear", "unknown", or the number with its vendor."""
    if modifier == LINEAR:
        return "linear"
    if modifier == INVALID:
        return "unknown"
    vendor = _VENDORS.get(modifier >> _VENDOR_SHIFT, "unknown vendor")
    return f"{modifier:#018x}, {vendor}"
