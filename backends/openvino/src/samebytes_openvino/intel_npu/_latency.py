# SPDX-License-Identifier: Apache-2.0
"""First ever inference latency (FEIL) and first inference latency (FIL), measured."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .._core import core_of, read_model
from ._checks import check_static
from ._properties import validate

__all__ = ["Latency", "LatencyReport", "measure_latency"]

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
        """All of it."""
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
    """Compile, load and run a model once, and again from its compiled form.

    The driver's cache of compiled models is bypassed, and OpenVINO's is not used, so that the
    first figure is that of a model which nobody compiled before. Inputs are what the new buffers
    hold.

    Args:
        model: an openvino.Model, or the path of one.
        properties: of the compilation, for the NPU as `validate` takes them.
        core: an openvino.Core.
        device: another one to compare with.

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
    # Without share_outputs every output is copied to a new array.
    request.infer(share_outputs=True)
    done = perf_counter()
    return Latency(loaded - start, created - loaded, done - created), compiled
