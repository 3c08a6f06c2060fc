# SPDX-License-Identifier: Apache-2.0
"""USM to and from CPU memory and DMA-BUFs. By hand: only the driver's functions."""

from __future__ import annotations

import os
from ctypes import c_uint8, c_void_p
from typing import Any

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along
from samebytes.plugins import data_address

from .._abi.constants import ExternalMemoryType, MemoryType
from .._abi.structures import (
    ze_external_memmap_sysmem_ext_desc_t,
    ze_external_memory_import_fd_t,
)
from .._context import LevelZeroContext
from .._fd_rules import fd_rules
from .._usm import allocate, free, query_fd

__all__ = [
    "dma_again", "dma_first", "frame_to_dma", "pages_again", "pages_first", "to_cpu", "to_dma",
]  # fmt: skip


def _context() -> LevelZeroContext:
    made = sb.context("level_zero")
    assert isinstance(made, LevelZeroContext)
    return made


def _whole_pages(width: int, height: int) -> tuple[int]:
    return (-(-width * height * 3 // 4096) * 4096,)


def to_cpu(width: int, height: int) -> Ways:
    """USM that the CPU reads in place."""
    tensor, cpu = _context().allocate((height, width, 3)), sb.context("cpu")
    go, nbytes = along("level_zero -> cpu tensor alias", tensor, cpu), width * height * 3
    address = tensor.handle("usm_ptr")

    def by_hand() -> Any:
        memory: Any = (c_uint8 * nbytes).from_address(address)  # numpy's stubs know no ctypes
        return np.frombuffer(memory, np.uint8)

    return Ways(ours=lambda: go(tensor), by_hand=by_hand, copying=lambda: by_hand().copy())


def _import_pages(context: LevelZeroContext, address: int, nbytes: int) -> None:
    native = context.native_context()
    extension = ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=address, size=nbytes)
    made = c_void_p()
    allocate(made, native, nbytes, MemoryType.HOST, 0, extension)
    free(native, made)


def pages_first(width: int, height: int) -> Ways:
    """Pages that the driver has not seen."""
    context, cpu, (nbytes,) = _context(), sb.context("cpu"), _whole_pages(width, height)

    def fresh() -> Any:
        return cpu.allocate((nbytes,))

    return Ways(
        ours=along("cpu -> level_zero tensor import", fresh(), context),
        by_hand=lambda t: _import_pages(context, data_address(t.native), nbytes),
        fresh=fresh,
    )


def pages_again(width: int, height: int) -> Ways:
    """The same pages again."""
    context, (nbytes,) = _context(), _whole_pages(width, height)
    tensor = sb.context("cpu").allocate((nbytes,))
    go, address = (
        along("cpu -> level_zero tensor import", tensor, context),
        data_address(tensor.native),
    )
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _import_pages(context, address, nbytes))


def to_dma(width: int, height: int) -> Ways:
    """A descriptor of the memory."""
    context, dma = _context(), sb.context("dma")
    tensor = context.allocate((height, width, 3), exportable=True)
    return _exported(context, tensor, tensor.native, "level_zero -> dma tensor import", dma)


def frame_to_dma(width: int, height: int) -> Ways:
    """One descriptor for both planes."""
    context, dma = _context(), sb.context("dma")
    frame = context.allocate_frame("NV12", width, height, exportable=True)
    edge = "level_zero -> dma frame import"
    return _exported(context, frame, frame.planes[0].native, edge, dma)


def _exported(
    context: LevelZeroContext, item: Any, pointer: Any, edge: str, dma: sb.Context
) -> Ways:
    go, native, address = along(edge, item, dma), context.native_context(), pointer.address
    ours = fd_rules(native).export_is_ours

    def by_hand() -> None:
        number = query_fd(native, address).detach()
        if ours:
            os.close(number)

    return Ways(ours=lambda: go(item), by_hand=by_hand)


def _import_fd(context: LevelZeroContext, fd: int, nbytes: int) -> None:
    native = context.native_context()
    given = os.dup(fd) if fd_rules(native).import_takes else fd
    kind = ExternalMemoryType.DMA_BUF
    extension = ze_external_memory_import_fd_t(flags=kind, fd=given)
    made = c_void_p()
    allocate(made, native, nbytes, MemoryType.HOST, 0, extension)
    free(native, made)


def dma_first(width: int, height: int) -> Ways:
    """A buffer that the driver has not seen."""
    context, dma, (nbytes,) = _context(), sb.context("dma"), _whole_pages(width, height)

    def fresh() -> Any:
        return dma.allocate((nbytes,))

    return Ways(
        ours=along("dma -> level_zero tensor import", fresh(), context),
        by_hand=lambda tensor: _import_fd(context, tensor.handle("dma_fd"), nbytes),
        fresh=fresh,
    )


def dma_again(width: int, height: int) -> Ways:
    """The same buffer again."""
    context, (nbytes,) = _context(), _whole_pages(width, height)
    tensor = sb.context("dma").allocate((nbytes,))
    go, fd = along("dma -> level_zero tensor import", tensor, context), tensor.handle("dma_fd")
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _import_fd(context, fd, nbytes))
