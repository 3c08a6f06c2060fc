# SPDX-License-Identifier: Apache-2.0
"""Buffers over the program's memory (CL_MEM_USE_HOST_PTR): in place from 64 bytes on."""

from __future__ import annotations

import ctypes
import gc
import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SIZE = 8192
OFFSETS = [0, 64, 128, 192]
FIXED = {64, 192}  # where the runtime works on a copy of read-only memory
ADD = (
    "kernel void add(global uchar *p, constant uchar *q) "
    "{ p[get_global_id(0)] += q[get_global_id(0)]; }"
)


@pytest.fixture
def live(layer_file: Path) -> Callable[[], int]:
    """Return a function that counts the living entries of the layer."""
    count = ctypes.CDLL(str(layer_file)).softgpu_live_host_pointers
    return lambda: int(count())


@pytest.fixture(autouse=True)
def no_entry_is_left(live: Callable[[], int]) -> Iterator[None]:
    before = live()
    yield
    gc.collect()
    assert live() == before


def at(np: Any, offset: int, size: int = SIZE) -> Any:
    """Memory that begins so many bytes after the beginning of a page."""
    memory = np.frombuffer(mmap.mmap(-1, size + 4096), np.uint8)
    assert memory.ctypes.data % 4096 == 0
    return memory[offset : offset + size]


@pytest.fixture(params=OFFSETS)
def host(np: Any, request: pytest.FixtureRequest) -> Any:
    return at(np, request.param)


def over(cl: Any, context: Any, host: Any, access: str = "READ_ONLY") -> Any:
    flags = getattr(cl.mem_flags, access) | cl.mem_flags.USE_HOST_PTR
    return cl.Buffer(context, flags, hostbuf=host)


@pytest.fixture(params=["READ_ONLY", "READ_WRITE"])
def buffer(
    cl: Any, context: Any, host: Any, request: pytest.FixtureRequest, live: Callable[[], int]
) -> Iterator[Any]:
    before = live()
    buffer = over(cl, context, host, request.param)
    fixed = request.param == "READ_ONLY" and host.ctypes.data % 4096 in FIXED
    assert live() - before == fixed
    yield buffer
    buffer.release()


@pytest.fixture
def add(cl: Any, build: Callable[[Any, str], Any], context: Any) -> Any:
    return cl.Kernel(build(context, ADD), "add")


def test_kernels_work_on_the_memory(queue: Any, buffer: Any, host: Any, add: Any) -> None:
    host[:] = 5
    add(queue, (SIZE,), None, buffer, buffer)
    queue.finish()
    assert (host == 10).all()
    host[:] = 6
    add(queue, (SIZE,), None, buffer, buffer)
    queue.finish()
    assert (host == 12).all()


def test_an_argument_can_change_to_other_memory(
    cl: Any, np: Any, context: Any, queue: Any, buffer: Any, host: Any, add: Any
) -> None:
    host[:] = 3
    plain = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    cl.enqueue_fill_buffer(queue, plain, b"\x01", 0, SIZE)
    for _ in range(3):
        add(queue, (SIZE,), None, buffer, plain)
        add(queue, (SIZE,), None, plain, buffer)
    queue.finish()
    read = np.empty(SIZE, np.uint8)
    cl.enqueue_copy(queue, read, plain)
    assert (host[0], read[0]) == (23, 37)


def test_reads_and_writes(cl: Any, np: Any, queue: Any, buffer: Any, host: Any) -> None:
    host[:] = np.arange(SIZE) % 251
    read = np.empty(1000, np.uint8)
    cl.enqueue_copy(queue, read, buffer, src_offset=77)
    assert (read == host[77:1077]).all()
    cl.enqueue_copy(queue, buffer, read, dst_offset=5000)
    assert (host[5000:6000] == read).all()
    event = cl.enqueue_copy(queue, buffer, read, dst_offset=3, is_blocking=False)
    event.wait()
    assert (host[3:1003] == read).all()


def test_commands_wait_for_events(
    cl: Any, np: Any, context: Any, queue: Any, buffer: Any, host: Any
) -> None:
    host[:] = 1
    read = np.zeros(SIZE, np.uint8)
    gate = cl.UserEvent(context)
    event = cl.enqueue_copy(queue, read, buffer, is_blocking=False, wait_for=[gate])
    host[:] = 2
    assert not read.any()
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    assert (read == 2).all()


