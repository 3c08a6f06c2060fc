# SPDX-License-Identifier: Apache-2.0
"""Tensors over the user's memory: layouts, parts, and everything that can be wrong with them."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)


def buffer_of(context: Any, nbytes: int = 4096) -> cl.Buffer:
    return cl.Buffer(context.native, cl.mem_flags.READ_WRITE, nbytes)


def test_a_bare_buffer_is_bytes(opencl: Any) -> None:
    buffer = buffer_of(opencl, 100)
    tensor = samebytes.tensor(buffer)
    assert (tensor.shape, str(tensor.dtype)) == ((100,), "uint8")
    assert tensor.native is buffer
    assert tensor.handle() == tensor.handle("cl_mem") == buffer.int_ptr
    assert tensor.handle("offset") == 0
    with pytest.raises(UnknownNameError):
        tensor.handle("usm_ptr")


def test_a_buffer_with_a_layout(opencl: Any) -> None:
    buffer = buffer_of(opencl)
    tensor = sbo.tensor(buffer, (8, 16), "float32", strides=(256, 4))
    assert tensor.strides == (256, 4)
    assert tensor.native is buffer
    assert sbo.tensor(buffer, dtype="int16").shape == (2048,)
    assert sbo.tensor(buffer, (8,), readonly=True).readonly


@pytest.mark.parametrize(
    ("shape", "dtype", "strides", "message"),
    [
        ((4097,), "uint8", None, "needs 4097 bytes, and the buffer has 4096"),
        ((33, 32), "float32", None, "needs 4224 bytes"),
        ((32, 16), "float32", (256, 4), "needs 8000 bytes"),
        ((4, 4), "uint8", (-4, 1), "before the first element"),
    ],
)
def test_tensors_larger_than_their_buffer(
    opencl: Any, shape: tuple[int, ...], dtype: str, strides: Any, message: str
) -> None:
    with pytest.raises(LayoutError, match=message):
        sbo.tensor(buffer_of(opencl), shape, dtype, strides=strides)


def test_offsets_make_sub_buffers(opencl: Any, alignment: int) -> None:
    buffer = buffer_of(opencl, 4 * alignment)
    whole = sbo.tensor(buffer)
    with whole.map("cpu", "w") as view:
        view.native[...] = np.arange(view.native.size) // alignment
    part = sbo.tensor(buffer, (alignment,), offset=alignment)
    assert part.native.offset == alignment
    assert np.unique(part.map("cpu").native).tolist() == [1]
    # OpenCL has one level: a part of a part is a part of the buffer.
    again = part.sub(alignment) if part.native.size > alignment else whole.sub(2 * alignment)
    assert np.unique(again.map("cpu").native)[0] == 2
    third = whole.sub(alignment, (3 * alignment,)).sub(alignment, (alignment,))
    assert third.native.offset == 2 * alignment
    assert np.unique(third.map("cpu").native).tolist() == [2]


def test_misaligned_offsets_name_the_alignment(opencl: Any, alignment: int) -> None:
    if alignment == 1:
        pytest.skip("device has no alignment")
    buffer = buffer_of(opencl)
    with pytest.raises(LayoutError, match=rf"not a multiple of {alignment} bytes.*at {alignment}"):
        sbo.tensor(buffer, (8,), offset=alignment // 2)
    with pytest.raises(LayoutError, match="MEM_BASE_ADDR_ALIGN"):
        sbo.tensor(buffer).sub(1)


def test_parts_outside(opencl: Any) -> None:
    tensor = opencl.allocate((4096,))
    for offset in (-1, 4096, 1 << 40):
        with pytest.raises(LayoutError, match="outside"):
            tensor.sub(offset)
    with pytest.raises(LayoutError, match="after byte 2048"):
        tensor.sub(2048, (2049,))


def test_parts_keep_the_whole(opencl: Any) -> None:
    whole = opencl.allocate((4096,))
    with whole.map("cpu", "w") as view:
        view.native[...] = 7
    part = whole.sub(2048, (16,))
    assert part.parent is whole
    assert whole.close() is False
    assert part.map("cpu").native.tolist() == [7] * 16
    native = part.native
    del part, whole, view
    assert sbo.tensor(native).map("cpu").native.tolist() == [7] * 16


def test_the_user_may_release_what_a_tensor_lies_over(opencl: Any) -> None:
    buffer = buffer_of(opencl)
    tensor = sbo.tensor(buffer)
    buffer.release()
    with tensor.map("cpu", "w") as view:
        view.native[...] = 5
    assert tensor.map("cpu").native.tolist() == [5] * 4096


def test_parts_of_memory_in_a_closed_context(opencl: Any) -> None:
    tensor = opencl.allocate((4096,))
    with tensor.map("cpu", "w") as view:
        view.native[...] = 6
    opencl.close()
    assert tensor.sub(0, (16,)).map("cpu").native.tolist() == [6] * 16


def test_a_native_of_ours_knows_its_layout(opencl: Any) -> None:
    tensor = opencl.allocate((3, 5), "float32")
    assert samebytes.tensor(tensor.native).info == tensor.info
    buffer = buffer_of(opencl, 64)
    buffer.layout = samebytes.TensorInfo("uint8", (65,))  # type: ignore[attr-defined]  # the user's
    with pytest.raises(LayoutError, match="needs 65 bytes"):
        samebytes.tensor(buffer)


def test_padded_planes_stay_padded(opencl: Any) -> None:
    whole = np.zeros((32, 96), np.uint8)
    whole[:, 64:] = 1
    frame = samebytes.frame([whole[:, :64]], format="GRAY8").map(opencl, copy=True)
    again = frame.map(opencl)
    assert again.planes[0].info == frame.planes[0].info
    assert not again.planes[0].map("cpu").native.any()


def test_raw_cl_mem(opencl: Any, references: Callable[[Any], int]) -> None:
    buffer = buffer_of(opencl)
    before = references(buffer)
    tensor = sbo.tensor(buffer.int_ptr, (4096,), context=opencl)
    assert tensor.handle("cl_mem") == buffer.int_ptr
    pointer = ctypes.c_void_p(buffer.int_ptr)
    assert sbo.tensor(pointer, (4096,), context=opencl).handle("cl_mem") == buffer.int_ptr
    assert references(buffer) == before + 2, "the storage's and the native's"
    native = tensor.native
    tensor_again = samebytes.tensor(native)
    del tensor, tensor_again
    assert references(buffer) == before + 2
    del native
    assert references(buffer) == before
    with pytest.raises(UnsupportedObjectError, match="context="):
        sbo.tensor(buffer.int_ptr)


def test_memory_of_another_cl_context(opencl: Any) -> None:
    other = cl.Context([opencl.native_device])
    buffer = cl.Buffer(other, cl.mem_flags.READ_WRITE, 64)
    for native in (buffer, buffer.int_ptr):
        with pytest.raises(DeviceMismatchError, match="own cl_context only"):
            sbo.tensor(native, context=opencl)


def test_a_released_cl_mem(opencl: Any) -> None:
    # The driver frees large objects at once; what they held is soon something else.
    buffer = buffer_of(opencl, 1 << 20)
    number = buffer.int_ptr
    buffer.release()
    with pytest.raises(LayoutError, match="not a valid cl_mem"):
        samebytes.tensor(buffer)
    with pytest.raises(LayoutError, match="not a valid cl_mem"):
        sbo.tensor(number, context=opencl)


@pytest.mark.parametrize("handle", [0, 8, -5, 1 << 63, 1 << 70])
def test_numbers_that_are_not_cl_mem(opencl: Any, handle: int) -> None:
    with pytest.raises(LayoutError, match="not a valid cl_mem"):
        sbo.tensor(handle, context=opencl)


def test_an_object_of_another_kind_is_not_a_cl_mem(opencl: Any) -> None:
    # Not all drivers look what they are asked about.
    with pytest.raises((LayoutError, DeviceMismatchError), match="cl_mem"):
        sbo.tensor(opencl.native.int_ptr, context=opencl)


@pytest.mark.parametrize("native", [None, "buffer", True, 1.5, np.zeros(3)])
def test_what_is_not_memory(opencl: Any, native: Any) -> None:
    with pytest.raises(UnsupportedObjectError):
        sbo.tensor(native, context=opencl)


def test_frames_over_buffers(opencl: Any) -> None:
    y, uv = buffer_of(opencl, 64 * 32), buffer_of(opencl, 64 * 16)
    frame = sbo.frame([y, uv], "NV12", 64, 32)
    assert frame.native == (y, uv)
    assert [p.shape for p in frame] == [(32, 64), (16, 32, 2)]
    with pytest.raises(LayoutError, match="NV12 64x32: 2, passed: 1"):
        sbo.frame([y], "NV12", 64, 32)
    with pytest.raises(LayoutError, match="needs 2048 bytes"):
        sbo.frame([uv, y], "NV12", 64, 32)
    elsewhere = cl.Context([opencl.native_device])
    other = cl.Buffer(elsewhere, cl.mem_flags.READ_WRITE, 1024)
    with pytest.raises(DeviceMismatchError):
        sbo.frame([y, other], "NV12", 64, 32)


def test_natives_outlive_their_context(device_name: str) -> None:
    """Drivers differ in whether memory keeps its cl_context: ours does."""
    context: Any = samebytes.context(f"opencl:{device_name}")
    tensor = context.allocate((16,))
    with tensor.map("cpu", "w") as view:
        view.native[...] = 6
    native, array = tensor.native, tensor.map("cpu").native
    del context, tensor, view
    gc.collect()
    assert array.tolist() == [6] * 16
    del array
    again = samebytes.tensor(native)
    assert again.map("cpu").native.tolist() == [6] * 16


def test_allocated_frames_lie_in_one_buffer(opencl: Any, alignment: int) -> None:
    frame = opencl.allocate_frame("NV12", 64, 30)
    y, uv = frame.native
    assert y.offset == 0
    assert uv.offset % alignment == 0
    assert uv.offset >= y.size
    with frame.map("cpu", "w") as mapped:
        mapped.planes[0].native[...] = 1
        mapped.planes[1].native[...] = 2
    assert np.unique(frame.planes[1].map("cpu").native).tolist() == [2]
    alone = frame.planes[0].native
    del frame, y, uv
    assert np.unique(samebytes.tensor(alone).map("cpu").native).tolist() == [1]


def test_allocating_more_than_there_is(opencl: Any) -> None:
    with pytest.raises(LayoutError, match="MAX_MEM_ALLOC_SIZE"):
        opencl.allocate((1 << 50,))
    with pytest.raises(UnknownNameError) as caught:
        opencl.allocate((8,), kind="bufer")
    assert caught.value.nearest == ("buffer",)


def test_what_is_held_outlives_close(opencl: Any) -> None:
    tensor = opencl.allocate((64,), "float32")
    with tensor.map("cpu", "w") as view:
        view.native[...] = 5
    end, native, held = weakref.ref(tensor.storage), tensor.native, tensor.map("cpu")
    assert tensor.close() is False
    assert native.size == 256
    del native
    assert held.native.tolist() == [5.0] * 64
    assert end() is not None
    del held
    assert end() is None


def test_memory_is_given_back_once(opencl: Any, references: Callable[[Any], int]) -> None:
    watch = opencl.native
    _ = opencl.queue.context  # which pyopencl keeps from now on
    before = references(watch)
    for kind in ("buffer", "image"):
        try:
            tensor = opencl.allocate((64, 64), kind=kind)
        except LayoutError:
            continue  # a device without such images
        mem = tensor.native
        assert references(mem) == 2, "the storage's and the native's"
        mapped = tensor.map("cpu")
        assert references(mem) >= 3, "the mapping's too, and some drivers take one for it"
        mapped.close()
        assert references(mem) == 2
        del mapped, mem
        tensor.close()
    del tensor
    assert references(watch) == before
