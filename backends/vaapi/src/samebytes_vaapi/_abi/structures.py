# SPDX-License-Identifier: Apache-2.0
"""Structures of va/va.h, va/va_vpp.h and va/va_drmcommon.h.

Structures that have no name there are named here after the field that they are the type of.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    Union,
    c_float,
    c_int,
    c_int8,
    c_int16,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

__all__ = [
    "VADRMFormatModifierList",
    "VADRMPRIMESurfaceDescriptor",
    "VADisplayAttribValSubDevice",
    "VADisplayAttribute",
    "VAGenericValue",
    "VAImage",
    "VAImageFormat",
    "VAProcColorProperties",
    "VAProcPipelineParameterBuffer",
    "VARectangle",
    "VASurfaceAttrib",
    "VASurfaceAttribExternalBuffers",
]


class _value(Union):
    _fields_ = [("i", c_int32), ("f", c_float), ("p", c_void_p), ("fn", c_void_p)]


class VAGenericValue(Structure):
    """A value of a surface attribute."""

    _fields_ = [("type", c_int), ("value", _value)]


class VASurfaceAttrib(Structure):
    """An attribute of a surface."""

    _fields_ = [("type", c_int), ("flags", c_uint32), ("value", VAGenericValue)]


class VASurfaceAttribExternalBuffers(Structure):
    """Memory that a surface is made of: for VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME."""

    _fields_ = [
        ("pixel_format", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("data_size", c_uint32),
        ("num_planes", c_uint32),
        ("pitches", c_uint32 * 4),
        ("offsets", c_uint32 * 4),
        ("buffers", POINTER(c_size_t)),
        ("num_buffers", c_uint32),
        ("flags", c_uint32),
        ("private_data", c_void_p),
    ]


class _objects(Structure):
    _fields_ = [("fd", c_int), ("size", c_uint32), ("drm_format_modifier", c_uint64)]


class _layers(Structure):
    _fields_ = [
        ("drm_format", c_uint32),
        ("num_planes", c_uint32),
        ("object_index", c_uint32 * 4),
        ("offset", c_uint32 * 4),
        ("pitch", c_uint32 * 4),
    ]


class VADRMPRIMESurfaceDescriptor(Structure):
    """A surface as DMA-BUFs: for VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, either way."""

    _fields_ = [
        ("fourcc", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("num_objects", c_uint32),
        ("objects", _objects * 4),
        ("num_layers", c_uint32),
        ("layers", _layers * 4),
    ]


class VADRMFormatModifierList(Structure):
    """The modifiers among which a driver chooses for a new surface."""

    _fields_ = [("num_modifiers", c_uint32), ("modifiers", POINTER(c_uint64))]


class VAImageFormat(Structure):
    """A format of images."""

    _fields_ = [
        ("fourcc", c_uint32),
        ("byte_order", c_uint32),
        ("bits_per_pixel", c_uint32),
        ("depth", c_uint32),
        ("red_mask", c_uint32),
        ("green_mask", c_uint32),
        ("blue_mask", c_uint32),
        ("alpha_mask", c_uint32),
        ("va_reserved", c_uint32 * 4),
    ]


class VAImage(Structure):
    """An image: where the planes lie in its buffer."""

    _fields_ = [
        ("image_id", c_uint32),
        ("format", VAImageFormat),
        ("buf", c_uint32),
        ("width", c_uint16),
        ("height", c_uint16),
        ("data_size", c_uint32),
        ("num_planes", c_uint32),
        ("pitches", c_uint32 * 3),
        ("offsets", c_uint32 * 3),
        ("num_palette_entries", c_int32),
        ("entry_bytes", c_int32),
        ("component_order", c_int8 * 4),
        ("va_reserved", c_uint32 * 4),
    ]


class VADisplayAttribute(Structure):
    """An attribute of a display."""

    _fields_ = [
        ("type", c_int),
        ("min_value", c_int32),
        ("max_value", c_int32),
        ("value", c_int32),
        ("flags", c_uint32),
        ("va_reserved", c_uint32 * 4),
    ]


class _bits(Structure):
    _fields_ = [
        ("current_sub_device", c_uint32, 4),
        ("sub_device_count", c_uint32, 4),
        ("reserved", c_uint32, 8),
        ("sub_device_mask", c_uint32, 16),
    ]


class VADisplayAttribValSubDevice(Union):
    """The value of VADisplayAttribSubDevice."""

    _fields_ = [("bits", _bits), ("value", c_uint32)]


class VARectangle(Structure):
    """A part of a surface, in pixels."""

    _fields_ = [("x", c_int16), ("y", c_int16), ("width", c_uint16), ("height", c_uint16)]


class VAProcColorProperties(Structure):
    """The meaning of the numbers of a surface, besides the standard of their colours."""

    _fields_ = [
        ("chroma_sample_location", c_uint8),
        ("color_range", c_uint8),
        ("colour_primaries", c_uint8),
        ("transfer_characteristics", c_uint8),
        ("matrix_coefficients", c_uint8),
        ("reserved", c_uint8 * 3),
    ]


class VAProcPipelineParameterBuffer(Structure):
    """The order to video processing: a surface, and the picture to make of it."""

    _fields_ = [
        ("surface", c_uint32),
        ("surface_region", POINTER(VARectangle)),
        ("surface_color_standard", c_int),
        ("output_region", POINTER(VARectangle)),
        ("output_background_color", c_uint32),
        ("output_color_standard", c_int),
        ("pipeline_flags", c_uint32),
        ("filter_flags", c_uint32),
        ("filters", c_void_p),
        ("num_filters", c_uint32),
        ("forward_references", c_void_p),
        ("num_forward_references", c_uint32),
        ("backward_references", c_void_p),
        ("num_backward_references", c_uint32),
        ("rotation_state", c_uint32),
        ("blend_state", c_void_p),
        ("mirror_state", c_uint32),
        ("additional_outputs", c_void_p),
        ("num_additional_outputs", c_uint32),
        ("input_surface_flag", c_uint32),
        ("output_surface_flag", c_uint32),
        ("input_color_properties", VAProcColorProperties),
        ("output_color_properties", VAProcColorProperties),
        ("processing_mode", c_int),
        ("output_hdr_metadata", c_void_p),
        ("va_reserved", c_uint32 * 16),
    ]