def test_copies_between_buffers(
    cl: Any, np: Any, context: Any, queue: Any, buffer: Any, host: Any
) -> None:
    other_host = at(np, 64)
    other = over(cl, context, other_host)
    plain = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    host[:] = np.arange(SIZE) % 251
    cl.enqueue_copy(queue, plain, buffer, byte_count=SIZE)
    cl.enqueue_copy(queue, other, plain, byte_count=SIZE)
    queue.finish()
    assert (other_host == host).all()
    other_host[:] = 9
    cl.enqueue_copy(queue, buffer, other, byte_count=100, src_offset=8, dst_offset=40)
    queue.finish()
    assert (host[40:140] == 9).all()
    assert host[140] == 140
    other.release()


@pytest.mark.parametrize("pattern", [b"\x07", b"abcd", bytes(range(16))])
def test_fill(cl: Any, queue: Any, buffer: Any, host: Any, pattern: bytes) -> None:
    cl.enqueue_fill_buffer(queue, buffer, pattern, 64, 128)
    queue.finish()
    assert host[:256].tobytes() == bytes(64) + pattern * (128 // len(pattern)) + bytes(64)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_mapping_is_the_memory(
    cl: Any, np: Any, queue: Any, buffer: Any, host: Any, blocking: bool
) -> None:
    cl.enqueue_fill_buffer(queue, buffer, b"\x03", 0, SIZE)
    flags = cl.map_flags.READ | cl.map_flags.WRITE
    mapped, event = cl.enqueue_map_buffer(
        queue, buffer, flags, 256, (100,), np.uint8, is_blocking=blocking
    )
    event.wait()
    assert mapped.ctypes.data == host.ctypes.data + 256
    assert (mapped == 3).all()
    mapped[:] = 4
    mapped.base.release(queue).wait()
    assert (host[256:356] == 4).all()


def test_rectangles(cl: Any, np: Any, context: Any, queue: Any, buffer: Any, host: Any) -> None:
    rows = host.reshape(64, 128)
    rows[:] = np.arange(SIZE).reshape(64, 128) % 251
    read = np.zeros((20, 30), np.uint8)
    place = {"buffer_origin": (8, 4), "host_origin": (1, 2), "region": (16, 10)}
    pitches = {"buffer_pitches": (128,), "host_pitches": (30,)}
    cl.enqueue_copy(queue, read, buffer, **place, **pitches)
    assert (read[2:12, 1:17] == rows[4:14, 8:24]).all()
    assert read.sum(dtype=int) == rows[4:14, 8:24].sum(dtype=int)
    cl.enqueue_copy(queue, buffer, read + 1, **place, **pitches)
    assert (rows[4:14, 8:24] == read[2:12, 1:17] + 1).all()

    other_host = at(np, 192)
    other = over(cl, context, other_host)
    plain = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
    cl.enqueue_fill_buffer(queue, plain, b"\x00", 0, SIZE)
    between = {
        "region": (16, 10),
        "src_pitches": (128,),
        "dst_pitches": (128,),
        "src_origin": (8, 4),
        "dst_origin": (8, 4),
    }
    for target, source in ((other, buffer), (plain, buffer)):
        cl.enqueue_copy(queue, target, source, **between)
    queue.finish()
    assert (other_host.reshape(64, 128)[4:14, 8:24] == rows[4:14, 8:24]).all()
    rows[4:14, 8:24] = 0
    cl.enqueue_copy(queue, buffer, plain, **between)
    queue.finish()
    assert (rows[4:14, 8:24] == other_host.reshape(64, 128)[4:14, 8:24]).all()
    assert rows[4, 8:24].all()
    other.release()


def test_sub_buffers(cl: Any, np: Any, queue: Any, host: Any, add: Any) -> None:
    buffer = over(cl, queue.context, host)
    part = buffer.get_sub_region(1024, 2048)
    host[:] = 1
    ones = buffer.get_sub_region(4096, 2048)
    add(queue, (2048,), None, part, ones)
    read = np.empty(2048, np.uint8)
    cl.enqueue_copy(queue, read, part)
    assert (read == 2).all()
    assert host[1023:1025].tolist() == [1, 2]
    assert host[3071:3073].tolist() == [2, 1]
    buffer.release()  # the parts keep it
    cl.enqueue_copy(queue, part, np.full(64, 8, np.uint8))
    assert host[1024] == 8


def test_images_are_filled_from_the_memory(
    cl: Any, np: Any, context: Any, queue: Any, buffer: Any, host: Any
) -> None:
    pixels = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT8)
    image = cl.create_image(context, cl.mem_flags.READ_WRITE, pixels, shape=(32, 16))
    host[:] = np.arange(SIZE) % 251
    cl.enqueue_copy(queue, image, buffer, offset=100, origin=(0, 0), region=(32, 16))
    cl.enqueue_copy(queue, buffer, image, offset=4000, origin=(0, 0), region=(32, 16))
    queue.finish()
    assert (host[4000:4512] == host[100:612]).all()


