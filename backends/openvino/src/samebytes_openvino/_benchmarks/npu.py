# SPDX-License-Identifier: Apache-2.0
"""Tensors of the NPU, beside the properties that OpenVINO takes for them."""

from __future__ import annotations

from ctypes import c_uint8
from functools import partial
from math import prod
from typing import Any

import numpy as np
import openvino as ov

import samebytes as sb
from samebytes.benchmarks import Ways, along
from samebytes.plugins import data_address

__all__ = [
    "copied", "copied_to_cpu", "dma_again", "dma_first", "dma_frame", "frame_copied",
    "frame_to_cpu", "frame_to_level_zero", "pages_again", "pages_first", "pages_frame", "to_cpu",
    "to_level_zero", "usm_again", "usm_first", "usm_frame",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _npu() -> Any:
    return sb.context("openvino:NPU")


def _flat(width: int, height: int) -> tuple[int, int]:
    """The size of a picture in whole pages."""
    return (1, -(-width * height * 3 // 4096) * 4096)


def _tensor_by_hand(npu: Any, shape: Any, kind: str, handle: int) -> Any:
    properties = {"MEM_TYPE": kind, "TENSOR_TYPE": "BINDED", "MEM_HANDLE": hex(handle)}
    return npu.native.create_tensor(ov.Type.u8, ov.Shape(list(shape)), properties)


def _first(node: str, edge: str, shape: Any, **how: Any) -> Ways:
    """Memory that OpenVINO has not seen."""
    npu, context = _npu(), sb.context(node)

    def fresh() -> tuple[Any, Any]:
        made: Any = context
        tensor = made.allocate(shape, **how)
        # The export, which happens once for the memory, is not measured.
        return tensor, tensor.map("dma")

    go = along(edge, fresh()[0], npu)
    return Ways(
        ours=lambda pair: go(pair[0]),
        by_hand=lambda pair: _tensor_by_hand(npu, shape, "SHARED_BUF", pair[1].handle("dma_fd")),
        fresh=fresh,
    )


def _again(node: str, edge: str, shape: Any, **how: Any) -> Ways:
    """The same memory."""
    npu, context = _npu(), sb.context(node)
    made: Any = context
    tensor = made.allocate(shape, **how)
    go, exported = along(edge, tensor, npu), tensor.map("dma")
    fd = exported.handle("dma_fd")

    def by_hand() -> object:
        return _tensor_by_hand(npu, shape, "SHARED_BUF", fd), exported

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def _frame(node: str, edge: str, width: int, height: int, **how: Any) -> Ways:
    npu, context = _npu(), sb.context(node)
    made: Any = context
    frame = made.allocate_frame("NV12", width, height, **how)
    go = along(edge, frame, npu)
    return Ways(ours=lambda: list(go(frame)))


def dma_first(width: int, height: int) -> Ways:
    """A buffer that OpenVINO has not seen."""
    return _first("dma", "dma -> openvino:NPU tensor import", _flat(width, height))


def dma_again(width: int, height: int) -> Ways:
    """The same buffer."""
    return _again("dma", "dma -> openvino:NPU tensor import", _flat(width, height))


def dma_frame(width: int, height: int) -> Ways:
    """Both planes; OpenVINO's own calls cannot begin inside a buffer."""
    return _frame("dma", "dma -> openvino:NPU frame import", width, height)


def usm_first(width: int, height: int) -> Ways:
    """USM that OpenVINO has not seen."""
    edge = "level_zero -> openvino:NPU tensor import"
    return _first("level_zero", edge, _flat(width, height), exportable=True)


def usm_again(width: int, height: int) -> Ways:
    """The same USM."""
    edge = "level_zero -> openvino:NPU tensor import"
    return _again("level_zero", edge, _flat(width, height), exportable=True)


def usm_frame(width: int, height: int) -> Ways:
    """Both planes."""
    edge = "level_zero -> openvino:NPU frame import"
    return _frame("level_zero", edge, width, height, exportable=True)


def pages_first(width: int, height: int) -> Ways:
    """Pages that OpenVINO has not seen."""
    npu, cpu, shape = _npu(), sb.context("cpu"), _flat(width, height)

    def fresh() -> Any:
        return cpu.allocate(shape)

    go = along("cpu -> openvino:NPU tensor alias", fresh(), npu)
    return Ways(
        ours=go,
        by_hand=lambda tensor: _tensor_by_hand(npu, shape, "CPU_VA", data_address(tensor.native)),
        fresh=fresh,
    )


def pages_again(width: int, height: int) -> Ways:
    """The same pages."""
    npu, shape = _npu(), _flat(width, height)
    tensor = sb.context("cpu").allocate(shape)
    go, address = (
        along("cpu -> openvino:NPU tensor alias", tensor, npu),
        data_address(tensor.native),
    )
    return Ways(
        ours=lambda: go(tensor), by_hand=lambda: _tensor_by_hand(npu, shape, "CPU_VA", address)
    )


def pages_frame(width: int, height: int) -> Ways:
    """Both planes."""
    return _frame("cpu", "cpu -> openvino:NPU frame alias", width, height)


def _upload(npu: Any, array: Array) -> object:
    made = npu.native.create_tensor(ov.Type.u8, ov.Shape(list(array.shape)), {})
    made.copy_from(ov.Tensor(array, shared_memory=True))
    return made


def copied(width: int, height: int) -> Ways:
    """A copy of an array anywhere in memory."""
    npu, array = _npu(), np.ones(_flat(width, height), np.uint8)
    tensor = sb.tensor(array)
    go = along("cpu -> openvino:NPU tensor copy", tensor, npu)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _upload(npu, array))


def frame_copied(width: int, height: int) -> Ways:
    """Both planes."""
    npu = _npu()
    arrays = [np.ones(shape, np.uint8) for shape in _shapes(width, height)]
    frame = sb.frame(
        [arrays[0][0, :, :, 0], arrays[1][0]], format="NV12", width=width, height=height
    )
    go = along("cpu -> openvino:NPU frame copy", frame, npu)
    return Ways(ours=lambda: list(go(frame)), by_hand=lambda: [_upload(npu, a) for a in arrays])


def _shapes(width: int, height: int) -> list[tuple[int, ...]]:
    return [(1, height, width, 1), (1, height // 2, width // 2, 2)]


def _view(native: Any, shape: tuple[int, ...]) -> Array:
    return _array_at(_address(native), shape)


def _address(native: Any) -> int:
    return int(native.get_params()["MEM_HANDLE"].astype(str), 16)


def to_cpu(width: int, height: int) -> Ways:
    """An array over the plugin's memory."""
    shape, cpu = _flat(width, height), sb.context("cpu")
    tensor = _npu().allocate(shape)
    native = tensor.native
    go = along("openvino:NPU -> cpu tensor alias", tensor, cpu)
    return Ways(
        ours=lambda: go(tensor),
        by_hand=lambda: _view(native, shape),
        copying=lambda: _view(native, shape).copy(),
    )


def _array_at(address: int, shape: tuple[int, ...]) -> Array:
    memory: Any = (c_uint8 * prod(shape)).from_address(address)  # numpy's stubs know no ctypes
    array: Array = np.frombuffer(memory, np.uint8).reshape(shape)
    return array


def _places(frame: sb.Frame, width: int, height: int) -> list[tuple[int, tuple[int, ...]]]:
    """The address and shape of each plane."""
    addresses = [data_address(plane.map("cpu").native) for plane in frame.planes]
    return list(zip(addresses, _shapes(width, height), strict=True))


def frame_to_cpu(width: int, height: int) -> Ways:
    """Both planes, at addresses that are known."""
    frame, cpu = _npu().allocate_frame("NV12", width, height), sb.context("cpu")
    views = [partial(_array_at, *place) for place in _places(frame, width, height)]
    go = along("openvino:NPU -> cpu frame alias", frame, cpu)
    return Ways(
        ours=lambda: go(frame),
        by_hand=lambda: [view() for view in views],
        copying=lambda: [view().copy() for view in views],
    )


def copied_to_cpu(width: int, height: int) -> Ways:
    """A copy by OpenVINO."""
    tensor, cpu = _npu().allocate(_flat(width, height)), sb.context("cpu")
    go = along("openvino:NPU -> cpu tensor copy", tensor, cpu)

    def by_hand() -> object:
        made = ov.Tensor(ov.Type.u8, tensor.native.get_shape())
        tensor.native.copy_to(made)
        return made

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def to_level_zero(width: int, height: int) -> Ways:
    """The same pointer in the plugin's ze_context."""
    npu = _npu()
    tensor, target = npu.allocate(_flat(width, height)), npu.derive("level_zero")
    go = along("openvino:NPU -> level_zero tensor alias", tensor, target)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _address(tensor.native))


def frame_to_level_zero(width: int, height: int) -> Ways:
    """The pointers of both planes. By hand they are at known places of one tensor."""
    npu = _npu()
    frame, target = npu.allocate_frame("NV12", width, height), npu.derive("level_zero")
    go = along("openvino:NPU -> level_zero frame alias", frame, target)
    return Ways(ours=lambda: list(go(frame)))
