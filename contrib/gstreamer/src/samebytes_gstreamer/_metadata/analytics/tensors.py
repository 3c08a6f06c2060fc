# SPDX-License-Identifier: Apache-2.0
"""Outputs of models as GstTensorMeta, on their own memory."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import addressof, c_size_t, c_void_p, memmove, sizeof
from typing import Any

import numpy as np

from samebytes import TensorInfo
from samebytes.errors import SamebytesError
from samebytes.metadata import Entry, InferenceResult

from ..._abi.analytics import GstTensor, GstTensorMeta
from ..._abi.gi import pointer_of
from ..._abi.libraries import glib, gst
from .functions import tensor_functions
from .labels import label_of, quark_of
from .memory import lent, tensor_in

__all__ = ["add_tensors", "copy_tensors", "read_tensors", "remove_tensors"]

_MOST_TENSORS = 256
_MOST_DIMENSIONS = 32
_ROW_MAJOR = 0
# GstTensorDataType; numpy has none of the others.
_NUMBERS = {
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
}
_DTYPES = {number: name for name, number in _NUMBERS.items()}


def read_tensors(meta: GstTensorMeta | None) -> list[InferenceResult]:
    """The tensors of a buffer that is held, mapped for reading where they lie.

    Tensors are left out if numpy has no type for them, if they are not in rows or not in one
    memory, and if they would reach beyond their memory.
    """
    if meta is None or not meta.tensors:
        return []
    count = min(meta.num_tensors, _MOST_TENSORS)
    found = (_result(meta.tensors[number]) for number in range(count))
    return [result for result in found if result is not None]


def _result(pointer: int | None) -> InferenceResult | None:
    if not pointer:
        return None
    tensor = GstTensor.from_address(pointer)
    dtype = _DTYPES.get(tensor.data_type)
    usable = dtype and tensor.data and tensor.dims_order == _ROW_MAJOR
    if not usable or tensor.num_dims > _MOST_DIMENSIONS:
        return None
    shape = (c_size_t * tensor.num_dims).from_address(pointer + sizeof(GstTensor))
    try:
        info = TensorInfo(dtype, tuple(shape))
    except SamebytesError:
        return None
    array = tensor_in(tensor.data, info)
    return None if array is None else InferenceResult(array, name=label_of(tensor.id))


def add_tensors(buffer: int, entries: Iterable[Entry]) -> None:
    """Add the results that have a name to a GstBuffer*, beside the tensors that it has.

    Their bytes are lent. Tensors that the CPU cannot read in place and in one piece are left out.
    """
    library = tensor_functions()
    wanted = [pair for entry in entries if (pair := _named_array(entry)) is not None]
    if library is None or not wanted:
        return
    old = library.gst_buffer_get_tensor_meta(buffer)
    tensors = _copies(library, old)
    if old is not None:
        gst.gst_buffer_remove_meta(buffer, old)
    for name, array in wanted:
        data = lent(array)
        made = library.gst_tensor_new_simple(
            quark_of(name), _NUMBERS[str(array.dtype)], gst.gst_mini_object_ref(pointer_of(data)),
            _ROW_MAJOR, array.ndim, (c_size_t * array.ndim)(*array.shape),
        )  # fmt: skip
        if made:
            tensors.append(made)
    _set(library, buffer, tensors)


def copy_tensors(source: int, copy: int) -> None:
    """Give a copy of a GstBuffer* the tensors that it lost: GStreamer 1.26 does not copy them."""
    library = tensor_functions()
    if library is None or library.gst_buffer_get_tensor_meta(copy) is not None:
        return
    old = library.gst_buffer_get_tensor_meta(source)
    if old is not None:
        _set(library, copy, _copies(library, old))


def _copies(library: Any, meta: int | None) -> list[int]:
    """The tensors of a GstTensorMeta*, on the same memory; none without one."""
    if meta is None:
        return []
    known = GstTensorMeta.from_address(meta)
    return [library.gst_tensor_copy(known.tensors[n]) for n in range(known.num_tensors)]


def _set(library: Any, buffer: int, tensors: list[int]) -> None:
    pointers = (c_void_p * len(tensors))(*tensors)
    theirs = glib.g_malloc0(sizeof(pointers))  # the meta frees it
    memmove(theirs, addressof(pointers), sizeof(pointers))
    meta = library.gst_buffer_add_tensor_meta(buffer)
    library.gst_tensor_meta_set(meta, len(tensors), theirs)


def remove_tensors(buffer: int) -> None:
    """Take the tensors off a GstBuffer*, if there are any."""
    library = tensor_functions()
    meta = library.gst_buffer_get_tensor_meta(buffer) if library else None
    if meta:
        gst.gst_buffer_remove_meta(buffer, meta)


def _named_array(entry: Entry) -> tuple[str, np.ndarray[Any, Any]] | None:
    if not isinstance(entry, InferenceResult) or entry.tensor is None:
        return None
    name = entry.name or entry.layer_name
    try:
        array = entry.array
    except SamebytesError:
        return None
    usable = array.flags.c_contiguous and array.nbytes and array.ndim
    return (name, array) if name and usable and str(array.dtype) in _NUMBERS else None
