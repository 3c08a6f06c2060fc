# SPDX-License-Identifier: Apache-2.0
"""Memory of file descriptors in OpenCL buffers and images (cl_khr_external_memory_dma_buf)."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samebytes_softdevices import gpu_live_imports

pytestmark = pytest.mark.usefixtures("no_leak")

INVALID_VALUE = -30
INVALID_MEM_OBJECT = -38
INVALID_BUFFER_SIZE = -61
INVALID_PROPERTY = -64
INVALID_IMAGE_DESCRIPTOR = -65
SIZE = 8192


@pytest.fixture
def fd() -> Iterator[int]:
    fd = os.memfd_create("memory")
    os.truncate(fd, SIZE)
    yield fd
    os.close(fd)


@pytest.fixture
def view(fd: int) -> Iterator[mmap.mmap]:
    with mmap.mmap(fd, SIZE) as view:
        yield view


@pytest.fixture
def buffer(cl: Any, context: Any, opencl: Any, fd: int) -> Iterator[Any]:
    handle, error = opencl.buffer_of_fd(context.int_ptr, fd, SIZE)
    assert error == 0
    buffer = cl.Buffer.from_int_ptr(handle, retain=False)
    yield buffer
    buffer.release()


def test_both_sides_see_what_the_other_writes(
    cl: Any,
    np: Any,
    build: Callable[[Any, str], Any],
    queue: Any,
    opencl: Any,
    buffer: Any,
    view: mmap.mmap,
) -> None:
    view[:SIZE] = bytes(range(256)) * (SIZE // 256)
    hands = ("clEnqueueAcquireExternalMemObjectsKHR", "clEnqueueReleaseExternalMemObjectsKHR")
    assert opencl.change_hands(hands[0], queue.int_ptr, buffer.int_ptr) == 0
    read = np.empty(SIZE, np.uint8)
    cl.enqueue_copy(queue, read, buffer)
    assert bytes(read) == view[:SIZE]
    program = build(
        queue.context,
        "kernel void invert(global uchar *p) { p[get_global_id(0)] = ~p[get_global_id(0)]; }",
    )
    cl.Kernel(program, "invert")(queue, (SIZE,), None, buffer)
    assert opencl.change_hands(hands[1], queue.int_ptr, buffer.int_ptr) == 0
    queue.finish()
    assert bytes(~read) == view[:SIZE]


def test_the_descriptor_stays_the_programs(
    cl: Any, np: Any, context: Any, queue: Any, opencl: Any, view: mmap.mmap, fd: int
) -> None:
    own = os.dup(fd)
    handle, error = opencl.buffer_of_fd(context.int_ptr, own, SIZE)
    assert error == 0
    os.close(own)  # would fail if the import had closed it
    buffer = cl.Buffer.from_int_ptr(handle, retain=False)
    view[:4] = b"abcd"
    read = np.empty(4, np.uint8)
    cl.enqueue_copy(queue, read, buffer)
    assert bytes(read) == b"abcd"


def test_the_mapping_goes_with_the_last_reference(
    cl: Any, context: Any, queue: Any, opencl: Any
) -> None:
    fd = os.memfd_create("counted")
    os.truncate(fd, SIZE)

    def mappings() -> int:
        return Path("/proc/self/maps").read_text().count("memfd:counted")

    before = gpu_live_imports()
    for _ in range(100):
        handle, error = opencl.buffer_of_fd(context.int_ptr, fd, SIZE)
        assert error == 0
        buffer = cl.Buffer.from_int_ptr(handle, retain=False)
        part = buffer.get_sub_region(4096, 4096)
        assert gpu_live_imports() == before + 1
        buffer.release()
        assert mappings() == 1  # the sub-buffer still needs it
        cl.enqueue_fill_buffer(queue, part, b"\x01", 0, 4096)
        queue.finish()
        part.release()
        assert mappings() == 0
        assert gpu_live_imports() == before
    os.close(fd)


def test_it_looks_like_memory_of_a_driver(cl: Any, buffer: Any, opencl: Any, fd: int) -> None:
    assert buffer.flags == cl.mem_flags.READ_WRITE
    assert buffer.get_info(cl.mem_info.SIZE) == SIZE
    query = opencl.loader.clGetMemObjectInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    pointer = ctypes.c_void_p(1)
    assert query(buffer.int_ptr, 0x1103, 8, ctypes.byref(pointer), None) == 0  # CL_MEM_HOST_PTR
    assert pointer.value is None
    properties = (ctypes.c_uint64 * 3)()
    assert query(buffer.int_ptr, 0x110A, 24, properties, None) == 0  # CL_MEM_PROPERTIES
    assert list(properties) == [0x2067, fd, 0]


@pytest.mark.parametrize(("size", "error"), [(SIZE + 1, INVALID_BUFFER_SIZE), (0, -61)])
def test_more_than_the_descriptor_has_is_refused(
    context: Any, opencl: Any, fd: int, size: int, error: int
) -> None:
    assert opencl.buffer_of_fd(context.int_ptr, fd, size) == (0, error)


def test_less_than_the_descriptor_has_is_taken(context: Any, cl: Any, opencl: Any, fd: int) -> None:
    handle, error = opencl.buffer_of_fd(context.int_ptr, fd, 100)
    assert error == 0
    buffer = cl.Buffer.from_int_ptr(handle, retain=False)
    assert buffer.size == 100
    buffer.release()


def test_what_cannot_be_mapped_is_refused(context: Any, opencl: Any) -> None:
    assert opencl.buffer_of_fd(context.int_ptr, 10_000, SIZE) == (0, INVALID_PROPERTY)
    reading, writing = os.pipe()
    assert opencl.buffer_of_fd(context.int_ptr, reading, SIZE) == (0, INVALID_PROPERTY)
    os.close(reading)
    os.close(writing)


def test_a_descriptor_for_reading_only_is_refused(
    context: Any, opencl: Any, tmp_path: Path
) -> None:
    file = tmp_path / "memory"
    file.write_bytes(bytes(SIZE))
    with file.open("rb") as reading:
        made = opencl.buffer_of_fd(context.int_ptr, reading.fileno(), SIZE)
    assert made == (0, INVALID_PROPERTY)


def test_host_memory_besides_is_refused(context: Any, opencl: Any, fd: int) -> None:
    use_host_ptr = 1 << 3
    memory = ctypes.create_string_buffer(SIZE)
    address = ctypes.addressof(memory)
    create = opencl.buffer_of_fd
    assert create(context.int_ptr, fd, SIZE, use_host_ptr, address) == (0, INVALID_VALUE)
    assert create(context.int_ptr, fd, SIZE, 1, address) == (0, INVALID_VALUE)


def test_properties_nobody_knows_are_refused(context: Any, opencl: Any, fd: int) -> None:
    for properties in ([0x2060, fd, 0], [0x2067, fd, 0x7777, 1, 0], [0x2067, fd, 0x2067, fd, 0]):
        array = (ctypes.c_uint64 * len(properties))(*properties)
        assert opencl.buffer_with(context.int_ptr, array, SIZE) == (0, INVALID_PROPERTY)


def test_a_list_of_devices_may_be_given(
    cl: Any, context: Any, device: Any, opencl: Any, fd: int
) -> None:
    array = (ctypes.c_uint64 * 6)(0x2051, device.int_ptr, 0, 0x2067, fd, 0)
    handle, error = opencl.buffer_with(context.int_ptr, array, SIZE)
    assert error == 0
    cl.Buffer.from_int_ptr(handle, retain=False).release()


def test_buffers_without_a_descriptor_are_the_runtimes(cl: Any, context: Any, opencl: Any) -> None:
    before = gpu_live_imports()
    handle, error = opencl.buffer_with(context.int_ptr, (ctypes.c_uint64 * 1)(0), SIZE)
    assert error == 0
    assert gpu_live_imports() == before
    cl.Buffer.from_int_ptr(handle, retain=False).release()


def test_only_imported_memory_changes_hands(cl: Any, context: Any, queue: Any, opencl: Any) -> None:
    plain = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    acquire = "clEnqueueAcquireExternalMemObjectsKHR"
    assert opencl.change_hands(acquire, queue.int_ptr, plain.int_ptr) == INVALID_MEM_OBJECT
    assert opencl.change_hands(acquire, queue.int_ptr) == 0


def test_an_image_lies_over_the_rows_of_the_descriptor(
    cl: Any, np: Any, context: Any, queue: Any, opencl: Any, fd: int, view: mmap.mmap
) -> None:
    width, height, pitch = 48, 32, 64
    handle, error = opencl.image_of_fd(context.int_ptr, fd, width, height, pitch)
    assert error == 0
    image = cl.Image.from_int_ptr(handle, retain=False)
    rows = np.frombuffer(view, np.uint8)[: height * pitch].reshape(height, pitch)
    rows[:, :width] = np.arange(width * height).reshape(height, width) % 251
    read = np.empty((height, width), np.uint8)
    cl.enqueue_copy(queue, read, image, origin=(0, 0), region=(width, height))
    assert (read == rows[:, :width]).all()
    cl.enqueue_copy(queue, image, read + 1, origin=(0, 0), region=(width, height))
    assert (rows[:, :width] == read + 1).all()
    assert not rows[:, width:].any()
    image.release()
    del rows


def test_images_that_do_not_fit_are_refused(context: Any, opencl: Any, fd: int) -> None:
    create = opencl.image_of_fd
    assert create(context.int_ptr, fd, 64, 129, 64) == (0, INVALID_BUFFER_SIZE)
    assert create(context.int_ptr, fd, 64, 1 << 62, 64) == (0, INVALID_IMAGE_DESCRIPTOR)
    assert create(context.int_ptr, fd, 64, 32, 0) == (0, INVALID_IMAGE_DESCRIPTOR)
    # The runtime itself refuses rows that overlap; the mapping must not stay behind.
    before = gpu_live_imports()
    handle, error = create(context.int_ptr, fd, 64, 32, 32)
    assert handle == 0
    assert error < 0
    assert gpu_live_imports() == before
