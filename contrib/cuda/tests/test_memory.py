# SPDX-License-Identifier: Apache-2.0
"""Allocating, wrapping, handing out, and what is refused."""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_cuda
from samebytes.errors import (
    CopyRequiredError,
    ExportError,
    LayoutError,
    NativeError,
    NoRouteError,
    NotHostVisibleError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_cuda import CudaContext

KINDS: tuple[samebytes_cuda.Kind, ...] = ("device", "pinned", "managed", "exportable")


@pytest.mark.parametrize("kind", KINDS)
def test_allocations(gpu: Any, context: CudaContext, kind: Any) -> None:
    tensor = context.allocate((3, 5), "int16", kind)
    assert (tensor.kind, tensor.shape, str(tensor.dtype)) == (kind, (3, 5), "int16")
    data = np.arange(15, dtype=np.int16)
    gpu.write(tensor.handle("cuda_ptr"), data.view(np.uint8))
    np.testing.assert_array_equal(gpu.read(tensor.handle(), 30).view(np.int16), data)
    tensor.close()
    assert context.allocate((0, 4), "uint8", kind).shape == (0, 4)


def test_what_cannot_be_allocated(context: CudaContext) -> None:
    with pytest.raises(UnknownNameError, match="kind of CUDA memory"):
        context.allocate((4,), "uint8", "shared")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(NativeError, match=r"cuMemAlloc.*OUT_OF_MEMORY"):
        context.allocate((1 << 50,))


def test_nothing_is_left_of_allocations(gpu: Any, context: CudaContext) -> None:
    def used() -> tuple[int, int]:
        gc.collect()
        gpu.synchronize()
        return gpu.do("cuMemGetInfo")[0], len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - their number

    def work() -> None:
        for kind in KINDS:
            tensor = context.allocate((1 << 20,), "uint8", kind)
            tensor.map("cpu", copy=True)
            capsule = tensor.__dlpack__()
            del tensor, capsule
        with context.allocate((16,), "uint8", "exportable").export_fd():
            pass
        samebytes.context("cpu").allocate((4096,)).map("cuda", "rw")

    work()
    before = used()
    for _ in range(20):
        work()
    assert used() == before


def test_device_memory_is_not_read_by_the_cpu(gpu: Any, context: CudaContext) -> None:
    tensor = context.allocate((16,))
    gpu.write(tensor.handle(), np.arange(16, dtype=np.uint8))
    with pytest.raises(NotHostVisibleError, match="copy=True"):
        tensor.native.array()
    with pytest.raises(NotHostVisibleError):
        np.asarray(tensor)
    with pytest.raises(CopyRequiredError):
        tensor.map("cpu")
    with pytest.raises(NoRouteError) as caught:
        tensor.map("cpu", "rw", copy=True)
    assert "pass copy=True" not in str(caught.value)
    samebytes.reset_stats()
    copied = tensor.map("cpu", copy=True)
    np.testing.assert_array_equal(copied.native, np.arange(16))
    assert samebytes.stats().by_edge["cuda -> cpu"].nbytes == 16


def test_a_download_of_a_pitched_part(gpu: Any, lend: Any) -> None:
    array = lend(256)
    gpu.write(array.address, np.arange(256, dtype=np.uint8))
    part = samebytes_cuda.tensor(array, (3, 4), offset=10, strides=(64, 2))
    assert part.handle() == array.address + 10
    wanted = np.arange(256, dtype=np.uint8)[10:].copy()
    wanted = np.ndarray((3, 4), np.uint8, wanted, 0, (64, 2))
    np.testing.assert_array_equal(part.map("cpu", copy=True).native, wanted)
    reversed_ = samebytes_cuda.tensor(array, (256,), offset=255, strides=(-1,))
    downloaded = reversed_.map("cpu", copy=True).native
    np.testing.assert_array_equal(downloaded, np.arange(256, dtype=np.uint8)[::-1])
    for bad in ({"shape": (257,)}, {"shape": (4,), "offset": 253}, {"shape": (4,), "offset": -1}):
        with pytest.raises(LayoutError, match="needs bytes"):
            samebytes_cuda.tensor(array, **bad)


def test_elements_that_numpy_lacks(gpu: Any, context: CudaContext) -> None:
    tensor = context.allocate((3, 6), "bfloat16")
    gpu.write(tensor.handle(), np.arange(36, dtype=np.uint8))
    copied = tensor.map("cpu", copy=True)
    assert copied.info == tensor.info
    np.testing.assert_array_equal(copied.native.view(np.uint8).ravel(), np.arange(36))
    with pytest.raises(LayoutError, match="cannot express bfloat16"):
        _ = tensor.__cuda_array_interface__
    packed = context.allocate((3, 6), "int4")
    gpu.write(packed.handle(), np.arange(9, dtype=np.uint8))
    np.testing.assert_array_equal(packed.map("cpu", copy=True).native, np.arange(9))


def test_downloads_with_a_queue_use_their_memory_again(gpu: Any, lend: Any) -> None:
    """And never what somebody still holds."""
    array, stream = lend(1 << 16), gpu.stream()
    tensor = samebytes.tensor(array)

    def download(value: int) -> Any:
        gpu.write(array.address, np.full(1 << 16, value, np.uint8))
        mapped = tensor.map("cpu", copy=True, queue=stream)
        gpu.do("cuStreamSynchronize", stream)
        return mapped

    first = download(1)
    where = first.handle("data")
    held, other = np.asarray(first), download(2)
    assert other.handle("data") != where
    assert (held == 1).all()
    assert (np.asarray(other) == 2).all()
    del first, held, other
    gc.collect()
    kept = [download(value) for value in range(3, 15)]
    assert where in [mapped.handle("data") for mapped in kept]
    for value, mapped in enumerate(kept, 3):
        assert (np.asarray(mapped) == value).all()
    places = [mapped.handle("data") for mapped in kept]
    del kept, mapped
    gc.collect()
    assert all(gpu.knows(place) for place in places)


def test_how_much_memory_of_downloads_is_kept(gpu: Any, context: CudaContext) -> None:
    """So many bytes, and nothing once the context is closed."""
    tensor, stream = context.allocate((24 << 20,)), gpu.stream()
    mapped = [tensor.map("cpu", copy=True, queue=stream) for _ in range(4)]
    blocks = [one.handle("data") for one in mapped]
    assert all(gpu.knows(block) for block in blocks)

    def kept() -> list[int]:
        gc.collect()
        return [block for block in blocks if gpu.knows(block)]

    del mapped
    assert len(kept()) == 2, "of 24 MiB each, and 64 MiB are kept at most"
    large = context.allocate((65 << 20,)).map("cpu", copy=True, queue=stream)
    place = large.handle("data")
    del large
    assert not gpu.knows(place)
    assert len(kept()) == 2
    last = tensor.map("cpu", copy=True, queue=stream)
    address = last.handle("data")
    assert address in kept()
    context.close()
    assert kept() == [address]
    del last, tensor
    assert not kept()
    gpu.do("cuStreamDestroy", stream)


def test_what_the_lender_gets_back(gpu: Any, lend: Any) -> None:
    """Wrapping holds the array, and gives it back with the last holder."""
    import weakref

    array = lend(64)
    held = weakref.ref(array)
    tensor = samebytes.tensor(array)
    assert tensor.native is array
    mapped = tensor.map("cuda", "rw")
    del array, tensor
    gc.collect()
    assert held() is not None
    gpu.write(mapped.handle(), np.full(64, 3, np.uint8))
    mapped.close()
    del mapped
    gc.collect()
    assert held() is None


def test_capsules_keep_the_memory(context: CudaContext) -> None:
    tensor = context.allocate((8,))
    capsule = tensor.__dlpack__()
    end = weakref.ref(tensor.storage)
    assert tensor.close() is False
    del capsule
    gc.collect()
    assert end() is None


@pytest.mark.parametrize(
    ("kind", "first", "others"),
    [
        ("device", (2, 0), ()),
        ("exportable", (2, 0), ()),
        ("pinned", (1, 0), ((3, 0), (2, 0))),
        ("managed", (2, 0), ((13, 0), (1, 0))),
    ],
)
def test_dlpack_devices(context: CudaContext, kind: Any, first: Any, others: Any) -> None:
    """Pinned is the CPU's and managed is CUDA's, unless the consumer asks by their own numbers."""
    tensor = context.allocate((4, 8), "float32", kind)
    assert tensor.__dlpack_device__() == first
    for device in (None, first, *others):
        wrapped = samebytes_cuda.tensor(Relayed(tensor, device)) if device != (1, 0) else None
        if wrapped is not None and (device or first)[0] != 1:
            assert wrapped.handle("cuda_ptr") == tensor.handle("cuda_ptr")
            assert wrapped.shape == (4, 8)
    with pytest.raises(ExportError, match="not on"):
        tensor.__dlpack__(dl_device=(2, 99))
    with pytest.raises(ExportError, match="not on"):
        tensor.__dlpack__(dl_device=(10, 0))
    with pytest.raises(ExportError, match="copy"):
        tensor.__dlpack__(copy=True)


class Relayed:
    """A producer that hands on another one's capsules for one device."""

    def __init__(self, tensor: Any, device: tuple[int, int] | None) -> None:
        self.tensor = tensor
        self.device = device if device is not None else tensor.__dlpack_device__()
        if self.device[0] == 1:
            self.device = (3, 0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **more: Any) -> Any:
        return self.tensor.__dlpack__(dl_device=self.device, **more)


def test_pinned_memory_is_numpys(context: CudaContext) -> None:
    tensor = context.allocate((4,), "float32", "pinned")
    array = np.from_dlpack(tensor)
    array[...] = 5
    assert array.ctypes.data == tensor.handle("cuda_ptr") == tensor.handle("data")
    assert (np.asarray(tensor) == 5).all()
    with pytest.raises(ExportError, match="no stream"):
        tensor.__dlpack__(stream=1)


def test_the_core_finds_arrays_by_their_protocols(lend: Any) -> None:
    """The arrays of CuPy have DLPack, those of Numba the array interface alone."""
    for by in ("dlpack", "interface"):
        for wrap in (samebytes.tensor, samebytes.wrap):
            array = lend(16, None, by)
            tensor: Any = wrap(array)
            assert isinstance(tensor, samebytes_cuda.CudaTensor)
            assert (tensor.native, tensor.shape) == (array, (16,))
    with pytest.raises(UnsupportedObjectError, match="shares no CUDA memory"):
        samebytes_cuda.tensor(bytearray(4))
    with pytest.raises(UnsupportedObjectError, match="lies in CPU memory"):
        samebytes_cuda.tensor(np.zeros(4))


def test_what_lies_about_its_memory(lend: Any) -> None:
    array = lend(64, None, "interface")

    class Told:
        def __init__(self, **changed: Any) -> None:
            self.array = array
            self.__cuda_array_interface__ = {**array.interface(), **changed}

    plain = np.zeros(64, np.uint8)
    with pytest.raises(LayoutError, match="CUDA does not know"):
        samebytes.tensor(Told(data=(plain.ctypes.data, False)))
    with pytest.raises(LayoutError, match="extends beyond"):
        samebytes.tensor(Told(shape=(1 << 40,)))
    wrong: tuple[dict[str, Any], ...] = (
        {"data": 5}, {"typestr": "zz"}, {"shape": None}, {"strides": 4}, {"data": ("a", False)},
    )  # fmt: skip
    for change in wrong:
        with pytest.raises(LayoutError):
            samebytes.tensor(Told(**change))
    with pytest.raises(LayoutError, match="mask"):
        samebytes.tensor(Told(mask=array))
    assert samebytes.tensor(Told(data=(array.address, True))).readonly


@pytest.mark.parametrize("by", ["dlpack", "interface"])
def test_a_freed_pointer(gpu: Any, lend: Any, by: str) -> None:
    array = lend(1 << 22, None, by)
    gpu.free(array.address)
    with pytest.raises(LayoutError, match="CUDA does not know"):
        samebytes.tensor(array)
    array.address = gpu.allocate(16)  # for its end


def test_a_pointer_of_another_device(second_gpu: Any, lend: Any) -> None:
    array = lend(64)
    here = array.address
    array.address = second_gpu.allocate(64)
    with pytest.raises(LayoutError, match="CUDA that it is on device 1"):
        samebytes.tensor(array)
    second_gpu.free(array.address)
    array.address = here
    other = samebytes.context("cuda:1")
    assert isinstance(other, CudaContext)
    assert other.ordinal == 1
    tensor = other.allocate((4,))
    assert tensor.__dlpack_device__() == (2, 1)
    with pytest.raises(NoRouteError):
        tensor.map("cuda:0")


def test_a_capsule_used_twice(lend: Any) -> None:
    array = lend(64)
    capsule = array.__dlpack__(stream=1, max_version=(1, 0))

    class Again:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self, **_: Any) -> object:
            return capsule

    first = samebytes.tensor(Again())
    with pytest.raises(UnsupportedObjectError, match="consumed before"):
        samebytes.tensor(Again())
    assert first.shape == (64,)


