# SPDX-License-Identifier: Apache-2.0
"""Turn pictures upright inside a model, at the model's size."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset13 as ops

from samebytes import Frame
from samebytes.formats import mirrored_of, rotation_of

from ._target import Target

__all__ = ["AS_IT_LIES", "Turn", "stored_size", "turn_of", "turning"]

Turn = tuple[int, bool]
"""By how many degrees clockwise to turn a picture, and whether to mirror it before."""

AS_IT_LIES: Turn = (0, False)


def turn_of(frame: Frame) -> Turn:
    """The turn that makes the picture of a frame upright.

    Raises:
        LayoutError: its metadata say what cannot be.
    """
    metadata = frame.metadata
    return rotation_of(metadata) or 0, bool(mirrored_of(metadata))


def stored_size(size: tuple[int, int], turn: Turn) -> tuple[int, int]:
    """(width, height) of a picture before it is turned to that size."""
    return (size[1], size[0]) if turn[0] in (90, 270) else size


def turning(model: Any, target: Target, turn: Turn) -> tuple[Any, Target]:
    """A model that takes pictures as they lie and turns them, and what it takes.

    Args:
        model: with one image input of fixed shape, as `target` says. It is not changed.
    """
    if turn == AS_IT_LIES:
        return model, target
    model = model.clone()
    image = model.get_parameters()[0]
    names, friendly_name = image.output(0).get_names(), image.get_friendly_name()
    rotation, mirrored = turn
    rows, columns = target.layout.index("H"), target.layout.index("W")
    shape = list(image.get_output_shape(0))
    order = list(range(4))
    if rotation in (90, 270):
        shape[rows], shape[columns] = shape[columns], shape[rows]
        order[rows], order[columns] = columns, rows
    lying = ops.parameter(shape, image.get_element_type())
    node = _reversed(lying, columns) if mirrored else lying
    if rotation in (90, 270):
        node = ops.transpose(node, ops.constant(np.array(order)))
    for axis, turns in ((columns, (90, 180)), (rows, (180, 270))):
        if rotation in turns:
            node = _reversed(node, axis)
    for reader in image.output(0).get_target_inputs():
        reader.replace_source_output(node.output(0))
    model.replace_parameter(0, lying)
    lying.output(0).get_tensor().set_names(names)
    lying.set_friendly_name(friendly_name)
    model.validate_nodes_and_infer_types()
    return model, target._replace(size=stored_size(target.size, turn))


def _reversed(node: Any, axis: int) -> Any:
    # Plugins have gathers; not all have slices that go backwards.
    numbers = np.arange(list(node.output(0).shape)[axis])[::-1].astype(np.int32)
    return ops.gather(node, ops.constant(numbers), ops.constant(np.int32(axis)))
