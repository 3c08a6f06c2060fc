# SPDX-License-Identifier: Apache-2.0
"""Planes whose rows are padded.

FFmpeg begins each row of a plane at a multiple of 32 or 64 bytes; where the width does not fit,
bytes that belong to no pixel lie between the rows. OpenVINO's CPU plugin copies such an input
before it runs. So the model is made to take whole rows, padding and all, and to leave the padding
away itself: then it reads the decoder's bytes where they lie, for every width.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from openvino import opset13 as ops

__all__ = ["take_whole_rows"]

_COLUMNS = 2


def take_whole_rows(model: Any, columns: Mapping[str, int]) -> None:
    """Widen inputs of shape [1, rows, columns, channels], by name, to that many columns.

    The model is changed: what follows the inputs sees the same columns as before.
    """
    for index, narrow in enumerate(model.get_parameters()):
        old = narrow.output(0)
        shape = list(old.get_shape())
        used, whole = shape[_COLUMNS], columns[old.any_name]
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
