# SPDX-License-Identifier: Apache-2.0
"""opencl -> cpu: mapped by the driver, in place for USM that the CPU reads, or copied."""

from __future__ import annotations

from typing import Any

import numpy as np

import samebytes
from samebytes import Access, MemoryMapper, Storage, TensorInfo
from samebytes.errors import NativeError
from samebytes.plugins import Refused

from ._host_mapping import map_buffer, map_image, map_svm
from ._queues import working_queue
from ._tensor import OpenCLTensor
from ._usm import copy_usm

__all__ = ["DeviceUSMToCpu", "HostUSMToCpu", "OpenCLToCpu"]


_MAPS = {"buffer": map_buffer, "image": map_image, "svm": map_svm}


class OpenCLToCpu(MemoryMapper):
    """Buffers, images and SVM, which the driver makes host-visible until the mapping is released.

    "w" promises that every byte will be written, so the old ones need not be fetched. Several
    mappings of the same bytes for writing are one mapping.
    """

    __slots__ = ()

    def accepts(self, item: OpenCLTensor) -> str | None:
        """USM is not mapped."""
        kind = item.kind
        if kind.startswith("usm"):
            return f"{kind} is not mapped: the CPU reads it in place, or never"
        return None

    def connect(
        self, item: OpenCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """An array over the mapped bytes."""
        queue = working_queue(item.context)
        info, kind = item.info, item.kind
        if not info.size:
            return np.empty(info.shape, info.dtype.carrier), _lazy(info), None
        try:
            mapping = _MAPS[kind](item, access, queue)
        except NativeError as error:
            raise Refused(
                f"{error}; another mapping of these bytes may have to be closed first"
            ) from error
        return _array(mapping, mapping.layout), _lazy(info), mapping


class HostUSMToCpu(MemoryMapper):
    """Host and shared USM, which the CPU reads in place."""

    __slots__ = ()

    def accepts(self, item: OpenCLTensor) -> str | None:
        """Only that."""
        kind = item.kind
        if kind == "usm_device":
            return "the CPU cannot read device USM in place, but a copy of it"
        return None if kind.startswith("usm") else f"{kind} memory is not USM"

    def connect(
        self, item: OpenCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """An array over the bytes, once the queue is done with them."""
        queue = working_queue(item.context)
        if not queue.ordered:
            queue.finish()
        native, info = item.native, item.info
        storage = Storage(
            address=native.pointer,
            nbytes=native.nbytes,
            keep=item.storage,
            readonly=access == "r",
            wait=queue.finish if queue.ordered else None,
        )
        return _array(storage, info), _lazy(info), storage


class DeviceUSMToCpu(MemoryMapper):
    """Device USM, copied into memory of the CPU by the device."""

    __slots__ = ()

    def accepts(self, item: OpenCLTensor) -> str | None:
        """All other memory is mapped without a copy."""
        return None if item.kind == "usm_device" else f"{item.kind} memory is mapped, not copied"

    def connect(
        self, item: OpenCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """New pages with the tensor's bytes, gaps included."""
        queue = working_queue(item.context)
        info = item.info
        _, nbytes = info.extent
        pages = samebytes.context("cpu").allocate((nbytes,), zeroed=False).storage
        if nbytes:
            copy_usm(item.context, queue.handle, pages.address, item.native.pointer, nbytes)
        if queue.ordered:
            # The copy may still run when everybody has dropped the result: then it must be waited
            # for, or it would write into pages that were given back.
            storage = Storage(
                queue.finish, address=pages.address, nbytes=nbytes, readonly=True,
                keep=(pages, item.storage), wait=queue.finish,
            )  # fmt: skip
        else:
            queue.finish()
            storage = Storage(address=pages.address, nbytes=nbytes, keep=pages, readonly=True)
        return _array(storage, info), _lazy(info), storage


def _array(storage: Storage, layout: TensorInfo) -> np.ndarray[Any, Any]:
    whole = np.asarray(storage)
    if layout.dtype.packed:
        return whole[: layout.nbytes]
    return np.ndarray(layout.shape, layout.dtype.carrier, whole, 0, layout.strides)


def _lazy(info: TensorInfo) -> TensorInfo | None:
    return info if info.dtype.numpy is None else None
