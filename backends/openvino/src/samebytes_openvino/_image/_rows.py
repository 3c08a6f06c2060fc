# SPDX-License-Identifier: Apache-2.0
"""Planes whose rows are padded, taken whole.

FFmpeg begins each row of a plane at a multiple of 32 or 64 bytes; where the width does not fit,
bytes that belong to no pixel lie between the rows. OpenVINO's CPU plugin copies such an input
before it runs, the GPU plugin reads the padding as pixels, the NPU plugin refuses it. So the model
is made to take whole rows, padding and all, and to leave the padding away itself: then it reads
the decoder's bytes where they lie, for every width.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from openvino import opset13 as ops

from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes.plugins import Refused

from .._host._layout import memory_of

__all__ = ["rows_of", "take_whole_rows"]

Array = np.ndarray[Any, Any]
_COLUMNS = 2


def take_whole_rows(model: Any, columns: Mapping[str, int]) -> None:
    """Widen inputs of shape [1, rows, columns, channels], by name, to that many columns.

    Args:
        model: an openvino.Model, which is changed: what follows the inputs sees the same columns
            as before.
        columns: for each input by its name, how many columns a row with its padding has: the row
            pitch in bytes, divided by the bytes of a pixel. Inputs that are not named stay.

    Raises:
        UnsupportedObjectError: `columns` is not a mapping.
        UnknownNameError: the model has no input of such a name.
    """
    if not isinstance(columns, Mapping):
        raise UnsupportedObjectError(
            "columns must be a mapping of names to numbers, such as {'image': 128}, not "
            f"{columns!r}"
        )
    known = [name for port in model.inputs for name in sorted(port.get_names())]
    for name in columns:
        if name not in known:
            raise UnknownNameError("input", name, known)
    for index, narrow in enumerate(model.get_parameters()):
        old = narrow.output(0)
        shape = list(old.get_shape())
        used = shape[_COLUMNS]
        whole = next((columns[name] for name in old.get_names() if name in columns), used)
        if used == whole:
            continue
        shape[_COLUMNS] = whole
        wide = ops.parameter(shape, old.get_element_type())
        names, readers = old.get_names(), old.get_target_inputs()
        cut = ops.slice(wide, *(np.array([n]) for n in (0, used, 1, _COLUMNS)))
        for reader in readers:
            reader.replace_source_output(cut.output(0))
        old.get_tensor().set_names(set())
        wide.output(0).get_tensor().set_names(names)
        model.replace_parameter(index, wide)
    model.validate_nodes_and_infer_types()


def rows_of(array: Array) -> tuple[Array, int]:
    """The whole rows of a plane, as bytes, and where in them its first pixel is.

    Args:
        array: (rows, columns) or (rows, columns, channels) in memory of the CPU.

    Returns:
        (whole, first): uint8 [rows, row pitch] over the same memory, which it holds. `first` is
        0 unless the memory ends with the last pixel; then the rows begin that much earlier.

    Raises:
        Refused: the rows are stored bottom up, or too little is known of the memory behind them.
    """
    rows, pitch = array.shape[0], array.strides[0]
    if array.flags.c_contiguous:
        return array.reshape(rows, -1).view(np.uint8), 0
    if pitch < 0:
        raise Refused(f"its rows are stored bottom up (pitch {pitch}): flip the image first")
    inner = array.dtype.itemsize
    for extent, stride in zip(array.shape[:0:-1], array.strides[:0:-1], strict=True):
        if stride != inner and extent > 1:
            raise Refused(f"strides {array.strides} leave gaps between the pixels of a row")
        inner *= extent
    memory, start = memory_of(array)
    first = max(0, start + rows * pitch - memory.nbytes)
    if first > min(start, pitch - inner):
        raise Refused(
            f"its last row ends {first} bytes before a whole number of padded rows, and it is "
            "not known whether the bytes there belong to the same memory"
        )
    whole: Array = np.ndarray((rows, pitch), np.uint8, memory, start - first)
    if not array.flags.writeable:
        whole.flags.writeable = False
    return whole, first
