# SPDX-License-Identifier: Apache-2.0
"""The table of properties beside the plugin that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import openvino.properties as props
import pytest
from openvino.properties import intel_npu as npu_props

from samebytes.errors import SamebytesError, UnknownNameError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_npu import (
    PROPERTIES,
    NpuPropertyError,
    OpenVINOError,
    Property,
    find_property,
    get_properties,
    set_properties,
    validate,
)

OBSERVED = "2026.4.1"
# What the document has, by the names of its first column.
DOCUMENT = (
    "supported_properties",
    "caching_properties",
    "compilation_num_threads",
    "num_streams",
    "optimal_number_of_infer_requests",
    "range_for_async_infer_requests",
    "range_for_streams",
    "enable_profiling",
    "hint::performance_mode",
    "hint::num_requests",
    "hint::model_priority",
    "hint::enable_cpu_pinning",
    "log::level",
    "cache_dir",
    "available_devices",
    "device::id",
    "device::uuid",
    "device::architecture",
    "device::full_name",
    "internal::exclusive_async_requests",
    "device::type",
    "device::gops",
    "device::pci_info",
    "intel_npu::device_alloc_mem_size",
    "intel_npu::device_total_mem_size",
    "intel_npu::driver_version",
    "intel_npu::compilation_mode_params",
    "intel_npu::turbo",
    "intel_npu::tiles",
    "intel_npu::max_tiles",
    "intel_npu::bypass_umd_caching",
    "intel_npu::defer_weights_load",
    "runtime_requirements",
    "compatibility_check",
)

ROWS = list(PROPERTIES.values())
LISTED = [row for row in ROWS if row.listed and row.observed is not None]
# They cannot be read without a model, or without what they were set to.
UNREADABLE = {"MODEL_PTR"}
# Its driver must have Level Zero 1.16.
WITHOUT_A_TYPE = "COMPATIBILITY_CHECK"


def keys(rows: list[Property]) -> list[str]:
    return [row.key for row in rows]


def test_every_row_of_the_document_is_in_the_table() -> None:
    documented = {row.name for row in ROWS if row.document is not None}
    assert documented == {f"ov::{name}" for name in DOCUMENT}
    assert keys(ROWS) == list(PROPERTIES)


def test_where_the_plugin_differs_from_the_document() -> None:
    assert keys([row for row in ROWS if row.differs]) == [
        "SUPPORTED_METRICS", "SUPPORTED_CONFIG_KEYS", "CACHING_PROPERTIES",
        "COMPILATION_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT", "ENABLE_CPU_PINNING",
        "LOG_LEVEL", "DEVICE_ID", "EXCLUSIVE_ASYNC_REQUESTS", "NPU_TILES", "NPU_MAX_TILES",
        "RUNTIME_REQUIREMENTS",
    ]  # fmt: skip


def test_the_table_is_what_is_installed(core: Any) -> None:
    """Every listed key and its access; the message lists the differences of another version."""
    listed = get_properties(core, ["SUPPORTED_PROPERTIES"])["SUPPORTED_PROPERTIES"]
    expected = {row.key: row.observed.access for row in LISTED if row.observed is not None}
    if WITHOUT_A_TYPE not in listed:
        del expected[WITHOUT_A_TYPE]
    lines = [
        f"{key}: the table says {expected.get(key, 'nothing')}, the plugin {listed.get(key)}"
        for key in sorted({*listed, *expected})
        if listed.get(key) != expected.get(key)
    ]
    assert not lines, f"openvino {openvino.__version__} differs from {OBSERVED}"


@pytest.mark.parametrize(
    "row",
    [r for r in LISTED if r.access != "WO" and r.key != WITHOUT_A_TYPE],
    ids=lambda r: r.key,
)
def test_listed_properties_can_be_read(core: Any, row: Property) -> None:
    value = get_properties(core, [row.key])[row.key]
    if row.key not in UNREADABLE:
        assert type(value).__name__ == row.kind.name


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.access == "RW" and r.observed is not None], ids=lambda r: r.key
)
def test_defaults(fresh_core: Any, row: Property) -> None:
    value = get_properties(fresh_core, [row.key])[row.key]
    assert value == row.default, f"openvino {openvino.__version__} differs from {OBSERVED}"
    assert validate({row.key: value}) == {row.key: value}


@pytest.mark.parametrize("row", [r for r in ROWS if r.observed is None], ids=lambda r: r.key)
def test_what_the_plugin_lacks(fresh_core: Any, row: Property) -> None:
    with pytest.raises(RuntimeError, match=row.key):
        fresh_core.get_property("NPU", row.key)


def test_a_preview_is_refused_with_the_reason() -> None:
    with pytest.raises(NpuPropertyError, match="CACHE_MODE: it is a preview"):
        validate({"ov::cache_mode": "OPTIMIZE_SIZE"})


@pytest.mark.usefixtures("core")
def test_what_the_plugin_refuses_is_reported_at_once() -> None:
    """A Core that has not loaded the plugin takes everything, and fails at its next use."""
    lazy = openvino.Core()
    lazy.set_property("NPU", {"NPU_QDQ_OPTIMIZATION": True})
    with pytest.raises(RuntimeError, match="NPU_QDQ_OPTIMIZATION"):
        lazy.get_property("NPU", "NPU_TURBO")
    with pytest.raises(OpenVINOError, match="NPU_QDQ_OPTIMIZATION"):
        set_properties(openvino.Core(), {"NPU_QDQ_OPTIMIZATION": True})


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.access == "RO" and r.observed], ids=lambda r: r.key
)
def test_read_only_properties(fresh_core: Any, row: Property) -> None:
    """They are refused here, and the plugin refuses them too."""
    with pytest.raises(NpuPropertyError, match="read-only") as caught:
        validate({row.key: "x"})
    assert caught.value.property == row.key
    value = openvino.Model([], [], "none") if row.key == "MODEL_PTR" else "x"
    # A Core does not know those of compiled models.
    with pytest.raises(RuntimeError, match=r"READ-ONLY|Unsupported configuration key"):
        fresh_core.set_property("NPU", {row.key: value})


ACCEPTED: list[tuple[str, Any, Any]] = [
    ("NPU_TURBO", True, True),
    ("NPU_TURBO", "NO", False),
    ("PERF_COUNT", "YES", True),
    ("NUM_STREAMS", "AUTO", -1),
    ("NUM_STREAMS", 4, 4),
    ("PERFORMANCE_HINT", "THROUGHPUT", "THROUGHPUT"),
    ("PERFORMANCE_HINT", props.hint.PerformanceMode.LATENCY, "LATENCY"),
    ("PERFORMANCE_HINT_NUM_REQUESTS", "3", 3),
    ("MODEL_PRIORITY", props.hint.Priority.HIGH, "HIGH"),
    ("LOG_LEVEL", props.log.Level.WARNING, "LOG_WARNING"),
    ("INFERENCE_PRECISION_HINT", openvino.Type.f16, "f16"),
    ("INFERENCE_PRECISION_HINT", "i8", "i8"),
    ("EXECUTION_MODE_HINT", "ACCURACY", "ACCURACY"),
    ("NPU_COMPILER_TYPE", npu_props.CompilerType.DRIVER, "DRIVER"),
    ("WORKLOAD_TYPE", "EFFICIENT", "EFFICIENT"),
    ("NPU_TILES", -1, -1),
    ("NPU_RUN_INFERENCES_SEQUENTIALLY", True, True),
    ("NPU_COMPILATION_MODE_PARAMS", "optimization-level=2", "optimization-level=2"),
]


@pytest.mark.parametrize(("key", "given", "value"), ACCEPTED)
def test_values_go_through_the_plugin(fresh_core: Any, key: str, given: Any, value: Any) -> None:
    """Values that were set are read again, as Python values."""
    assert set_properties(fresh_core, {key: given}) == {key: value}
    assert get_properties(fresh_core, [key]) == {key: value}


REFUSED: list[tuple[str, Any, str]] = [
    ("NPU_TURBO", "maybe", "YES and NO"),
    ("NPU_TURBO", 1, "YES and NO"),
    ("NPU_TILES", "many", "a whole number"),
    ("NPU_TILES", 1.5, "a whole number"),
    ("NPU_TILES", True, "a whole number"),
    ("NPU_TILES", -2, "from -1 on"),
    ("NUM_STREAMS", -2, "from -1 on"),
    ("PERFORMANCE_HINT_NUM_REQUESTS", -1, "from 0 on"),
    ("PERFORMANCE_HINT", "UNDEFINED", "the document has it"),
    ("PERFORMANCE_HINT", "LATNCY", "THROUGHPUT, LATENCY"),
    ("MODEL_PRIORITY", 3, "LOW, MEDIUM, HIGH"),
    ("LOG_LEVEL", "LOUD", "LOG_NONE"),
    ("CACHE_DIR", 7, "a path"),
    ("DEVICE_ID", 4000, "text"),
    ("INFERENCE_PRECISION_HINT", openvino.Type.f32, "f16, i8"),
    ("NPU_COMPILATION_MODE_PARAMS", 3, "CompilationModeParams"),
]


@pytest.mark.parametrize(("key", "value", "reason"), REFUSED)
def test_values_that_cannot_be(key: str, value: Any, reason: str) -> None:
    with pytest.raises(NpuPropertyError, match=reason) as caught:
        validate({key: value})
    assert (caught.value.property, caught.value.value) == (key, value)
    assert str(caught.value).startswith(key)


def test_unknown_properties() -> None:
    with pytest.raises(UnknownNameError) as caught:
        validate({"NPU_TRUBO": True})
    assert caught.value.nearest[0] == "NPU_TURBO"
    with pytest.raises(UnknownNameError):
        find_property(3)


@pytest.mark.parametrize(
    "name",
    ["NPU_TURBO", "ov::intel_npu::turbo", "intel_npu::turbo", npu_props.turbo, npu_props.turbo()],
)
def test_names_of_properties(name: Any) -> None:
    assert find_property(name) is PROPERTIES["NPU_TURBO"]
    assert validate({name: True}) == {"NPU_TURBO": True}


def test_a_property_given_twice() -> None:
    with pytest.raises(NpuPropertyError, match="twice"):
        validate({"NPU_TURBO": True, "ov::intel_npu::turbo": False})


def test_tiles_are_compared_with_the_device(fresh_core: Any) -> None:
    """The plugin takes any number, and the compiler fails later."""
    limit = get_properties(fresh_core, ["NPU_MAX_TILES"])["NPU_MAX_TILES"]
    assert set_properties(fresh_core, {"NPU_TILES": limit}) == {"NPU_TILES": limit}
    with pytest.raises(NpuPropertyError, match=f"{limit + 1} tiles, and the device has {limit}"):
        set_properties(fresh_core, {"NPU_TILES": limit + 1})
    assert get_properties(fresh_core, ["NPU_TILES"]) == {"NPU_TILES": limit}
    assert validate({"NPU_TILES": 6}, max_tiles=6) == {"NPU_TILES": 6}
    with pytest.raises(NpuPropertyError, match="7 tiles"):
        validate({"NPU_TILES": 7}, max_tiles=6)


def test_nothing_is_set_if_one_is_wrong(fresh_core: Any) -> None:
    with pytest.raises(NpuPropertyError):
        set_properties(fresh_core, {"NPU_TURBO": True, "NPU_TILES": "x"})
    assert get_properties(fresh_core, ["NPU_TURBO"]) == {"NPU_TURBO": False}


def test_all_of_them_as_python_values(core: Any) -> None:
    values = get_properties(core)
    plain = (str, int, float, bool, list, tuple, dict, type(None))
    assert all(isinstance(value, plain) for value in values.values())
    assert values["DEVICE_TYPE"] in ("INTEGRATED", "DISCRETE")
    assert set(values["DEVICE_GOPS"]) == {"bf16", "f16", "f32", "i8", "u8"}
    assert "CACHE_ENCRYPTION_CALLBACKS" not in values
    with pytest.raises(NpuPropertyError, match="write-only"):
        get_properties(core, ["CACHE_ENCRYPTION_CALLBACKS"])


def test_properties_of_a_compiled_model(core: Any, doubling: Callable[..., Any]) -> None:
    compiled = core.compile_model(doubling((1, 8)), "NPU", validate({"PERF_COUNT": False}))
    values = get_properties(compiled)
    assert values["EXECUTION_DEVICES"] == "NPU"
    assert values["NETWORK_NAME"] == "doubling"
    assert set_properties(compiled, {"MODEL_PRIORITY": "LOW"}) == {"MODEL_PRIORITY": "LOW"}
    assert get_properties(compiled, ["MODEL_PRIORITY"]) == {"MODEL_PRIORITY": "LOW"}
    with pytest.raises(SamebytesError):
        set_properties(compiled, {"PERFORMANCE_HINT": "THROUGHPUT"})


def test_what_a_compiled_model_needs_of_a_driver(core: Any, doubling: Callable[..., Any]) -> None:
    compiled = compile_model(doubling((1, 8)), "NPU", core=core)
    (needs,) = get_properties(compiled, ["RUNTIME_REQUIREMENTS"]).values()
    assert "desc=[" in needs
    again = core.import_model(compiled.export_model(), "NPU")
    assert get_properties(again, ["ov::runtime_requirements"]) == {"RUNTIME_REQUIREMENTS": needs}


def test_a_value_that_python_cannot_have(core: Any) -> None:
    """The plugin answers, and the bindings raise a TypeError without the property's name."""
    assert WITHOUT_A_TYPE in get_properties(core, ["SUPPORTED_PROPERTIES"])["SUPPORTED_PROPERTIES"]
    with pytest.raises(OpenVINOError, match=r"COMPATIBILITY_CHECK'\) failed: this version"):
        get_properties(core, [WITHOUT_A_TYPE])
    assert WITHOUT_A_TYPE not in get_properties(core)


