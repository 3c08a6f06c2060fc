# SPDX-License-Identifier: Apache-2.0
"""create_tensor over every kind of memory: the same bytes, and the CPU plugin's numbers."""

from __future__ import annotations

import ctypes
import gc
import mmap
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    NotHostVisibleError,
    UnknownNameError,
)
from samebytes_openvino.intel_gpu import (
    ClBufferTensor,
    ClImage2DTensor,
    FileDescriptor,
    OpenVINOError,
    SharedBufferHandle,
    USMTensor,
    VirtualAddressMemory,
)

Array = np.ndarray[Any, Any]
Run = Callable[[Any], Array]
SHAPE = (1, 16)


def at(address: int, count: int = 16) -> Array:
    """float32 numbers at an address."""
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


@pytest.fixture
def wanted(model: Any, numbers: Array, expected: Any) -> Array:
    result: Array = expected(model, [numbers])
    return result


def test_wrap_cl_mem(
    context: Any, buffer_of: Any, numbers: Array, shifted: Run, wanted: Array, cl: Any, queue: Any
) -> None:
    buffer = buffer_of(numbers)
    for memory in (buffer, buffer.int_ptr):
        tensor = context.create_tensor(openvino.Type.f32, SHAPE, memory)
        assert isinstance(tensor, ClBufferTensor)
        assert tensor.get() == buffer.int_ptr == tensor.handle("cl_mem")
        np.testing.assert_array_equal(shifted(tensor), wanted)
    cl.enqueue_fill_buffer(queue, buffer, np.float32(7), 0, 64).wait()
    assert (shifted(tensor) == 5).all()


def test_results_arrive_in_a_cl_mem(
    context: Any, cl: Any, cl_context: Any, buffer_of: Any, read: Any, numbers: Array, run: Any,
    model: Any, wanted: Array,
) -> None:  # fmt: skip
    out = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 64)
    tensors = {"x": buffer_of(numbers), "y": out}
    made = {k: context.create_tensor("float32", SHAPE, v) for k, v in tensors.items()}
    run(context, model, made)
    np.testing.assert_array_equal(read(out, np.empty(SHAPE, np.float32)), wanted)


def test_wrap_cl_buffer_that_is_a_part(
    context: Any, buffer_of: Any, cl_device: Any, numbers: Array, shifted: Run, wanted: Array
) -> None:
    offset = cl_device.mem_base_addr_align // 8
    whole = np.zeros(offset + 64, np.uint8)
    whole[offset:] = numbers.view(np.uint8)[0]
    part = buffer_of(whole).get_sub_region(offset, 64)
    tensor = context.create_tensor("float32", SHAPE, part)
    np.testing.assert_array_equal(shifted(tensor), wanted)


@pytest.mark.parametrize("kind", ["host", "device", "shared"])
@pytest.mark.parametrize("form", [int, ctypes.c_void_p])
def test_wrap_usm_pointer(
    context: Any, usm_alloc: Any, numbers: Array, shifted: Run, wanted: Array,
    kind: str, form: Any,
) -> None:  # fmt: skip
    pointer = usm_alloc(kind, 4096)
    for offset in (0, 256):
        tensor = context.create_tensor(np.float32, SHAPE, form(pointer + offset))
        assert isinstance(tensor, USMTensor)
        assert tensor.get() == pointer + offset == tensor.handle("usm_ptr")
        tensor.native.copy_from(openvino.Tensor(numbers))
        np.testing.assert_array_equal(shifted(tensor), wanted)
        if kind == "device":
            with pytest.raises(NotHostVisibleError):
                tensor.host_array()
            continue
        assert tensor.handle("data") == pointer + offset
        np.testing.assert_array_equal(tensor.host_array(), numbers)
        at(pointer + offset)[:] = 9
        assert (shifted(tensor) == 7).all()


