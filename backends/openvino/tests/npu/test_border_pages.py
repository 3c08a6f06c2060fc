# SPDX-License-Identifier: Apache-2.0
"""Memory of the CPU that shares its first and last page with other data: read in place only."""

from __future__ import annotations

import gc
import mmap
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import CopyRequiredError, RouteError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_npu import PropertyError

N = mmap.PAGESIZE
Array = np.ndarray[Any, Any]
Piece = Callable[..., Array]

pytestmark = pytest.mark.usefixtures("npu")


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def kind(tensor: Any) -> str:
    return str(tensor.params["TENSOR_TYPE"])


@pytest.fixture
def piece() -> Piece:
    """Makes arrays that lie on common pages, as those of an allocator do: none knows the others."""
    arena = mmap.mmap(-1, 8 * N)

    def make(start: int, nbytes: int, readonly: bool = False) -> Array:
        view = memoryview(arena)
        return np.frombuffer(view.toreadonly() if readonly else view, np.uint8, nbytes, start)

    return make


@pytest.mark.parametrize(("start", "nbytes"), [(37, 2 * N), (N - 1, 2), (N + 64, 100), (0, N + 1)])
def test_read_where_it_lies(npu: Any, infer: Any, piece: Piece, start: int, nbytes: int) -> None:
    array = piece(start, nbytes)
    array[...] = np.arange(nbytes) % 100
    x = samebytes.tensor(array.reshape(1, -1)).map("openvino:NPU")
    assert x.handle("usm_ptr") == address(array)
    assert x.readonly
    y = npu.allocate((1, nbytes))
    infer(x.native, y.native)
    assert (y.host_array()[0] == array * 2).all()


@pytest.mark.parametrize("access", ["w", "rw"])
def test_the_device_writes_to_no_common_page(piece: Piece, access: Any) -> None:
    tensor = samebytes.tensor(piece(37, 2 * N))
    held = tensor.map("openvino:NPU")
    with pytest.raises(RouteError, match=r"8192 bytes at 0x\w+, does not consist of whole pages"):
        tensor.map("openvino:NPU", access)
    assert held.handle("usm_ptr") == tensor.handle("data")
    route = samebytes.route("cpu", "openvino:NPU", access)
    assert "takes only whole pages, unless it is only read" in route.explain()


def test_the_remedy_for_padded_rows_names_the_call_that_binds_them(piece: Piece) -> None:
    rows = samebytes.tensor(piece(0, 8 * 64).reshape(8, 64)[:, :48])
    with pytest.raises(CopyRequiredError, match=r"set_frame\(frame, names\)"):
        rows.map("openvino:NPU")


def test_a_page_that_the_npu_holds_in_part(piece: Piece) -> None:
    first = samebytes.tensor(piece(0, N + 10)).map("openvino:NPU")
    second = samebytes.tensor(piece(N + 100, N))
    with pytest.raises(RouteError, match="it shares a page with other memory that the NPU holds"):
        second.map("openvino:NPU")
    first.close()
    assert second.map("openvino:NPU").handle("usm_ptr") == second.handle("data")


def test_a_page_that_the_npu_holds_with_others(npu: Any, infer: Any, piece: Piece) -> None:
    """It is used again, and still each mapping keeps the memory that it lies in."""
    large, small = piece(10, 3 * N), piece(3 * N + 100, 8)
    small[...] = 9
    one, alive = samebytes.tensor(large).map("openvino:NPU"), weakref.ref(small)
    other = samebytes.tensor(small.reshape(1, -1)).map("openvino:NPU")
    assert other.handle("usm_ptr") == address(small)
    native = other.native
    del one, large, other, small
    gc.collect()
    assert alive() is not None
    y = npu.allocate((1, 8))
    infer(native, y.native)
    assert (y.host_array() == 18).all()
    del native
    gc.collect()
    assert alive() is None


