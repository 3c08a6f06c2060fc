# SPDX-License-Identifier: Apache-2.0
"""`__array__` and `__dlpack__` of tensors."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from samebytes._counting import count_copy
from samebytes.errors import LayoutError

from ._to_dlpack import dlpack

__all__ = ["as_array", "as_capsule"]


class HostReadable(Protocol):
    """A Tensor, as its exchange with array libraries knows it."""

    context: Any
    readonly: bool

    @property
    def info(self) -> Any: ...
    def host_array(self) -> np.ndarray[Any, Any]: ...


def as_array(tensor: HostReadable, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """`tensor` as a numpy array: its own memory, if numpy did not ask for another dtype or a copy.

    Elements that numpy has no dtype for come as their carrier's. Copies are counted.

    Raises:
        LayoutError: another dtype was asked for, and copy=False.
        NotHostVisibleError: the CPU cannot read the memory.
    """
    array = tensor.host_array()
    wanted = array.dtype if dtype is None else np.dtype(dtype)
    if copy or wanted != array.dtype:
        if copy is False:
            raise LayoutError(
                f"a {array.dtype} tensor as {wanted} needs a copy, and copy=False was passed"
            )
        converted = array.astype(wanted)
        count_copy(f"{tensor.context.node} -> numpy", converted.nbytes)
        return converted
    if tensor.readonly and array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def as_capsule(
    tensor: HostReadable,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """A DLPack capsule over `tensor`; see `dlpack`. Copies are counted.

    Raises:
        ExportError: DLPack cannot express the request or the layout.
        NotHostVisibleError: the CPU cannot read the memory.
    """

    def on_copy(nbytes: int) -> None:
        count_copy(f"{tensor.context.node} -> dlpack", nbytes)

    return dlpack(
        tensor.host_array(),
        tensor.info.dtype,
        stream=stream,
        max_version=max_version,
        dl_device=dl_device,
        copy=copy,
        readonly=tensor.readonly,
        on_copy=on_copy,
    )