def test_wrap_cl_image(context: Any, image_of: Any, planes: Any) -> None:
    y, _ = planes
    image = image_of(y)
    tensor = context.create_tensor("uint8", (1, 32, 32, 1), image)
    assert isinstance(tensor, ClImage2DTensor)
    assert tensor.get() == image.int_ptr
    assert tensor.strides is None
    read = openvino.Tensor(openvino.Type.u8, openvino.Shape([1, 32, 32, 1]))
    tensor.native.copy_to(read)
    np.testing.assert_array_equal(read.data[0, :, :, 0], y)
    with pytest.raises(NotHostVisibleError, match=r"use tensor\.map\('cpu'\)$"):
        tensor.host_array()


def test_wrap_shared_handle_is_passed_on(context: Any, tmp_path: Path) -> None:
    """The wheel's plugin is built without it, and says so."""
    with (tmp_path / "memory").open("wb") as file, pytest.raises(OpenVINOError) as error:
        context.create_tensor("float32", SHAPE, SharedBufferHandle(file.fileno()))
    assert "memory" in str(error.value).lower()


@pytest.mark.parametrize("form", ["array", "address"])
def test_wrap_cpu_pointer(
    context: Any, numbers: Array, shifted: Run, wanted: Array, form: str
) -> None:
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    array = np.frombuffer(pages, np.float32, 16).reshape(SHAPE)
    array[...] = numbers
    address = array.__array_interface__["data"][0]
    memory = VirtualAddressMemory(array) if form == "array" else VirtualAddressMemory(address, 64)
    tensor = context.create_tensor("float32", SHAPE, memory)
    assert isinstance(tensor, ClBufferTensor)
    assert tensor.params["CPU_VA"] == address
    np.testing.assert_array_equal(shifted(tensor), wanted)
    array[...] = 4
    assert (shifted(tensor) == 2).all()
    host = tensor.host_array()
    host[...] = 6
    assert (array == 6).all()


def test_results_arrive_in_cpu_memory(
    context: Any, buffer_of: Any, numbers: Array, run: Any, model: Any, wanted: Array
) -> None:
    out = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.float32, 16).reshape(SHAPE)
    x = context.create_tensor("float32", SHAPE, buffer_of(numbers))
    y = context.create_tensor("float32", SHAPE, VirtualAddressMemory(out))
    run(context, model, {"x": x, "y": y})
    np.testing.assert_array_equal(out, wanted)


def test_file_mapping(
    context: Any, tmp_path: Path, numbers: Array, shifted: Run, wanted: Array
) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(bytes(mmap.PAGESIZE) + numbers.tobytes())
    file = FileDescriptor(path, mmap.PAGESIZE)
    tensor = context.create_tensor("float32", SHAPE, file)
    assert tensor.readonly
    np.testing.assert_array_equal(shifted(tensor), wanted)
    writable = FileDescriptor(path, mmap.PAGESIZE, "READ_WRITE")
    tensor = context.create_tensor("float32", SHAPE, writable)
    tensor.host_array()[...] = 8
    del tensor
    gc.collect()
    assert (np.frombuffer(path.read_bytes()[mmap.PAGESIZE :], np.float32) == 8).all()


def test_file_mappings_that_cannot_be(context: Any, tmp_path: Path) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(bytes(60))
    for file, message in (
        (FileDescriptor(path), "has 60 bytes"),
        (FileDescriptor(path, 32), "offset 32 is not a multiple"),
        (FileDescriptor(path, -mmap.PAGESIZE), "offset"),
    ):
        with pytest.raises(LayoutError, match=message):
            context.create_tensor("float32", SHAPE, file)
    with pytest.raises(FileNotFoundError):
        context.create_tensor("float32", SHAPE, FileDescriptor(tmp_path / "none"))


def test_allocate_usm_host(context: Any, numbers: Array, shifted: Run, wanted: Array) -> None:
    tensor = context.create_usm_host_tensor("float32", SHAPE)
    assert isinstance(tensor, USMTensor)
    assert tensor.params["SHARED_MEM_TYPE"] == "USM_HOST_BUFFER"
    assert tensor.get() == tensor.handle("data") == tensor.handle("usm_ptr")
    tensor.host_array()[...] = numbers
    np.testing.assert_array_equal(at(tensor.get()), numbers[0])
    np.testing.assert_array_equal(shifted(tensor), wanted)


