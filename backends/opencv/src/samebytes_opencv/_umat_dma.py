# SPDX-License-Identifier: Apache-2.0
"""dma -> opencv_umat: a UMat over the DMA-BUF, by an OpenCV that imports them.

The calls are those of OpenCV's pull request 29760: createUMatFromDmaBuf(fd, size, step, rows, cols,
type), which leaves the descriptor to its caller and knows no offset, acquireExternalMemory before
OpenCV uses the memory, and releaseExternalMemory, which waits, before others do.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2

from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.plugins import ImportCache, Refused, deferred, memory_size

from ._layout import why_not
from ._umat_layout import mat_type
from ._umat_tensor import UMatStorage

__all__ = ["DmaToUMat"]


class _ImportedUMat(Storage):
    """A UMat over a DMA-BUF: acquired now, released with its last mapping."""

    __slots__ = ("native",)

    native: Any

    def __init__(self, whole: Any, native: Any, keep: Storage) -> None:
        super().__init__(keep=keep)
        self.native = native
        ocl: Any = cv2.ocl  # its stubs lack these calls
        ocl.acquireExternalMemory(whole)
        self.release = partial(ocl.releaseExternalMemory, whole)
        self.flush = partial(_let_see, ocl, whole)


# By (id of the DMA-BUF's storage, where in it, layout): an import is acquired as long as a mapping
# lives, and one UMat serves all mappings of the same place.
_imports: ImportCache[_ImportedUMat] = ImportCache()


class DmaToUMat(MemoryMapper):
    """A UMat over the DMA-BUF, acquired while it is mapped; flush() shows writes to others."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """None unless this OpenCV imports no DMA-BUFs."""
        if hasattr(cv2.ocl, "createUMatFromDmaBuf"):
            return None
        return f"OpenCV {cv2.__version__} has no createUMatFromDmaBuf"

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The UMat. If the tensor begins inside the DMA-BUF, it is a part of a larger UMat.

        Raises:
            Refused: a layout or an offset that no UMat can have; or OpenCV or its device refuses
                the descriptor.
        """
        info, fd, offset = item.info, item.handle("dma_fd"), item.handle("offset")
        reason = why_not(info)
        if reason is None and info.ndim not in (2, 3):
            reason = f"a UMat has rows, columns and optional channels, not shape {info.shape}"
        if reason is not None:
            raise Refused(reason)
        item.wait()
        make = partial(_imported, fd, offset, info, item.storage)
        try:
            imported = _imports.in_use((id(item.storage), offset, info), make, _see_writes)
        except (LayoutError, cv2.error) as error:
            raise Refused(f"OpenCV does not import this DMA-BUF: {error}") from error
        return imported.native, info, UMatStorage(imported.native, keep=imported)


def _imported(fd: int, offset: int, info: TensorInfo, keep: Storage) -> _ImportedUMat:
    ocl: Any = cv2.ocl
    channels = info.shape[2] if info.ndim == 3 else 1
    kind = mat_type(info.dtype, channels)
    pixel = channels * (info.dtype.itemsize or 1)
    rows, columns = info.shape[:2]
    step = info.strides[0] if info.strides and rows > 1 else offset + columns * pixel
    if not offset:
        whole = ocl.createUMatFromDmaBuf(fd, memory_size(fd), step, rows, columns, kind)
        return _ImportedUMat(whole, whole, keep)
    row, rest = divmod(offset, step)
    column, odd = divmod(rest, pixel)
    if odd or (column + columns) * pixel > step:
        raise LayoutError(
            f"it begins at byte {offset} and has rows of {step} bytes: OpenCV takes only images "
            "that are part of one which begins where the memory begins"
        )
    whole = ocl.createUMatFromDmaBuf(fd, memory_size(fd), step, row + rows, column + columns, kind)
    with deferred():  # as CpuToUMat
        part = cv2.UMat(whole, [row, row + rows], [column, column + columns])
    return _ImportedUMat(whole, part, keep)


def _let_see(ocl: Any, whole: Any) -> None:
    ocl.releaseExternalMemory(whole)
    ocl.acquireExternalMemory(whole)


def _see_writes(imported: _ImportedUMat) -> None:
    """Make writes that others made since the last mapping visible."""
    if imported.flush is not None:
        imported.flush()
