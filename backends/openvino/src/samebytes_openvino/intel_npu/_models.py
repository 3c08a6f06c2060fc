# SPDX-License-Identifier: Apache-2.0
"""Models on the NPU: their fixed shapes, the values of their states, and their first latencies.

Getting and setting states copies. According to its documentation, the NPU plugin also copies states
at each inference: before it from a buffer of its own to an input of the device, and after it back
from an output. The plugin of 2026.4.1 gives the device one buffer as both input and output.

The latencies are the first ever inference latency (FEIL) and the first inference latency (FIL).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import openvino

from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from .._core import core_of, read_model
from ._properties import validate

__all__ = [
    "Latency",
    "LatencyReport",
    "check_static",
    "get_states",
    "measure_latency",
    "reset_states",
    "set_states",
]

Array = np.ndarray[Any, Any]


def check_static(model: Any) -> None:
    """Raise unless every input and output of an openvino.Model has a shape of fixed numbers.

    The NPU plugin does not support dynamic shapes. Depending on the compiler, compiling fails with
    an error that does not name the input, or inference fails later.

    Args:
        model: an openvino.Model.

    Raises:
        LayoutError: some are dynamic; the message lists them.
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


def get_states(request: Any) -> dict[str, Array]:
    """The values of all state variables, copied.

    Args:
        request: an openvino.InferRequest, or one of samebytes, that is not running.
    """
    return {name: np.array(state.state.data) for name, state in _states(request).items()}


def set_states(request: Any, values: Mapping[str, Any]) -> None:
    """Give state variables new values, which are copied.

    Args:
        request: as for `get_states`.
        values: the new values by name of variable: arrays, or anything numpy.asarray() takes.

    Raises:
        UnknownNameError: the model has no such variable. No variable was set.
        LayoutError: dtype or shape differ from the variable's. No variable was set.
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
    """Set state variables back to the values that the model starts with.

    Args:
        request: as for `get_states`.
        names: the variables to reset; None for all.

    Raises:
        UnknownNameError: the model has no such variable. No variable was reset.
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


_NPU = "NPU"


@dataclass(frozen=True, slots=True)
class Latency:
    """The parts of a first inference, in seconds.

    Attributes:
        load: compiling the model, or importing a compiled one, which also loads it.
        request: creating the request, and its buffers.
        inference: the first inference.
    """

    load: float
    request: float
    inference: float

    @property
    def total(self) -> float:
        """The sum of the three parts."""
        return self.load + self.request + self.inference


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """The latencies that `measure_latency` found. `str()` gives a table in milliseconds.

    Attributes:
        device: the full name of the device.
        feil: compile, load, first inference.
        fil: load the compiled model, first inference.
    """

    device: str
    feil: Latency
    fil: Latency

    def __str__(self) -> str:
        rows = [f"{'':<22}{'FEIL':>12}{'FIL':>12}"]
        for name, label in (
            ("load", "compile / import"),
            ("request", "create the request"),
            ("inference", "first inference"),
            ("total", "total, ms"),
        ):
            numbers = (getattr(latency, name) * 1000 for latency in (self.feil, self.fil))
            rows.append(f"{label:<22}" + "".join(f"{n:>12.3f}" for n in numbers))
        return "\n".join((self.device, *rows))


def measure_latency(
    model: Any,
    properties: Mapping[Any, Any] | None = None,
    *,
    core: Any = None,
    device: str = _NPU,
) -> LatencyReport:
    """Time the first inference of a model twice: after compiling it, and after loading it compiled.

    The driver's cache of compiled models is bypassed, and OpenVINO's is not used, so the first
    figure always includes the compilation. The inputs are whatever the new buffers hold.

    Args:
        model: an openvino.Model, or the path of one.
        properties: the properties for compiling; for the NPU, as `validate` takes them.
        core: an openvino.Core.
        device: the device to measure, by default the NPU; others serve for comparison.

    Returns:
        The times of the first inference, and of the one from the compiled form, in seconds.

    Raises:
        LayoutError: the model has dynamic shapes.
        FileNotFoundError: the file does not exist.
        UnsupportedObjectError: `model` is neither a model nor a path.
        UnknownNameError, NpuPropertyError: as for `validate`.
    """
    core = core_of(core)
    model = read_model(core, model)
    check_static(model)
    if device == _NPU:
        config = {**validate(properties or {}, core=core), "NPU_BYPASS_UMD_CACHING": True}
    else:
        config = dict(properties or {})
    config["CACHE_DIR"] = ""
    feil, compiled = _first(lambda: core.compile_model(model, device, config))
    stream = io.BytesIO()
    compiled.export_model(stream)
    del compiled
    stream.seek(0)
    fil, _ = _first(lambda: core.import_model(stream, device, {}))
    return LatencyReport(core.get_property(device, "FULL_DEVICE_NAME"), feil, fil)


def _first(load: Any) -> tuple[Latency, Any]:
    start = perf_counter()
    compiled = load()
    loaded = perf_counter()
    request = compiled.create_infer_request()
    created = perf_counter()
    # Without share_outputs, every output would be copied to a new array.
    request.infer(share_outputs=True)
    done = perf_counter()
    return Latency(loaded - start, created - loaded, done - created), compiled