def test_allocate_usm_device(context: Any, numbers: Array, shifted: Run, wanted: Array) -> None:
    tensor = context.create_usm_device_tensor("float32", SHAPE)
    assert tensor.params["SHARED_MEM_TYPE"] == "USM_DEVICE_BUFFER"
    assert tensor.get() == tensor.params["MEM_HANDLE"]
    tensor.native.copy_from(openvino.Tensor(numbers))
    np.testing.assert_array_equal(shifted(tensor), wanted)


def test_allocate_cl_buffer(
    context: Any, cl: Any, read: Any, numbers: Array, shifted: Run, wanted: Array
) -> None:
    tensor = context.create_tensor("float32", SHAPE)
    assert isinstance(tensor, ClBufferTensor)
    tensor.native.copy_from(openvino.Tensor(numbers))
    buffer = cl.Buffer.from_int_ptr(tensor.get(), retain=True)
    np.testing.assert_array_equal(read(buffer, np.empty(SHAPE, np.float32)), numbers)
    np.testing.assert_array_equal(shifted(tensor), wanted)


def test_create_host_tensor(context: Any, core: Any, numbers: Array, model: Any) -> None:
    tensor = context.create_host_tensor("float32", SHAPE)
    assert tensor.memory_type == "openvino"
    assert tensor.context is samebytes.context("openvino")
    tensor.host_array()[...] = numbers
    compiled = core.compile_model(model, context.native, {"INFERENCE_PRECISION_HINT": "f32"})
    result = compiled([tensor.native])[0]
    np.testing.assert_array_equal(result, np.maximum(numbers - 2, 0))


def test_maps_of_properties(
    context: Any, buffer_of: Any, numbers: Array, shifted: Run, wanted: Array
) -> None:
    buffer = buffer_of(numbers)
    raw = {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": buffer.int_ptr}
    for properties in (raw, {**raw, "MEM_HANDLE": hex(buffer.int_ptr)}):
        tensor = context.create_tensor("float32", SHAPE, properties)
        assert isinstance(tensor, ClBufferTensor)
        np.testing.assert_array_equal(shifted(tensor), wanted)
    assert isinstance(
        context.create_tensor("float32", SHAPE, {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}),
        USMTensor,
    )


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("uint8", "uint8"),
        (np.float16, "float16"),
        (np.dtype("int32"), "int32"),
        (openvino.Type.bf16, "bfloat16"),
        (openvino.Type.u4, "uint4"),
        (samebytes.TensorInfo("int64", ()).dtype, "int64"),
    ],
)
def test_spellings_of_element_types(context: Any, spelling: Any, name: str) -> None:
    tensor = context.create_tensor(spelling, (2, 8))
    assert str(tensor.dtype) == name
    assert tensor.shape == (2, 8)
    # As it is read from OpenVINO, where nobody says it.
    assert samebytes.tensor(tensor.native).info == tensor.info


def test_params_are_python_values(context: Any) -> None:
    for made in (context, context.create_tensor("uint8", (4,))):
        assert {type(v) for v in made.params.values()} == {int, str}


def test_native_objects_of_the_users_are_wrapped(context: Any) -> None:
    native = context.native.create_tensor(openvino.Type.f32, openvino.Shape(SHAPE), {})
    tensor = samebytes.tensor(native)
    assert isinstance(tensor, ClBufferTensor)
    assert tensor.native is native
    assert tensor.context is context
    assert tensor.info == samebytes.TensorInfo("float32", SHAPE)


class Owner:
    """A cl_mem that somebody else's object holds."""

    def __init__(self, buffer: Any) -> None:
        self.int_ptr = buffer.int_ptr
        self.buffer = buffer


