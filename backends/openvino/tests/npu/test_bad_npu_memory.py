# SPDX-License-Identifier: Apache-2.0
"""Input that cannot be a tensor of the NPU is refused before the driver sees it, by property."""

from __future__ import annotations

import mmap
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
import samebytes_openvino
from samebytes import Fd
from samebytes.errors import (
    AccessError,
    LayoutError,
    NotHostVisibleError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino.intel_npu import (
    FileDescriptor,
    MemType,
    OpenVINOError,
    PropertyError,
    TensorType,
)

N = 4096


def refused(call: Callable[[], Any], property_: str, reason: str) -> None:
    with pytest.raises(PropertyError, match=reason) as caught:
        call()
    assert caught.value.property == property_
    assert str(caught.value).startswith(property_)


@pytest.mark.parametrize(
    ("fd", "reason"),
    [
        (0, "standard input"),
        (-1, "no descriptor"),
        (999_999, "is not an open file descriptor"),
        (1 << 40, "is not an open file descriptor"),
    ],
)
def test_numbers_that_are_not_descriptors(npu: Any, fd: int, reason: str) -> None:
    refused(lambda: npu.create_tensor("uint8", (1, N), fd), "MEM_HANDLE", reason)


def test_a_closed_fd(npu: Any, shared: Any) -> None:
    owner = Fd.borrow(shared(N).fd)
    number = owner.fileno()
    owner.close()
    refused(lambda: npu.create_tensor("uint8", (1, N), owner), "MEM_HANDLE", "was closed")
    refused(lambda: npu.create_tensor("uint8", (1, N), number), "MEM_HANDLE", "not an open file")


def test_memory_smaller_than_the_tensor(npu: Any, shared: Any) -> None:
    """The Linux driver ignores the size of an import: this is where it is looked at."""
    small = shared(N)
    refused(
        lambda: npu.create_tensor("uint8", (1, N + 1), small.fd), "MEM_HANDLE",
        "has 4096 bytes, but the tensor has 4097",
    )  # fmt: skip
    npu.create_tensor("uint8", (1, N), small.fd)


def test_descriptors_that_are_not_memory(npu: Any, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    folder, device = os.open(tmp_path, os.O_RDONLY), os.open("/dev/null", os.O_RDWR)
    empty = os.memfd_create("empty")
    with socket.socket() as net:
        for number in (reading, net.fileno(), folder, device, empty):
            refused(
                lambda number=number: npu.create_tensor("uint8", (1, N), number),  # type: ignore[misc]  # bound now
                "MEM_HANDLE", "pass that of a DMA-BUF|has no bytes",
            )  # fmt: skip
    path = tmp_path / "file"
    path.write_bytes(bytes(N))
    only_writing = os.open(path, os.O_WRONLY)
    refused(lambda: npu.create_tensor("uint8", (1, N), only_writing), "MEM_HANDLE", "writing only")
    for number in (reading, writing, folder, device, empty, only_writing):
        os.close(number)


def test_what_is_not_memory_at_all(npu: Any) -> None:
    for thing in (object(), 1.5, True):
        with pytest.raises(UnsupportedObjectError, match="MEM_HANDLE"):
            npu.create_tensor("uint8", (1, N), thing)
    with pytest.raises(UnsupportedObjectError, match="MEM_HANDLE"):
        npu.create_tensor("uint8", (1, N), object(), mem_type="CPU_VA")


def test_pages(npu: Any) -> None:
    """Address and byte size must both be multiples of the page size."""
    pages = np.frombuffer(mmap.mmap(-1, 2 * N), np.uint8)
    refused(
        lambda: npu.create_tensor("uint8", (1, N), pages[64:]), "MEM_HANDLE",
        "not a multiple of the page size 4096.*cpu.*allocate",
    )  # fmt: skip
    refused(
        lambda: npu.create_tensor("uint8", (1, 100), pages), "MEM_HANDLE",
        "100 bytes are not a multiple.*4096 bytes with import_memory",
    )  # fmt: skip
    refused(
        lambda: npu.create_tensor("uint8", (1, 3 * N), pages), "MEM_HANDLE",
        "the buffer has 8192 bytes, but the tensor has 12288",
    )  # fmt: skip
    for pointer, reason in ((0, "null"), (-N, "not an address"), (1 << 64, "not an address")):
        refused(
            lambda pointer=pointer: npu.create_tensor(  # type: ignore[misc]  # bound now
                "uint8", (1, N), pointer, mem_type=MemType.CPU_VA
            ),
            "MEM_HANDLE", reason,
        )  # fmt: skip
    refused(
        lambda: npu.create_tensor("uint8", (1, N), pages[::2]), "MEM_HANDLE", "dense tensors only"
    )
    refused(lambda: npu.import_memory(pages[:100]), "MEM_HANDLE", "100 bytes are not a multiple")


def test_read_only_pages(npu: Any) -> None:
    """The device may write to anything but an INPUT."""
    pages = np.frombuffer(mmap.mmap(-1, N), np.uint8)
    pages.flags.writeable = False
    with pytest.raises(AccessError, match="TENSOR_TYPE: BINDED"):
        npu.create_tensor("uint8", (1, N), pages)
    tensor = npu.create_tensor("uint8", (1, N), pages, tensor_type=TensorType.INPUT)
    assert tensor.readonly
    with pytest.raises(AccessError):
        tensor.map("cpu", "rw")
    assert npu.import_memory(pages).tensor("uint8", (1, 8)).readonly


def test_shapes(npu: Any) -> None:
    refused(lambda: npu.create_tensor("uint8", (1, 0)), "shape", "is empty")
    too_large = npu.memory_size + 1
    for call in (npu.create_tensor, npu.create_l0_host_tensor, npu.create_host_tensor):
        refused(
            lambda call=call: call("uint8", (too_large,)),  # type: ignore[misc]  # bound now
            "shape", "but the NPU memory has",
        )  # fmt: skip
    with pytest.raises(LayoutError):
        npu.create_tensor("uint8", (1, -4))
    with pytest.raises(UnknownNameError, match="uint7"):
        npu.create_tensor("uint7", (1, 4))


def test_maps_of_properties(npu: Any, shared: Any) -> None:
    fd = shared(N).fd

    def make(**properties: Any) -> Any:
        return npu.create_tensor("uint8", (1, N), properties)

    with pytest.raises(UnknownNameError) as caught:
        make(MEM_TYPE="SHARED_BUF", MEM_HANDEL=fd)
    assert caught.value.nearest[0] == "MEM_HANDLE"
    with pytest.raises(UnknownNameError) as caught:
        make(MEM_TYPE="SHARED_BUFF", MEM_HANDLE=fd)
    assert caught.value.nearest == ("SHARED_BUF",)
    with pytest.raises(UnknownNameError, match="TENSOR_TYPE"):
        make(MEM_TYPE="SHARED_BUF", MEM_HANDLE=fd, TENSOR_TYPE="BOUND")
    refused(lambda: make(TENSOR_TYPE="INPUT"), "MEM_TYPE", "must be given")
    refused(lambda: make(MEM_TYPE="SHARED_BUF"), "MEM_HANDLE", "needs memory to share")
    refused(
        lambda: make(MEM_TYPE="L0_INTERNAL_BUF", MEM_HANDLE=fd), "MEM_HANDLE", "takes no memory"
    )
    refused(lambda: make(MEM_TYPE="MMAPED_FILE", MEM_HANDLE=fd), "FILE_DESCRIPTOR", "needs a ")
    refused(
        lambda: npu.create_tensor("uint8", (1, N), {"MEM_TYPE": "CPU_VA"}, mem_type="CPU_VA"),
        "MEM_TYPE", "properties were passed as a map",
    )  # fmt: skip


def test_files(npu: Any, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    refused(
        lambda: npu.create_tensor("uint8", (1, 101), FileDescriptor(path)), "FILE_DESCRIPTOR",
        "has 100 bytes",
    )  # fmt: skip
    refused(
        lambda: npu.create_tensor("uint8", (1, 10), FileDescriptor(path, 8)), "FILE_DESCRIPTOR",
        "offset 8 is not a multiple",
    )  # fmt: skip
    refused(
        lambda: npu.create_tensor("uint8", (1, 10), FileDescriptor(path), tensor_type="OUTPUT"),
        "TENSOR_TYPE", "can be INPUT",
    )  # fmt: skip
    with pytest.raises(FileNotFoundError):
        npu.create_tensor("uint8", (1, 10), FileDescriptor(tmp_path / "none"))


def test_tensors_in_imports(npu: Any, shared: Any) -> None:
    memory = npu.import_memory(shared(N).fd)
    refused(lambda: memory.tensor("uint8", (1, 10), N - 9), "offset", "4087 to 4097")
    refused(lambda: memory.tensor("uint8", (1, 10), -1), "offset", "-1 to 9")
    refused(lambda: memory.tensor("float32", (1, 10), 2), "offset", "not a multiple of the size")
    refused(lambda: npu.import_memory(N, mem_type="CPU_VA"), "MEM_HANDLE", "an address has no size")
    refused(lambda: npu.import_memory(None), "MEM_TYPE", "L0_INTERNAL_BUF has no size")


def test_buffers_that_are_held_as_input(npu: Any, shared: Any) -> None:
    """Through another import of the same buffer the device could write to it."""
    fd = shared(N).fd
    other = os.dup(fd)
    try:
        held = npu.create_tensor("uint8", (1, N), fd, "SHARED_BUF", "INPUT")
        for descriptor in (fd, other):
            refused(
                partial(npu.create_tensor, "uint8", (1, N), descriptor),
                "TENSOR_TYPE", "may only read this buffer",
            )  # fmt: skip
            npu.create_tensor("uint8", (1, N), descriptor, tensor_type="INPUT")
        npu.create_tensor("uint8", (1, N), shared(N).fd)
        del held
        npu.create_tensor("uint8", (1, N), fd)
    finally:
        os.close(other)


def test_a_dma_buffer_held_as_input_is_not_an_output(npu: Any) -> None:
    """Neither by its descriptor, nor by its pages, which the CPU maps."""
    pytest.importorskip("samebytes_dma", reason="missing package: samebytes-dma")
    buffer = samebytes.context("dma").allocate((1, N), "uint8")
    mapped = buffer.map("cpu", "rw")
    held = npu.create_tensor("uint8", (1, N), buffer.handle("dma_fd"), tensor_type="INPUT")
    with pytest.raises(SamebytesError, match="may only read this buffer"):
        buffer.map(npu, "w")
    refused(
        lambda: npu.create_tensor("uint8", (1, N), mapped.native, "CPU_VA"),
        "TENSOR_TYPE", "may only read this buffer",
    )  # fmt: skip
    assert buffer.map(npu, "r")
    x = ops.parameter([1, N], np.uint8)
    model = openvino.Model([ops.result(ops.add(x, ops.constant(np.uint8(1))))], [x])
    request = samebytes_openvino.InferRequest(npu.compile_model(model))
    with pytest.raises(SamebytesError, match="may only read this buffer"):
        request.set_output_tensor(0, buffer)
    del held
    request.set_output_tensor(0, buffer)


def test_states_of_something_else() -> None:
    from samebytes_openvino.intel_npu import get_states, reset_states, set_states

    for wrong in (lambda: get_states(3), lambda: reset_states(None), lambda: set_states(3, {})):
        with pytest.raises(UnsupportedObjectError, match="states are of an InferRequest"):
            wrong()


@pytest.mark.usefixtures("npu")
def test_models_that_are_none(core: Any, tmp_path: Path) -> None:
    from samebytes_openvino import compile_model
    from samebytes_openvino.intel_npu import measure_latency

    for run in (
        lambda m: measure_latency(m, core=core),
        lambda m: compile_model(m, "NPU"),
        lambda m: compile_model(m, "CPU"),
    ):
        with pytest.raises(UnsupportedObjectError, match="nor the path of one"):
            run(None)
        with pytest.raises(FileNotFoundError, match="no such model file"):
            run(tmp_path / "none.xml")


def test_what_the_driver_refuses_names_the_call(npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own message stays, without the places in OpenVINO's sources before it."""

    class Refusing:
        def create_tensor(self, *_: Any) -> Any:
            raise RuntimeError("Exception from src/a.cpp:1:\nL0 zeMemAllocHost result: 0x78000004")

    monkeypatch.setattr(npu, "_native", Refusing())
    with pytest.raises(OpenVINOError, match="zeMemAllocHost result: 0x78000004") as caught:
        npu.allocate((1, 8))
    assert caught.value.call == "RemoteContext.create_tensor"
    assert "a.cpp" not in str(caught.value)


def test_memory_of_the_plugins_own_cannot_be_exported(npu: Any) -> None:
    """The Linux driver exports only what was allocated for export: there is no descriptor."""
    tensor = npu.allocate((1, N))
    with pytest.raises(UnknownNameError):
        tensor.handle("dma_fd")
    with pytest.raises((SamebytesError, LookupError)):
        tensor.map("dma")


def test_a_region_has_no_address(npu: Any) -> None:
    """OpenVINO reports that of the whole, so nobody may use it as the region's."""
    whole = npu.native.create_tensor(openvino.Type.u8, openvino.Shape([4, 8]), {})
    region = openvino.RemoteTensor(whole, openvino.Coordinate([1, 0]), openvino.Coordinate([2, 8]))
    tensor: Any = samebytes.tensor(region)
    assert (tensor.shape, str(tensor.dtype)) == ((1, 8), "uint8")
    for use in (tensor.get, tensor.host_array, lambda: tensor.handle("usm_ptr")):
        with pytest.raises(NotHostVisibleError, match="region"):
            use()
