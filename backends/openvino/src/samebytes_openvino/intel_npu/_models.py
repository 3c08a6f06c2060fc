# SPDX-License-Identifier: Apache-2.0
"""Refuse models that the NPU cannot run, before they are compiled."""

from __future__ import annotations

from typing import Any

from samebytes.errors import LayoutError

__all__ = ["check_static"]


def check_static(model: Any) -> None:
    """Raise unless every input and output of an openvino.Model has a shape of fixed numbers.

    The NPU plugin does not support dynamic shapes. What comes of one depends on the compiler: an
    error without the name of the input, or a model whose inference fails.

    Raises:
        LayoutError: what has a dynamic shape, and what to do.
    """
    ports = [("input", model.inputs), ("output", model.outputs)]
    dynamic = [
        f"{kind} {min(port.names, default=index)!r} {port.partial_shape}"
        for kind, found in ports
        for index, port in enumerate(found)
        if port.partial_shape.is_dynamic
    ]
    if dynamic:
        raise LayoutError(
            f"the NPU takes fixed shapes only, but these are dynamic: {', '.join(dynamic)}. Give "
            "each input its shape with model.reshape({name: shape}) before compiling"
        )
