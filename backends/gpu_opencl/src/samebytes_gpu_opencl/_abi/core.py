# SPDX-License-Identifier: Apache-2.0
"""CL/cl.h: functions called by address that pyopencl lacks, or has in another form."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

__all__ = [
    "CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT",
    "CL_DEVICE_IMAGE_PITCH_ALIGNMENT",
    "CL_DEVICE_LUID_KHR",
    "CL_DEVICE_LUID_VALID_KHR",
    "CL_DEVICE_PCI_BUS_INFO_KHR",
    "CL_DEVICE_UUID_KHR",
    "CL_INVALID_VALUE",
    "CL_LUID_SIZE_KHR",
    "CL_UUID_SIZE_KHR",
    "CREATORS",
    "PROTOTYPES",
    "cl_buffer_region",
    "cl_device_pci_bus_info_khr",
    "cl_image_desc",
    "cl_image_format",
]

CL_INVALID_VALUE = -30

# cl_khr_image2d_from_buffer, core in OpenCL 3.0
CL_DEVICE_IMAGE_PITCH_ALIGNMENT = 0x104A
CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT = 0x104B

# CL/cl_ext.h, cl_khr_device_uuid and cl_khr_pci_bus_info
CL_DEVICE_UUID_KHR = 0x106A
CL_DEVICE_LUID_VALID_KHR = 0x106C
CL_DEVICE_LUID_KHR = 0x106D
CL_UUID_SIZE_KHR = 16
CL_LUID_SIZE_KHR = 8
CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F


class cl_device_pci_bus_info_khr(Structure):
    """CL/cl_ext.h."""

    _fields_ = (
        ("pci_domain", c_uint32),
        ("pci_bus", c_uint32),
        ("pci_device", c_uint32),
        ("pci_function", c_uint32),
    )


class cl_buffer_region(Structure):
    """CL/cl.h: what clCreateSubBuffer takes."""

    _fields_ = (("origin", c_size_t), ("size", c_size_t))


class cl_image_format(Structure):
    """CL/cl.h."""

    _fields_ = (("image_channel_order", c_uint32), ("image_channel_data_type", c_uint32))


class cl_image_desc(Structure):
    """CL/cl.h. The last field is a union of `buffer` and `mem_object`."""

    _fields_ = (
        ("image_type", c_uint32),
        ("image_width", c_size_t),
        ("image_height", c_size_t),
        ("image_depth", c_size_t),
        ("image_array_size", c_size_t),
        ("image_row_pitch", c_size_t),
        ("image_slice_pitch", c_size_t),
        ("num_mip_levels", c_uint32),
        ("num_samples", c_uint32),
        ("mem_object", c_void_p),
    )


_WAIT_LIST = (c_uint32, c_void_p, c_void_p)
"""num_events_in_wait_list, event_wait_list, event."""

PROTOTYPES = {
    "clFinish": (c_void_p,),
    "clFlush": (c_void_p,),
    "clGetDeviceInfo": (c_void_p, c_uint32, c_size_t, c_void_p, POINTER(c_size_t)),
    "clGetMemObjectInfo": (c_void_p, c_uint32, c_size_t, c_void_p, POINTER(c_size_t)),
    "clRetainMemObject": (c_void_p,),
    "clReleaseMemObject": (c_void_p,),
    "clEnqueueUnmapMemObject": (c_void_p, c_void_p, c_void_p, *_WAIT_LIST),
    "clEnqueueWriteBuffer": (
        c_void_p, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, *_WAIT_LIST,
    ),
    "clEnqueueWriteBufferRect": (
        c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t,
        c_size_t, c_void_p, *_WAIT_LIST,
    ),
    "clEnqueueWriteImage": (
        c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p,
        *_WAIT_LIST,
    ),
    "clEnqueueSVMMap": (c_void_p, c_uint32, c_uint64, c_void_p, c_size_t, *_WAIT_LIST),
    "clEnqueueSVMUnmap": (c_void_p, c_void_p, *_WAIT_LIST),
}  # fmt: skip
"""Argument types of functions that return a cl_int."""

CREATORS = {
    "clCreateBuffer": (c_void_p, c_uint64, c_size_t, c_void_p),
    "clCreateSubBuffer": (c_void_p, c_uint64, c_uint32, c_void_p),
    "clCreateImage": (c_void_p, c_uint64, c_void_p, c_void_p, c_void_p),
    "clEnqueueMapBuffer": (
        c_void_p, c_void_p, c_uint32, c_uint64, c_size_t, c_size_t, *_WAIT_LIST,
    ),
    "clEnqueueMapImage": (
        c_void_p, c_void_p, c_uint32, c_uint64, c_void_p, c_void_p, POINTER(c_size_t),
        POINTER(c_size_t), *_WAIT_LIST,
    ),
}  # fmt: skip
"""Argument types of functions that return a handle or pointer; a cl_int* comes after them."""

RESULT = c_int32
