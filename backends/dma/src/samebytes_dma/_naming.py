# SPDX-License-Identifier: Apache-2.0
"""DMA_BUF_SET_NAME: name a DMA-BUF, for tools that look for leaks."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from samebytes.errors import LayoutError, NativeError, UnsupportedObjectError

from ._abi import DMA_BUF_NAME_LEN, DMA_BUF_SET_NAME, ioctl

if TYPE_CHECKING:
    from ._buffer import DMABuffer

__all__ = ["set_name"]


def set_name(buffer: DMABuffer, name: str) -> None:
    """See `DMABuffer.set_name`."""
    if not buffer.is_dma_buf:
        raise UnsupportedObjectError(f"a {buffer.kind} is not a DMA-BUF and cannot be named")
    # /proc shows the name in its own line, where a newline would begin another one.
    if not name.isprintable() or len(name.encode()) >= DMA_BUF_NAME_LEN:
        raise LayoutError(
            f"{name!r} cannot be the name of a DMA-BUF: it is printable and has no more than "
            f"{DMA_BUF_NAME_LEN - 1} bytes in UTF-8"
        )
    try:
        ioctl(buffer.fileno(), DMA_BUF_SET_NAME, ctypes.create_string_buffer(name.encode()))
    except OSError as error:
        raise NativeError("DMA_BUF_SET_NAME", error.errno or 0, error.strerror or "") from error
