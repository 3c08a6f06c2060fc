# SPDX-License-Identifier: Apache-2.0
"""A model of several frames, each with inputs and outputs of its own.

Frames lie apart in memory, and OpenVINO copies tensors to make a batch of them. Here each frame has
inputs of its own, which are joined behind the preparation, and the outputs are split again. So
planes are read where they lie, and the results of each frame are tensors of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

from samebytes.errors import LayoutError

from .._errors import last_line

__all__ = ["batched", "check_batch", "identity", "joined", "names_of", "split"]


def identity(model: Any) -> Any:
    """A model that gives what it is given, with the inputs of `model` for one frame.

    Raises:
        LayoutError: an input has no dimensions, or its first one is not that of a batch.
    """
    parameters = []
    for number, port in enumerate(model.inputs):
        shape = port.partial_shape
        if shape.rank.is_dynamic or not len(shape) or not (shape[0].is_dynamic or shape[0] == 1):
            raise LayoutError(
                f"input {_name(port, number)!r} is {shape}: for batch= its first dimension must be "
                "1 or dynamic"
            )
        shape[0] = 1
        parameter = ops.parameter(shape, port.element_type)
        parameter.output(0).get_tensor().set_names({_name(port, number)})
        parameters.append(parameter)
    return openvino.Model([ops.result(one.output(0)) for one in parameters], parameters, "frame")


def joined(model: Any, count: int, prepare: Any) -> Any:
    """A new model of `count` frames.

    Args:
        model: of which the first dimension of each input is that of the batch. It is not changed.
        prepare: makes the inputs of `model`, in their order, out of those of one frame. The inputs
            of the new model are those of each frame, one frame after another, named "0/image".

    Raises:
        LayoutError: the model cannot have such a batch, has a state, or an output cannot be split.
    """
    names = names_of(model.outputs)
    model = batched(model, count)
    parameters, parts = [], []
    for frame in range(count):
        before = prepare.clone()
        for number, port in enumerate(before.inputs):
            port.get_tensor().set_names({f"{frame}/{_name(port, number)}"})
        for operation in before.get_ops():  # plugins know inputs by these names
            operation.set_friendly_name(f"{frame}/{operation.get_friendly_name()}")
        parameters += before.get_parameters()
        parts.append([one.input(0).get_source_output() for one in before.get_results()])
    for number, parameter in enumerate(model.get_parameters()):
        whole = ops.concat([part[number] for part in parts], 0)
        for reader in parameter.output(0).get_target_inputs():
            reader.replace_source_output(whole.output(0))
    results = split(model, names, count)
    return openvino.Model(results, model.get_sinks(), parameters, model.friendly_name)


def split(model: Any, names: Sequence[str], count: int) -> list[Any]:
    """The results of a model for each item of its batch, one item after another: "0/scores" ...

    Args:
        model: has a batch of `count`.
        names: of its outputs.

    Raises:
        LayoutError: an output cannot be split.
    """
    results = []
    for frame in range(count):
        for port, name in zip(model.outputs, names, strict=True):
            part = _part(port, name, frame, count)
            part.set_friendly_name(f"{frame}/{name}")
            part.output(0).get_tensor().set_names({f"{frame}/{name}"})
            results.append(ops.result(part))
    return results


def names_of(ports: Sequence[Any]) -> list[str]:
    """The names of a model's inputs or outputs; the number where there is none."""
    return [_name(port, number) for number, port in enumerate(ports)]


def check_batch(model: Any, count: int) -> None:
    """See whether a model can run `count` frames at once, as far as its shapes say so.

    Args:
        model: of which the first dimension of each input is that of the batch. It is not changed.

    Raises:
        LayoutError: it cannot have such a batch, has a state, or an output cannot be split.
    """
    for number, port in enumerate(batched(model, count).outputs):
        shape = port.partial_shape
        # What is still open depends on the size of the images, which the first frame shows.
        if shape.rank.is_static and (not len(shape) or shape[0].is_static):
            _check_split(port, _name(model.outputs[number], number), count)


def batched(model: Any, count: int) -> Any:
    """A clone of a model whose inputs have that first dimension.

    Raises:
        LayoutError: it cannot have such a batch, or has a state.
    """
    if count > 1 and model.get_variables():
        raise LayoutError("a model with a state runs frames one after another: leave batch= out")
    model = model.clone()
    try:
        model.reshape({n: _of(port, count) for n, port in enumerate(model.inputs)})
        # What a reshape leaves open becomes known here, and errors of operations come up.
        model.validate_nodes_and_infer_types()
    except RuntimeError as error:
        reason = last_line(error)
        raise LayoutError(f"the model cannot have a batch of {count}: {reason}") from error
    return model


def _of(port: Any, count: int) -> Any:
    shape = port.partial_shape
    shape[0] = count
    return shape


def _check_split(port: Any, name: str, count: int) -> None:
    shape = port.partial_shape
    fits = shape.rank.is_static and len(shape) and shape[0].is_static
    if not fits or shape[0].get_length() != count:
        raise LayoutError(
            f"output {name!r} of a batch of {count} is {shape}, which has not one part for each "
            "frame: leave batch= out, and use requests= for inferences side by side"
        )


def _part(port: Any, name: str, frame: int, count: int) -> Any:
    _check_split(port, name, count)
    # A Slice or Split along the first axis gave every frame the result of the first one, on the GPU
    # plugin of OpenVINO 2026.4 in half precision. The test for batches on devices shows it.
    whole = port.get_node().input(0).get_source_output()
    return ops.gather(whole, ops.constant(np.array([frame])), ops.constant(0))


def _name(port: Any, number: int) -> str:
    return port.any_name if port.names else str(number)