def test_memory_dropped_in_a_function_of_a_stream(gpu: Any, context: CudaContext) -> None:
    """CUDA cannot be called there: the memory is freed later."""
    import ctypes

    # More than a block of 2 MiB, of which NVIDIA's driver takes small allocations.
    kept = [context.allocate((64 << 20,)) for _ in range(2)]
    free = gpu.do("cuMemGetInfo")[0]

    drop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: kept.clear())
    address = ctypes.cast(drop, ctypes.c_void_p).value
    gpu.do("cuLaunchHostFunc", 1, gpu.driver.CUhostFn(address), 0)
    gpu.synchronize()
    assert not kept
    context.allocate((4,)).close()
    gpu.synchronize()
    assert gpu.do("cuMemGetInfo")[0] > free + (64 << 20), "both"


@pytest.mark.usefixtures("gpu")
def test_a_part_of_a_frame_is_cut_by_the_cpu_and_the_error_says_how() -> None:
    frame = samebytes.context("cuda").allocate_frame("NV12", 64, 48)
    way_out = r'cannot read it in place, so use frame.map\("cpu", copy=True\).crop'
    with pytest.raises(UnsupportedObjectError, match=way_out):
        frame.crop(0, 0, 8, 8)
    assert frame.map("cpu", copy=True).crop(0, 0, 8, 8).width == 8