def test_layers_of_a_model_that_was_compiled_with_counters(
    core: Any, doubling: Callable[..., Any]
) -> None:
    compiled = compile_model(doubling((1, 8)), "NPU", {"PERF_COUNT": "YES"}, core=core)
    request = InferRequest(compiled)
    with pytest.raises(RuntimeError, match="before running an inference"):
        request.native.get_profiling_info()
    request.infer(np.ones((1, 8), np.uint8))
    layers = request.native.get_profiling_info()
    assert [layer.node_name for layer in layers if layer.node_type == "Parameter"] == ["x"]


def test_what_the_installed_plugin_alone_has() -> None:
    """A newer plugin's own properties pass unchecked, as the partitioner's do."""

    class Newer:
        def get_property(self, device: str, key: str) -> Any:
            return {"NPU_NEWER": "RW", "NPU_TURBO": "RW"}

    assert validate({"NPU_NEWER": 3}, core=Newer()) == {"NPU_NEWER": 3}
    assert validate({"NPUW_DEVICES": "NPU,CPU"}) == {"NPUW_DEVICES": "NPU,CPU"}
    with pytest.raises(UnknownNameError):
        validate({"NPU_NEWER": 3})


def test_openvinos_cache_takes_the_place_of_the_drivers(
    fresh_core: Any, doubling: Callable[..., Any], tmp_path: Any
) -> None:
    """CACHE_DIR: a model that is found is imported, not compiled."""
    config = validate({"CACHE_DIR": tmp_path})
    model = doubling((1, 8))
    loaded = [
        fresh_core.compile_model(model, "NPU", config).get_property("LOADED_FROM_CACHE")
        for _ in range(2)
    ]
    assert loaded == [False, True]
    assert list(tmp_path.iterdir())
