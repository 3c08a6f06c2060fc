# SPDX-License-Identifier: Apache-2.0
"""What the NPU cannot run, said before the compiler is asked."""

from __future__ import annotations

from typing import Any

from samebytes.errors import LayoutError

__all__ = ["check_static"]


def check_static(model: Any) -> None:
    """Raise unless every input of an openvino.Model has a shape of fixed numbers.

    The NPU plugin does not support dynamic shapes. What comes of one depends on the compiler: an
    error without the name of the input, or a model whose inference fails.

    Raises:
        LayoutError: the inputs with dynamic shapes, and what to do.
    """
    dynamic = [
        f"{_name(port, index)} {port.partial_shape}"
        for index, port in enumerate(model.inputs)
        if port.partial_shape.is_dynamic
    ]
    if dynamic:
        raise LayoutError(
            f"the NPU runs no dynamic shapes: {', '.join(dynamic)}. Give each input its shape "
            "with model.reshape({name: shape}) before compiling"
        )


def _name(port: Any, index: int) -> str:
    names = sorted(port.names)
    return f"input {names[0]!r}" if names else f"input {index}"