def test_what_was_passed_lives_as_long_as_the_native_object(context: Any, buffer_of: Any) -> None:
    owner = Owner(buffer_of(np.zeros(16, np.float32)))
    gone = weakref.ref(owner)
    tensor = context.create_tensor("float32", SHAPE, owner)
    del owner
    gc.collect()
    native = tensor.native
    del tensor
    gc.collect()
    assert gone() is not None
    del native
    gc.collect()
    assert gone() is None


def test_references_of_a_cl_mem(context: Any, cl: Any, buffer_of: Any) -> None:
    buffer = buffer_of(np.zeros(16, np.float32))

    def count() -> int:
        return int(buffer.get_info(cl.mem_info.REFERENCE_COUNT))

    tensor = context.create_tensor("float32", SHAPE, buffer)
    assert count() == 2
    tensor.close()
    del tensor
    gc.collect()
    assert count() == 1


def test_memory_made_with_read_only_flags_is_read_only(
    context: Any, cl: Any, cl_context: Any
) -> None:
    buffer = cl.Buffer(cl_context, cl.mem_flags.READ_ONLY, 64)
    assert context.create_tensor("float32", SHAPE, buffer).readonly


def test_closing_what_was_allocated(context: Any) -> None:
    tensor = context.create_usm_host_tensor("uint8", (64,))
    array = tensor.host_array()
    storage, native = weakref.ref(tensor.storage), weakref.ref(tensor.native)
    assert tensor.close() is False
    array[...] = 3
    assert (array == 3).all()
    del array
    assert storage() is None
    assert native() is None


def test_every_kind_of_map(context: Any, image_of: Any) -> None:
    image = image_of(np.zeros((4, 8), np.uint8))
    info = ("uint8", (1, 4, 8, 1))
    opaque = {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": image}
    assert isinstance(context.create_tensor(*info, opaque), ClImage2DTensor)
    usm = context.create_usm_host_tensor(*info)
    for pointer in (usm.handle("usm_ptr"), ctypes.c_void_p(usm.handle("usm_ptr"))):
        given = {"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": pointer}
        assert isinstance(context.create_tensor(*info, given), USMTensor)
    pages = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.uint8)
    memory = {"SHARED_MEM_TYPE": "CPU_VA", "CPU_VA": pages, "CPU_VA_SIZE": 64}
    context.create_tensor(*info, memory).host_array()[...] = 7
    assert (pages[:32] == 7).all()
    assert isinstance(context.create_tensor(*info, {}), ClBufferTensor)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"MEM_HANDLE": 1}, "SHARED_MEM_TYPE: it is missing"),
        ({"SHARED_MEM_TYP": "OCL_BUFFER"}, "property of the GPU.*did you mean 'SHARED_MEM_TYPE'"),
        ({"MEM_HANDEL": 1}, "property of the GPU.*did you mean 'MEM_HANDLE'"),
        ({"SHARED_MEM_TYPE": "OCL_BUFER"}, "did you mean 'OCL_BUFFER'"),
        ({"SHARED_MEM_TYPE": "OCL_BUFFER"}, "MEM_HANDLE: it must be given"),
        ({"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDEL": 1}, "did you mean 'MEM_HANDLE'"),
        ({"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": 0}, "is null"),
        ({"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": 0x1230}, "no cl_mem is at 0x1230"),
        ({"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": "pointer"}, "hexadecimal"),
        ({"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": 0x1230}, "not USM"),
        ({"SHARED_MEM_TYPE": "CPU_VA", "CPU_VA": 0x7FFF00000000}, "no 64 bytes of memory"),
        ({"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": "x"}, "hexadecimal"),
        ({"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": -1}, "not a descriptor"),
        ({"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 1, "VA_PLANE": 0}, "VAContext"),
    ],
)
def test_maps_are_checked_like_other_arguments(
    context: Any, properties: dict[str, Any], message: str
) -> None:
    """Unchecked, some of them end the process."""
    with pytest.raises((LayoutError, UnknownNameError, DeviceMismatchError), match=message):
        context.create_tensor("uint8", (1, 64), properties)
