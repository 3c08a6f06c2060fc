# SPDX-License-Identifier: Apache-2.0
"""ZeroContext.create_tensor and its relatives: every form of the C++ class, with real inference."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Fd
from samebytes.errors import UnsupportedObjectError
from samebytes_openvino import OpenVINOTensor, PinnedTensor
from samebytes_openvino.intel_gpu import ClBufferTensor
from samebytes_openvino.intel_npu import (
    FileDescriptor,
    MemType,
    TensorType,
    ZeroBufferTensor,
)

N = 4096
Array = np.ndarray[Any, Any]


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def page_aligned(nbytes: int) -> Array:
    return np.frombuffer(mmap.mmap(-1, nbytes), np.uint8)


@pytest.mark.parametrize("form", ["int", "Fd", "file", "numpy int", "map", "map of enums"])
def test_wrap_dmabuf_fd(npu: Any, shared: Any, infer: Any, form: str) -> None:
    """wrap_dmabuf_fd: what is written through the descriptor is what the NPU reads."""
    memory, out = shared(N), shared(N)
    owner = Fd.borrow(memory.fd)
    forms: dict[str, Callable[[int], Any]] = {
        "int": lambda fd: fd,
        "Fd": lambda fd: owner,
        "file": lambda fd: os.fdopen(os.dup(fd), "r+b"),
        "numpy int": np.int32,
        "map": lambda fd: {"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": fd, "TENSOR_TYPE": "BINDED"},
        "map of enums": lambda fd: {"MEM_TYPE": MemType.SHARED_BUF, "MEM_HANDLE": fd},
    }
    given = forms[form](memory.fd)
    x = npu.create_tensor("uint8", (1, N), given)
    if form == "file":
        given.close()
    y = npu.create_tensor("uint8", (1, N), out.fd, tensor_type=TensorType.OUTPUT)
    assert (x.mem_type, x.tensor_type) == (MemType.SHARED_BUF, TensorType.BINDED)
    assert y.tensor_type is TensorType.OUTPUT
    memory.array[:4] = (1, 2, 3, 4)
    infer(x.native, y.native)
    assert list(out.array[:5]) == [2, 4, 6, 8, 0]
    assert x.get() == x.handle("usm_ptr") == x.handle() == x.params["MEM_HANDLE"]


def test_a_descriptor_stays_the_callers(npu: Any, infer: Any) -> None:
    """It is left open by the import, and the memory outlives its close()."""
    fd = os.memfd_create("shared")
    os.ftruncate(fd, N)
    pages = np.frombuffer(mmap.mmap(fd, N), np.uint8)
    x = npu.create_tensor("uint8", (1, N), fd)
    os.fstat(fd)
    os.close(fd)
    y = npu.create_l0_host_tensor("uint8", (1, N))
    pages[...] = 5
    infer(x.native, y.native)
    assert (y.host_array() == 10).all()


def test_cpu_va(npu: Any, infer: Any) -> None:
    """Whole pages of the CPU's are used at their own address."""
    source, result = page_aligned(N), page_aligned(N)
    x = npu.create_tensor("uint8", (1, N), source, tensor_type="INPUT")
    y = npu.create_tensor("uint8", (1, N), address(result), mem_type=MemType.CPU_VA)
    assert (x.get(), y.get()) == (address(source), address(result))
    source[...] = 4
    infer(x.native, y.native)
    assert (result == 8).all()


@pytest.mark.parametrize("kind", ["array", "memoryview", "mmap", "samebytes tensor"])
def test_buffers_are_held(npu: Any, infer: Any, kind: str) -> None:
    """The tensor, and its native object, keep a buffer of the CPU's alive."""
    allocated = samebytes.context("cpu").allocate((2, N))
    buffers: dict[str, Callable[[], Any]] = {
        "array": lambda: page_aligned(N),
        "memoryview": lambda: memoryview(mmap.mmap(-1, N)),
        "mmap": lambda: mmap.mmap(-1, N),
        "samebytes tensor": lambda: allocated,
    }
    buffer = buffers[kind]()
    x = npu.create_tensor("uint8", (1, N), buffer)
    np.asarray(buffer).reshape(-1)[:N] = 6
    del buffer
    end = weakref.ref(allocated.storage)
    native = x.native
    assert x.close() is False
    if kind == "samebytes tensor":
        assert allocated.close() is False
    y = npu.create_l0_host_tensor("uint8", (1, N))
    infer(native, y.native)
    assert (y.host_array() == 12).all()
    del native
    allocated.close()
    assert end() is None


def test_close_sees_who_reads_in_place(npu: Any) -> None:
    holders: list[Callable[[Any], Any]] = [
        lambda x: x.map("cpu"),
        lambda x: x.map("cpu").native,
        lambda x: x.host_array(),
    ]
    for hold in holders:
        x = npu.allocate((1, N))
        end, held = weakref.ref(x.storage), hold(x)
        assert x.close() is False
        assert end() is not None
        del held
        assert end() is None