def test_a_part_of_a_read_only_buffer_is_read_only(cl: Any, context: Any, host: Any) -> None:
    buffer = over(cl, context, host)
    assert buffer.get_sub_region(0, 128).flags == buffer.flags
    with pytest.raises(cl.Error, match="INVALID_VALUE"):
        buffer.get_sub_region(0, 128, cl.mem_flags.READ_WRITE)


@pytest.mark.parametrize("access", ["READ_ONLY", "READ_WRITE"])
def test_it_is_described_as_made(
    cl: Any, context: Any, host: Any, opencl: Any, access: str
) -> None:
    buffer, flags = over(cl, context, host, access), getattr(cl.mem_flags, access)
    assert buffer.size == SIZE
    assert buffer.flags == flags | cl.mem_flags.USE_HOST_PTR
    query = opencl.loader.clGetMemObjectInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    pointer = ctypes.c_void_p()
    assert query(buffer.int_ptr, 0x1103, 8, ctypes.byref(pointer), None) == 0  # CL_MEM_HOST_PTR
    assert pointer.value == host.ctypes.data


@pytest.mark.parametrize("offset", [8, 32])
def test_the_rest_is_copied_as_by_a_driver(
    cl: Any, np: Any, context: Any, queue: Any, add: Any, offset: int, live: Callable[[], int]
) -> None:
    host = at(np, offset)
    host[:] = 1
    before = live()
    buffer = over(cl, context, host)
    assert live() == before
    add(queue, (SIZE,), None, buffer, buffer)
    queue.finish()
    assert (host == 1).all()


def test_nothing_is_left_of_many(
    cl: Any, np: Any, context: Any, queue: Any, live: Callable[[], int]
) -> None:
    host = at(np, 64)
    before = live()
    for number in range(2000):
        buffer = over(cl, context, host)
        part = buffer.get_sub_region(0, 128)
        assert live() == before + 2
        cl.enqueue_copy(queue, part, np.full(128, number % 256, np.uint8))
        assert host[127] == number % 256
        part.release()
        buffer.release()
        assert live() == before


def test_threads_do_not_disturb_each_other(cl: Any, np: Any, context: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(value: int) -> bool:
        host, queue = at(np, 64), cl.CommandQueue(context)
        for _ in range(100):
            buffer = over(cl, context, host)
            cl.enqueue_fill_buffer(queue, buffer, bytes([value]), 0, SIZE)
            queue.finish()
            buffer.release()
            if not (host == value).all():
                return False
            host[:] = 0
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 5)))


@pytest.mark.parametrize("offset", OFFSETS)
def test_openvino_infers_on_the_memory(ov: Any, np: Any, offset: int) -> None:
    core, op = ov.Core(), ov.opset13
    shape = ov.Shape([16, 128])
    random = np.random.default_rng(offset)
    x = op.parameter([16, 128], np.float32)
    weights = random.standard_normal((128, 128)).astype(np.float32)
    x.output(0).set_names({"x"})
    y = op.result(op.relu(op.matmul(x, weights, False, False)))
    y.output(0).set_names({"y"})
    model = ov.Model([y], [x])
    precision = {"INFERENCE_PRECISION_HINT": "f32"}
    on_cpu = core.compile_model(model, "CPU", precision)
    request = core.compile_model(model, "GPU", precision).create_infer_request()
    context = core.get_default_context("GPU")
    hosts = [at(np, offset).view(np.float32).reshape(16, 128) for _ in range(2)]
    tensors = [
        context.create_tensor(
            ov.Type.f32,
            shape,
            {
                "SHARED_MEM_TYPE": "CPU_VA",
                "CPU_VA": hex(host.ctypes.data),
                "CPU_VA_SIZE": SIZE,
                "CPU_VA_ACCESS": access,
            },
        )
        for host, access in zip(hosts, ("READ", "READ_WRITE"), strict=True)
    ]
    request.set_tensor("x", tensors[0])
    request.set_tensor("y", tensors[1])
    for _ in range(3):
        hosts[0][:] = random.standard_normal((16, 128))
        hosts[1][:] = -1
        request.start_async()
        request.wait()
        np.testing.assert_allclose(hosts[1], on_cpu(hosts[0])[0], rtol=1e-4, atol=1e-4)
