# SPDX-License-Identifier: Apache-2.0
"""The edges between CPU memory and OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused

from ._layout import why_not, why_not_array

__all__ = ["CpuToOpenCV", "OpenCVToCpu"]


class CpuToOpenCV(MemoryMapper):
    """cpu -> opencv: the array itself, if OpenCV takes it in place."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The array; a read-only view of it for access "r".

        Raises:
            Refused: OpenCV would copy it.
        """
        array, info = item.native, item.known_info
        if info is None or info.dtype.numpy is not None:
            reason = why_not_array(array.dtype, array.shape, array.strides)
        else:  # the array only carries the bits of a type that numpy lacks, and so does OpenCV
            reason = why_not(info)
        if reason is not None:
            raise Refused(reason)
        if access == "r" and array.flags.writeable:  # as _for(), without its call
            array = array.view()
            array.setflags(False)  # a third of the cost by place
        return array, info, None


class OpenCVToCpu(MemoryMapper):
    """opencv -> cpu: the array that the Mat is."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A plain array over the Mat; read-only for access "r"."""
        native = item.native
        plain = native if type(native) is np.ndarray else native.view(np.ndarray)
        return _for(plain, access), item.known_info, None


def _for(array: np.ndarray[Any, Any], access: Access) -> np.ndarray[Any, Any]:
    if access != "r" or not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # a third of the cost by place
    return view