def test_file_mapping(npu: Any, infer: Any, tmp_path: Path) -> None:
    """file_mapping: FileDescriptor(path, offset); its size need be no whole pages."""
    path = tmp_path / "weights"
    path.write_bytes(bytes(mmap.ALLOCATIONGRANULARITY) + bytes(range(100)))
    file = FileDescriptor(path, mmap.ALLOCATIONGRANULARITY)
    x = npu.create_tensor("uint8", (1, 100), file)
    assert x.tensor_type is TensorType.INPUT
    assert x.readonly
    assert not x.host_array().flags.writeable
    y = npu.create_l0_host_tensor("uint8", (1, 100))
    infer(x.native, y.native)
    assert list(y.host_array()[0]) == [2 * n for n in range(100)]
    properties = {"MEM_TYPE": "MMAPED_FILE", "FILE_DESCRIPTOR": file}
    again = npu.create_tensor("uint8", (1, 100), properties)
    assert (again.host_array() == x.host_array()).all()


@pytest.mark.parametrize("use", list(TensorType))
def test_allocate_remote_level_zero_host(npu: Any, use: TensorType) -> None:
    """allocate_remote_level_zero_host: create_l0_host_tensor, get()."""
    tensor = npu.create_l0_host_tensor("float32", (1, 3, 4), use)
    assert (tensor.mem_type, tensor.tensor_type) == (MemType.L0_INTERNAL_BUF, use)
    assert tensor.get() == tensor.handle("data")
    tensor.host_array()[...] = 7
    copied = openvino.Tensor(openvino.Type.f32, openvino.Shape([1, 3, 4]))
    tensor.native.copy_to(copied)
    assert (copied.data == 7).all()


def test_allocate_level_zero_host(npu: Any, infer: Any) -> None:
    """allocate_level_zero_host: create_host_tensor gives an ordinary tensor, used in place."""
    x, y = (npu.create_host_tensor("uint8", (1, 100)) for _ in range(2))
    assert isinstance(x, OpenVINOTensor)
    assert isinstance(x.native, openvino.Tensor)
    x.native.data[...] = 9
    infer(x.native, y.native)
    assert (y.native.data == 18).all()
    held = y.native
    assert y.close() is False
    assert (held.data == 18).all()


def test_no_memory_means_the_plugins(npu: Any) -> None:
    for shared in (None, {}, {"MEM_TYPE": MemType.L0_INTERNAL_BUF, "TENSOR_TYPE": "OUTPUT"}):
        assert npu.create_tensor("uint8", (1, 8), shared).mem_type is MemType.L0_INTERNAL_BUF


@pytest.mark.parametrize(
    ("type_", "nbytes"),
    [("float16", 34), ("bfloat16", 34), ("int4", 9), ("bool", 17), (openvino.Type.i64, 136)],
)
def test_element_types(npu: Any, type_: Any, nbytes: int) -> None:
    tensor = npu.create_tensor(type_, (1, 17))
    assert tensor.native.get_byte_size() == nbytes
    assert tensor.host_array().nbytes == nbytes
    assert samebytes.tensor(tensor.native).dtype == tensor.dtype


def test_scalars(npu: Any) -> None:
    tensor = npu.create_tensor("float32", ())
    tensor.host_array()[...] = 2.5
    assert np.asarray(tensor) == 2.5


def test_is_and_as(npu: Any) -> None:
    tensor = npu.create_l0_host_tensor("uint8", (1, 8))
    assert tensor.is_(ZeroBufferTensor)
    assert tensor.is_()
    again = tensor.as_(ZeroBufferTensor)
    with pytest.raises(UnsupportedObjectError, match="not a ClBufferTensor"):
        tensor.as_(ClBufferTensor)
    assert again.get() == tensor.get()
    assert not ZeroBufferTensor.matches({"MEM_HANDLE": 1, "SHARED_MEM_TYPE": "OCL_BUFFER"})
    assert not ZeroBufferTensor.matches({"MEM_TYPE": "CPU_VA"})


def test_imported_whole_with_planes_at_offsets(npu: Any, shared: Any, infer: Any) -> None:
    """remote-tensor recipe: one import, ordinary tensors anywhere in it, used where they lie."""
    memory = shared(3 * N)
    imported = npu.import_memory(memory.fd)
    assert imported.nbytes == 3 * N
    assert imported.native.get_byte_size() == 3 * N
    x, y = imported.tensor("uint8", (1, 100), 37), imported.tensor("uint8", (1, 100), 5001)
    assert isinstance(x.native, PinnedTensor)
    assert (x.get(), y.get()) == (imported.address + 37, imported.address + 5001)
    assert x.mem_type is MemType.SHARED_BUF
    del imported
    memory.array[37:137] = 3
    infer(x.native, y.native)
    assert (memory.array[5001:5101] == 6).all()
    assert (memory.array[5101:] == 0).all()


def test_pages_imported_whole(npu: Any, infer: Any) -> None:
    pages = page_aligned(2 * N)
    imported = npu.import_memory(pages)
    assert imported.address == address(pages)
    x, y = imported.tensor("uint8", (1, 10), 1), imported.tensor("uint8", (1, 10), 5000)
    pages[1:11] = 11
    del imported
    infer(x.native, y.native)
    assert (pages[5000:5010] == 22).all()
