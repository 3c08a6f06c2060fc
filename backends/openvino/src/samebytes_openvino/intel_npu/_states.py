# SPDX-License-Identifier: Apache-2.0
"""The state variables of a request, by name.

Getting and setting copies. By its document the NPU plugin also copies at each inference: from a
buffer of its own to an input of the device before it, and back from an output after it. That of
2026.4.1 gives the device one buffer as input and output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import openvino

from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

__all__ = ["get_states", "reset_states", "set_states"]

Array = np.ndarray[Any, Any]


def get_states(request: Any) -> dict[str, Array]:
    """The values of all state variables, copied.

    Args:
        request: an openvino.InferRequest, or one of samebytes', that runs no inference.
    """
    return {name: np.array(state.state.data) for name, state in _states(request).items()}


def set_states(request: Any, values: Mapping[str, Any]) -> None:
    """Give state variables new values, which are copied.

    Args:
        request: as for `get_states`.
        values: arrays, or what numpy makes an array of, by the names of variables.

    Raises:
        UnknownNameError: the model has no such variable. Then none was set.
        LayoutError: dtype or shape is not that of the variable. Then none was set.
        UnsupportedObjectError: `values` does not map names to arrays.
    """
    if not isinstance(values, Mapping):
        raise UnsupportedObjectError(
            f"values must map names of state variables to arrays, not {values!r}"
        )
    states = _states(request)
    made: dict[str, Array] = {}
    for name, value in values.items():
        if name not in states:
            raise UnknownNameError("state variable of the model", name, states)
        have, array = states[name].state.data, np.ascontiguousarray(value)
        if array.shape != have.shape or array.dtype != have.dtype:
            raise LayoutError(
                f"state variable {name!r} is {have.dtype} {list(have.shape)}, not {array.dtype} "
                f"{list(array.shape)}"
            )
        made[name] = array
    for name, array in made.items():
        states[name].state = openvino.Tensor(array)


def reset_states(request: Any, names: Iterable[str] | None = None) -> None:
    """Give state variables the values that the model starts with.

    Args:
        request: as for `get_states`.
        names: which ones; left out, all.

    Raises:
        UnknownNameError: the model has no such variable. Then none was reset.
    """
    states = _states(request)
    chosen = list(states if names is None else names)
    for name in chosen:
        if name not in states:
            raise UnknownNameError("state variable of the model", name, states)
    for name in chosen:
        states[name].reset()


def _states(request: Any) -> dict[str, Any]:
    native = getattr(request, "native", request)
    if not hasattr(native, "query_state"):
        raise UnsupportedObjectError(
            f"states are of an InferRequest or an openvino.InferRequest, not of {request!r}"
        )
    return {state.name: state for state in native.query_state()}
