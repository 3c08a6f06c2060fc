# SPDX-License-Identifier: Apache-2.0
"""Memory that the plugin wrongly accepts is refused before it sees it, by the property at fault."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino.intel_gpu import (
    ClContext,
    ForeignMemoryError,
    PropertyError,
    VirtualAddressMemory,
)

Array = np.ndarray[Any, Any]
SHAPE = (1, 16)


@pytest.fixture
def refused(context: Any) -> Callable[..., None]:
    """Asserts that create_tensor refuses some memory because of one property."""

    def call(memory: Any, key: str, message: str, shape: Any = SHAPE, type_: Any = "f") -> None:
        dtype = "float32" if type_ == "f" else type_
        with pytest.raises(SamebytesError, match=message) as error:
            context.create_tensor(dtype, shape, memory)
        assert isinstance(error.value, PropertyError | ForeignMemoryError)
        assert error.value.property == key
        assert str(error.value).startswith(f"{key}: ")

    return call


@pytest.fixture
def pages() -> Array:
    return np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.uint8)


def test_a_tensor_larger_than_its_buffer(refused: Any, buffer_of: Any) -> None:
    small = buffer_of(np.zeros(15, np.float32))
    refused(small, "MEM_HANDLE", "the buffer has 60 bytes, but the tensor has 64")


def test_a_buffer_of_another_context(refused: Any, cl: Any, cl_device: Any) -> None:
    other = cl.Context([cl_device])
    buffer = cl.Buffer(other, cl.mem_flags.READ_WRITE, 64)
    refused(buffer, "MEM_HANDLE", "belongs to cl_context")
    with pytest.raises(DeviceMismatchError):
        ClContext.default().create_tensor("float32", SHAPE, buffer)


def test_released_and_wild_handles(refused: Any, cl: Any, cl_context: Any) -> None:
    buffer = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 64)
    buffer.release()
    refused(buffer, "MEM_HANDLE", "released")
    for handle in (0x1000, 1 << 46, 12345):
        refused(handle, "MEM_HANDLE", "no cl_mem")
    refused(0, "MEM_HANDLE", "null")
    refused(ctypes.c_void_p(None), "MEM_HANDLE", "null")
    refused(1 << 80, "MEM_HANDLE", "is not an address")
    refused(-1, "MEM_HANDLE", "is not an address")


def test_an_image_as_a_buffer(context: Any, image_of: Any, planes: Any) -> None:
    y, _ = planes
    image = image_of(y)
    for memory in (image, image.int_ptr):
        with pytest.raises(PropertyError, match=r"uint8 \[1, height, width, 1 or 2\]"):
            context.create_tensor("float32", (1, 256), memory)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 32, 32, 2), "2 channels must have the format CL_RG"),
        ((1, 32, 16, 1), "32x32 pixels, but the tensor has 16x32"),
        ((1, 16, 32, 1), "32x32 pixels, but the tensor has 32x16"),
        ((32, 32), "planes uint8"),
        ((2, 16, 32, 1), "planes uint8"),
        ((1, 32, 32, 3), "planes uint8"),
    ],
)
def test_images_of_another_size_or_format(
    refused: Any, image_of: Any, planes: Any, shape: Any, message: str
) -> None:
    refused(image_of(planes[0]), "MEM_HANDLE", message, shape, "uint8")


def test_an_image_that_openvino_cannot_read(refused: Any, cl: Any, cl_context: Any) -> None:
    image = cl.create_image(
        cl_context,
        cl.mem_flags.READ_WRITE,
        cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT8),
        shape=(32, 32),
    )
    refused(image, "MEM_HANDLE", "CL_R / CL_UNORM_INT8, not order", (1, 32, 32, 1), "uint8")
    refused(image, "MEM_HANDLE", "planes uint8", (1, 32, 32, 1), "int8")


def test_nv12_images_that_do_not_fit(context: Any, image_of: Any, buffer_of: Any) -> None:
    y, uv = np.zeros((32, 32), np.uint8), np.zeros((16, 16, 2), np.uint8)
    for pair, message in (
        ((y, uv[:8]), "16x8 pixels, but the tensor has 16x16"),
        ((y[:31], uv), "even width and height, not 32x31"),
        ((y, y[:16, :16]), "CL_RG"),
        ((uv, uv[:8, :8]), "CL_R / CL_UNORM_INT8"),
    ):
        with pytest.raises(PropertyError, match=message):
            context.create_tensor_nv12(*map(image_of, pair))
    with pytest.raises(PropertyError, match="null"):
        context.create_tensor_nv12(0, image_of(uv))
    with pytest.raises(PropertyError, match="buffer, not a two-dimensional image"):
        context.create_tensor_nv12(image_of(y), buffer_of(uv))
    with pytest.raises(PropertyError, match="is a buffer, not a two-dimensional image"):
        context.create_tensor_nv12(buffer_of(y), image_of(uv))


def test_usm_with_too_little_room(refused: Any, usm_alloc: Any) -> None:
    pointer = usm_alloc("shared", 64)
    refused(pointer + 4, "MEM_HANDLE", "60 bytes lie between")
    refused(ctypes.c_void_p(pointer + 32), "MEM_HANDLE", "32 bytes lie between")


def test_pointers_that_are_not_usm_here(refused: Any, usm_alloc: Any, pages: Array) -> None:
    address = pages.__array_interface__["data"][0]
    refused(ctypes.c_void_p(address), "MEM_HANDLE", "is not USM of cl_context")
    pointer = usm_alloc("device", 64)
    with pytest.raises(ForeignMemoryError, match="is not USM of cl_context"):
        ClContext.default().create_tensor("float32", SHAPE, ctypes.c_void_p(pointer))


def test_cpu_memory_that_would_be_copied(refused: Any, pages: Array) -> None:
    address = pages.__array_interface__["data"][0]
    memory = VirtualAddressMemory
    refused(memory(pages[4:68]), "CPU_VA", "not a multiple of 64: the driver would work on a copy")
    refused(memory(address + 4, 64), "CPU_VA", "not a multiple of 64")
    refused(memory(pages[:60]), "CPU_VA_SIZE", "60 bytes are not a multiple of 64", (1, 15))
    refused(memory(address), "CPU_VA_SIZE", "at least 64 bytes", (1, 15))
    refused(memory(address, 100), "CPU_VA_SIZE", "100 bytes are not a multiple")


def test_cpu_memory_that_is_too_small_or_no_memory(refused: Any, pages: Array) -> None:
    memory = VirtualAddressMemory
    refused(memory(0), "CPU_VA", "null")
    refused(memory(pages[:32]), "CPU_VA_SIZE", "64 bytes are needed, but the memory has 32")
    refused(memory(pages, 32), "CPU_VA_SIZE", "32 bytes, but the tensor has 64")
    refused(memory(pages, -2), "CPU_VA_SIZE", "-2")
    refused(memory(pages[:128], 192), "CPU_VA_SIZE", "192 bytes are needed")
    refused(memory(pages, access="WRITE"), "CPU_VA_ACCESS", "neither READ nor")  # type: ignore[arg-type]
    refused(memory(pages), "CPU_VA_SIZE", "empty", (0, 16))


def test_read_only_arrays(context: Any, refused: Any, pages: Array) -> None:
    frozen = pages[:64].view(np.float32)
    frozen.setflags(write=False)
    refused(VirtualAddressMemory(frozen), "CPU_VA_ACCESS", 'access="READ"')
    assert context.create_tensor(
        "float32", SHAPE, VirtualAddressMemory(frozen, access="READ")
    ).readonly


def test_strided_host_memory(refused: Any, pages: Array) -> None:
    refused(VirtualAddressMemory(pages.reshape(64, 64)[:, :32]), "CPU_VA", "strides")


def test_what_is_neither_an_address_nor_a_buffer(context: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match=r"CPU_VA: .* not a str"):
        context.create_tensor("uint8", (64,), VirtualAddressMemory("pages"))


def test_arguments_that_are_nothing(context: Any) -> None:
    for memory in (np.zeros(16, np.float32), "buffer", object(), 1.5):
        with pytest.raises(TypeError, match=r"MEM_HANDLE: .* as a VirtualAddressMemory"):
            context.create_tensor("float32", SHAPE, memory)
    with pytest.raises(TypeError, match=r"use tensor\.map\(context\)"):
        context.create_tensor("float32", SHAPE, samebytes.tensor(np.zeros(16, np.float32)))
    with pytest.raises(LayoutError):
        context.create_tensor("float32", (1, -16))
    with pytest.raises(UnknownNameError):
        context.create_tensor("float33", SHAPE)
    with pytest.raises(UnknownNameError, match="element type of OpenVINO"):
        context.create_tensor("complex64", SHAPE)
    with pytest.raises(LayoutError, match="string"):
        context.create_tensor(openvino.Type.string, SHAPE)
