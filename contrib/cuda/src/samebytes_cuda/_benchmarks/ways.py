# SPDX-License-Identifier: Apache-2.0
"""CUDA memory to and from CPU memory and DMA-BUFs."""

from __future__ import annotations

import os
from ctypes import c_uint8
from typing import Any

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along
from samebytes.plugins import data_address

from .._driver import Current, call, driver

__all__ = [
    "downloaded", "from_dma", "pages_first", "pinned_to_cpu", "pinned_to_cuda", "to_dma",
    "uploaded",
]  # fmt: skip


def _context() -> Any:
    return sb.context("cuda")


def pinned_to_cpu(width: int, height: int) -> Ways:
    """Pinned memory that the CPU reads in place."""
    tensor, cpu = _context().allocate((height, width, 3), kind="pinned"), sb.context("cpu")
    go, nbytes = along("cuda -> cpu tensor alias", tensor, cpu), width * height * 3
    address = tensor.handle("cuda_ptr")

    def by_hand() -> Any:
        memory: Any = (c_uint8 * nbytes).from_address(address)  # numpy's stubs know no ctypes
        return np.frombuffer(memory, np.uint8)

    return Ways(ours=lambda: go(tensor), by_hand=by_hand, copying=lambda: by_hand().copy())


def downloaded(width: int, height: int) -> Ways:
    """A copy into new CPU memory."""
    context, cpu, shape = _context(), sb.context("cpu"), (height, width, 3)
    tensor = context.allocate(shape)
    go, address = along("cuda -> cpu tensor copy", tensor, cpu), tensor.handle("cuda_ptr")

    def by_hand() -> object:
        made = np.empty(shape, np.uint8)
        with Current(context.native):
            call(driver.cuMemcpyDtoH, made.ctypes.data, address, made.nbytes)
        return made

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def pinned_to_cuda(width: int, height: int) -> Ways:
    """The original pointer of pinned memory."""
    context = _context()
    array = context.allocate((height, width, 3), kind="pinned").map("cpu", "rw")
    go, address = along("cpu -> cuda tensor alias", array, context), data_address(array.native)

    def by_hand() -> object:
        with Current(context.native):
            return call(driver.cuMemHostGetDevicePointer, address, 0)

    return Ways(ours=lambda: go(array), by_hand=by_hand)


def pages_first(width: int, height: int) -> Ways:
    """Pages that are registered with the driver, and released."""
    context, cpu = _context(), sb.context("cpu")
    nbytes = -(-width * height * 3 // 4096) * 4096

    def fresh() -> Any:
        return cpu.allocate((nbytes,))

    def by_hand(tensor: Any) -> None:
        address = data_address(tensor.native)
        with Current(context.native):
            call(driver.cuMemHostRegister, address, nbytes, 0)
            call(driver.cuMemHostUnregister, address)

    go = along("cpu -> cuda tensor import", fresh(), context)
    return Ways(ours=lambda tensor: go(tensor).close(), by_hand=by_hand, fresh=fresh)


def uploaded(width: int, height: int) -> Ways:
    """A copy into new memory of the device."""
    context, array = _context(), np.ones((height, width, 3), np.uint8)
    tensor = sb.tensor(array)
    go = along("cpu -> cuda tensor copy", tensor, context)

    def by_hand() -> None:
        with Current(context.native):
            address = call(driver.cuMemAlloc, array.nbytes)
            call(driver.cuMemcpyHtoD, address, array.ctypes.data, array.nbytes)
            call(driver.cuMemFree, address)

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def to_dma(width: int, height: int) -> Ways:
    """A descriptor of the allocation."""
    context = _context()
    tensor = context.allocate((height, width, 3), kind="exportable")
    go = along("cuda -> dma tensor import", tensor, sb.context("dma"))
    kind = driver.CUmemRangeHandleType.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
    address = driver.CUdeviceptr(tensor.handle())

    def by_hand() -> None:
        with Current(context.native):
            base, whole = call(driver.cuMemGetAddressRange, address)
            os.close(int(call(driver.cuMemGetHandleForAddressRange, base, whole, kind, 0)))

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def from_dma(width: int, height: int) -> Ways:
    """A DMA-BUF that the driver imports, if it can."""
    context, tensor = _context(), sb.context("dma").allocate((height, width, 3))
    go = along("dma -> cuda tensor import", tensor, context)
    return Ways(ours=lambda: go(tensor))
