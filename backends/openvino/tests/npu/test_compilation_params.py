# SPDX-License-Identifier: Apache-2.0
"""NPU_COMPILATION_MODE_PARAMS, and the platforms."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from samebytes.errors import UnknownNameError
from samebytes.testing import missing_device
from samebytes_openvino.intel_npu import (
    PLATFORMS,
    CompilationModeParams,
    NpuPropertyError,
    NpuPropertyWarning,
    Platform,
    platform,
    validate,
)

KEY = "NPU_COMPILATION_MODE_PARAMS"
TEXT = "optimization-level=1 performance-hint-override=latency"


def test_there_and_back() -> None:
    params = CompilationModeParams.parse(TEXT)
    assert params == CompilationModeParams(1, "latency")
    assert str(params) == TEXT
    assert str(CompilationModeParams(performance_hint_override="efficiency")) == (
        "performance-hint-override=efficiency"
    )
    assert CompilationModeParams.parse("") == CompilationModeParams()


def test_in_properties() -> None:
    properties = {KEY: CompilationModeParams(2), "PERFORMANCE_HINT": "LATENCY"}
    assert validate(properties)[KEY] == "optimization-level=2"
    assert validate({KEY: TEXT, "PERFORMANCE_HINT": "LATENCY"})[KEY] == TEXT


def test_unknown_keys() -> None:
    """The plugin takes them."""
    with pytest.raises(UnknownNameError) as caught:
        CompilationModeParams.parse("optimisation-level=1")
    assert caught.value.nearest == ("optimization-level",)
    with pytest.raises(UnknownNameError):
        validate({KEY: "nonsense=3"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("optimization-level=3", "takes 0, 1, 2, not 3"),
        ("optimization-level=fast", "takes 0, 1, 2, not 'fast'"),
        ("performance-hint-override=speed", "takes efficiency, latency"),
        ("optimization-level", "is not name=value"),
        ("optimization-level=", "is not name=value"),
        ("optimization-level=1 optimization-level=2", "twice"),
    ],
)
def test_bad_texts(text: str, reason: str) -> None:
    with pytest.raises(NpuPropertyError, match=reason) as caught:
        CompilationModeParams.parse(text)
    assert caught.value.property == KEY


def test_bad_values() -> None:
    for value in (True, 5, "1"):
        with pytest.raises(NpuPropertyError):
            CompilationModeParams(value)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("hint", [None, "THROUGHPUT"])
def test_the_override_wants_the_latency_hint(hint: str | None) -> None:
    properties: dict[str, Any] = {KEY: TEXT}
    if hint is not None:
        properties["PERFORMANCE_HINT"] = hint
    with pytest.warns(NpuPropertyWarning, match="PERFORMANCE_HINT: LATENCY"):
        validate(properties)


def test_the_override_with_what_is_set(fresh_core: Any) -> None:
    fresh_core.set_property("NPU", {"PERFORMANCE_HINT": "LATENCY"})
    validate({KEY: TEXT}, core=fresh_core)
    fresh_core.set_property("NPU", {"PERFORMANCE_HINT": "THROUGHPUT"})
    with pytest.warns(NpuPropertyWarning):
        validate({KEY: TEXT}, core=fresh_core)


def test_the_documents_numbers() -> None:
    """Tables of the document: tiles, DMA engines and requests, THROUGHPUT then LATENCY."""
    rows = {
        name: [tuple(n.values()) for n in (p.tiles, p.dma_engines, p.requests) if n is not None]
        for name, p in PLATFORMS.items()
    }
    assert rows["3720"] == [(2, 2), (2, 2), (4, 1)]
    assert rows["4000"] == [(2, 4), (2, 2), (8, 1)]
    assert PLATFORMS["4000"].total_tiles == (5, 6)
    assert rows["5010"] == [(1, 3), (8, 1)]
    assert rows["5020"] == [(1, 1), (8, 1)]
    assert set(PLATFORMS) == {"3720", "4000", "5010", "5020"}


def test_a_platform_that_is_not_known() -> None:
    assert platform("NPU4000") is platform("4000") is PLATFORMS["4000"]
    for name in ("9999", "AUTO_DETECT", ""):
        assert platform(name) == Platform("unknown")
        assert not platform(name).known


NO_SUCH_DEVICE = missing_device("NPU")
ASK = """
import openvino, sys
core = openvino.Core()
print(core.get_property("NPU", "DEVICE_ARCHITECTURE"))
for hint in ("THROUGHPUT", "LATENCY"):
    core.set_property("NPU", {"PERFORMANCE_HINT": hint})
    print(core.get_property("NPU", "OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
"""


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", PLATFORMS)
def test_optimal_requests_are_the_plugins(name: str) -> None:
    """The plugin itself, on a driver that reports each platform."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], env={**os.environ, "SOFTNPU_PLATFORM": name},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    architecture, throughput, latency = done.stdout.split()
    if architecture != name:
        pytest.skip(NO_SUCH_DEVICE)
    requests = PLATFORMS[name].requests
    assert requests is not None
    assert requests["THROUGHPUT"] == int(throughput)
    assert requests["LATENCY"] == int(latency)