def test_what_is_held_for_reading_is_not_written(piece: Piece) -> None:
    """The plugin keeps one import of a page: the device would write to what it may only read."""
    reading = samebytes.tensor(piece(0, 3 * N, readonly=True)).map("openvino:NPU")
    assert kind(reading) == "INPUT"
    whole, part = samebytes.tensor(piece(0, 3 * N)), samebytes.tensor(piece(N, N))
    assert kind(whole.map("openvino:NPU")) == "INPUT"
    for tensor in (whole, part):
        with pytest.raises(
            RouteError, match=r"TENSOR_TYPE: the NPU may only read these pages .* as INPUT"
        ):
            tensor.map("openvino:NPU", "rw")
    reading.close()
    assert kind(part.map("openvino:NPU", "rw")) == "BINDED"


def test_no_request_writes_to_what_is_held_for_reading(
    npu: Any, doubling: Callable[..., Any], piece: Piece
) -> None:
    reading = samebytes.tensor(piece(0, N, readonly=True)).map(npu)
    output = piece(0, N).reshape(1, -1)
    request = InferRequest(compile_model(doubling((1, N)), npu))
    with pytest.raises(CopyRequiredError, match="as INPUT, of read-only memory"):
        request.set_tensor("y", output)
    reading.close()
    request.set_tensor("y", output)
    request.infer([np.full((1, N), 4, np.uint8)])
    assert (output == 8).all()


# Where each plane of I420 begins, 4 N bytes of luma and twice N of chroma.
@pytest.mark.parametrize(
    ("starts", "readonly", "kinds"),
    [
        # Each on its own pages.
        ((0, 4 * N, 5 * N), "u", ["BINDED", "INPUT", "BINDED"]),
        # They share pages, also where a plane lies before another one, or inside of it.
        ((100, 4 * N + 100, 5 * N + 100), "", ["BINDED"] * 3),
        ((100, 4 * N + 100, 5 * N + 100), "u", ["INPUT"] * 3),
        ((2 * N + 100, N + 100, 100), "", ["BINDED"] * 3),
        ((0, N + 100, 3 * N + 100), "v", ["INPUT"] * 3),
        # The last one shares a page with the second alone.
        ((0, 4 * N - 100, 5 * N - 100), "v", ["INPUT"] * 3),
    ],
)
def test_planes_on_common_pages(
    piece: Piece, starts: tuple[int, ...], readonly: str, kinds: list[str]
) -> None:
    """One import for all; where one of them may only be read, it is for reading."""
    rows = 4 * N // 64
    shapes = {"y": (rows, 64), "u": (rows // 2, 32), "v": (rows // 2, 32)}
    planes = [
        piece(start, int(np.prod(shape)), name == readonly).reshape(shape)
        for start, (name, shape) in zip(starts, shapes.items(), strict=True)
    ]
    frame = samebytes.frame(planes, format="I420", width=64, height=rows)
    mapped = frame.map("openvino:NPU")
    assert [p.handle("usm_ptr") for p in mapped] == [address(plane) for plane in planes]
    assert [kind(p) for p in mapped] == kinds
    for plane, tensor in zip(planes, mapped, strict=True):
        if plane.flags.writeable:
            plane[...] = 3
            assert (tensor.host_array() == 3).all()


def test_more_than_a_tensor_made_over_a_part_is_refused_by_name(npu: Any, piece: Piece) -> None:
    """The plugin alone says that the range is out of bounds, and not of what."""
    memory = piece(0, 2 * N)
    part = npu.create_tensor("uint8", (1, N), memory[:N])
    reason = "it shares a page with other memory that the NPU holds"
    with pytest.raises(RouteError, match=reason):
        samebytes.tensor(memory).map("openvino:NPU", "rw")
    with pytest.raises(PropertyError, match=reason):
        npu.create_tensor("uint8", (1, 2 * N), memory)
    part.close()
    del part
    assert samebytes.tensor(memory).map("openvino:NPU", "rw").handle("usm_ptr") == address(memory)
