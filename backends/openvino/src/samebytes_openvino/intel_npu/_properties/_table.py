# SPDX-License-Identifier: Apache-2.0
"""The NPU plugin's properties and platforms, from the document beside it in OpenVINO 2026.4.1.

All numbers are the document's. Those of DMA engines are from an older one, as today's has none.
The plugin of 2026.4.1 answers the same requests when a driver reports the platform.

The document is "NPU Plugin" of OpenVINO's sources (src/plugins/intel_npu/README.md); keys that it
does not have are from openvino/runtime/properties.hpp and intel_npu/properties.hpp. Observed is
what the unmodified plugin answers on a driver that reports the platform 4000. The tests compare
the table with the version that is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ._values import Choice, Flag, Kind, Number, Params, Path, Text, Unchecked

__all__ = ["PLATFORMS", "PROPERTIES", "Access", "Platform", "Property", "Stated", "platform"]

Hint = Literal["THROUGHPUT", "LATENCY"]
Numbers = Mapping[Hint, int]


@dataclass(frozen=True, slots=True)
class Platform:
    """One generation of NPUs. What is not known is None.

    Attributes:
        name: as DEVICE_ARCHITECTURE gives it, or "unknown".
        product: the processors that have it.
        total_tiles: how many tiles (DPU groups) there are: one number, or one for each variant.
        tiles: those that are used with a hint, if NPU_TILES is not set.
        dma_engines: those that are used with a hint; all of them.
        requests: OPTIMAL_NUMBER_OF_INFER_REQUESTS with a hint.
    """

    name: str
    product: str = "unknown"
    total_tiles: tuple[int, ...] | None = None
    tiles: Numbers | None = None
    dma_engines: Numbers | None = None
    requests: Numbers | None = None

    @property
    def known(self) -> bool:
        """True if this platform is in the table."""
        return self.name in PLATFORMS


def _each(throughput: int, latency: int) -> Numbers:
    return MappingProxyType({"THROUGHPUT": throughput, "LATENCY": latency})


PLATFORMS: Mapping[str, Platform] = MappingProxyType(
    {
        p.name: p
        for p in (
            Platform("3720", "Meteor, Arrow Lake", (2,), _each(2, 2), _each(2, 2), _each(4, 1)),
            Platform("4000", "Lunar Lake", (5, 6), _each(2, 4), _each(2, 2), _each(8, 1)),
            Platform("5010", "Panther Lake", (3,), _each(1, 3), requests=_each(8, 1)),
            Platform("5020", "Wildcat Lake", (1,), _each(1, 1), requests=_each(8, 1)),
        )
    }
)
"""The known generations of NPUs, by name."""


def platform(name: str) -> Platform:
    """The platform of that name: "4000", "NPU4000".

    One that is not in the table is named "unknown", and nothing is known of it: a newer NPU is no
    error.

    Args:
        name: as OpenVINO or the device spells it.
    """
    return PLATFORMS.get(str(name).removeprefix("NPU"), Platform("unknown"))


Access = Literal["RO", "RW", "WO"]


@dataclass(frozen=True, slots=True)
class Stated:
    """One source's statement about a property.

    Attributes:
        access: "RO" is only read, "WO" only written.
        values: the values that it can have.
        default: the default of a property that can be set; "" where the source gives none.
    """

    access: Access
    values: str = ""
    default: Any = ""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the NPU plugin.

    Attributes:
        key: as OpenVINO's maps spell it.
        name: of its C++ variable.
        kind: the type of its values.
        description: what it does.
        document: what the NPU plugin's document says, or None if it does not have it.
        observed: what the plugin of 2026.4.1 does, or None where it does not have it.
        listed: SUPPORTED_PROPERTIES of 2026.4.1 has it.
        refused: why it is not passed on, or "".
    """

    key: str
    name: str
    kind: Kind
    description: str
    document: Stated | None = None
    observed: Stated | None = None
    listed: bool = True
    refused: str = ""

    @property
    def access(self) -> Access:
        """The access as observed, or else as documented; "RW" if neither is known."""
        stated = self.observed or self.document
        return "RW" if stated is None else stated.access

    @property
    def default(self) -> Any:
        """The default as observed, or else as documented; "" if neither is known."""
        stated = self.observed or self.document
        return "" if stated is None else stated.default

    @property
    def differs(self) -> bool:
        """True if the document and the plugin disagree about the property."""
        return self.document is not None and (self.document != self.observed or not self.listed)


_LOG = ("LOG_NONE", "LOG_ERROR", "LOG_WARNING", "LOG_INFO", "LOG_DEBUG", "LOG_TRACE")
_LOG_ENUM = dict(zip(("NO", "ERR", "WARNING", "INFO", "DEBUG", "TRACE"), _LOG, strict=True))
_FLAG = "YES, NO"
_RO = Stated("RO")


def _read(key: str, name: str, type_: str, description: str, *, observed: bool = True) -> Property:
    """A row of the document for what is only read."""
    stated = _RO if observed else None
    return Property(key, name, Unchecked(type_), description, _RO, stated, listed=observed)


def _flag(key: str, name: str, description: str) -> Property:
    """A row of the document for a switch that is off."""
    return Property(
        key, name, Flag(), description, Stated("RW", _FLAG, False), Stated("RW", _FLAG, False)
    )


def _newer(
    key: str, name: str, kind: Kind, description: str, access: Access, default: object = ""
) -> Property:
    """A row for what the plugin lists and the document lacks."""
    values = "" if access == "RO" else kind.values
    return Property(key, name, kind, description, None, Stated(access, values, default))


def _absent(key: str, name: str, kind: Kind, description: str) -> Property:
    """A row for what depends on the compiler, which 2026.4.1's wheel does not carry."""
    return Property(key, name, kind, description, listed=False)


_ROWS = (
    _read("SUPPORTED_PROPERTIES", "ov::supported_properties", "dict",
          "All properties, each with its access."),
    _read("SUPPORTED_METRICS", "ov::supported_properties", "list",
          "The older name of SUPPORTED_PROPERTIES.", observed=False),
    _read("SUPPORTED_CONFIG_KEYS", "ov::supported_properties", "list",
          "The older name of SUPPORTED_PROPERTIES.", observed=False),
    Property("CACHING_PROPERTIES", "ov::caching_properties", Unchecked("dict"),
             "The properties from which OpenVINO's cache makes the key of a model.",
             Stated("RW"), _RO, listed=False),
    Property("COMPILATION_NUM_THREADS", "ov::compilation_num_threads", Number(1),
             "The most threads that a compilation uses. It depends on the compiler.",
             Stated("RW"), None, listed=False),
    Property("NUM_STREAMS", "ov::num_streams", Number(-1, {"AUTO": -1}),
             "The threads of a model's requests: AUTO shares OpenVINO's, 0 starts them in the "
             "caller's thread and waits in one of its own, n has n for starting, waiting and "
             "callbacks each. Reading it after another negative number ends the process.",
             Stated("RW", "AUTO, a number", "AUTO"), Stated("RW", "AUTO, -1 and above", -1)),
    _read("OPTIMAL_NUMBER_OF_INFER_REQUESTS", "ov::optimal_number_of_infer_requests", "int",
          "Requests to run at once; by platform and performance hint, not by the model."),
    _read("RANGE_FOR_ASYNC_INFER_REQUESTS", "ov::range_for_async_infer_requests", "tuple",
          "(bottom, top, step). Not used by the plugin."),
    _read("RANGE_FOR_STREAMS", "ov::range_for_streams", "tuple",
          "(bottom, top). Not used by the plugin."),
    _flag("PERF_COUNT", "ov::enable_profiling",
          "Compile with counters: after an inference request.native.get_profiling_info() lists the "
          "layers with their times. An exported model keeps them; one without has none."),
    Property("PERFORMANCE_HINT", "ov::hint::performance_mode",
             Choice(("THROUGHPUT", "LATENCY", "CUMULATIVE_THROUGHPUT")),
             "Chooses the tiles, DMA engines and requests: see the platforms.",
             Stated("RW", "THROUGHPUT, LATENCY, UNDEFINED", "UNDEFINED"),
             Stated("RW", "THROUGHPUT, LATENCY, CUMULATIVE_THROUGHPUT", "LATENCY")),
    Property("PERFORMANCE_HINT_NUM_REQUESTS", "ov::hint::num_requests", Number(0),
             "How many requests the application keeps running.",
             Stated("RW", "0 and above", 1), Stated("RW", "0 and above", 1)),
    Property("MODEL_PRIORITY", "ov::hint::model_priority",
             Choice(("LOW", "MEDIUM", "HIGH"), {"DEFAULT": "MEDIUM"}),
             "The priority of a model's inferences. A compiled model takes it too.",
             Stated("RW", "LOW, MEDIUM, HIGH", "MEDIUM"),
             Stated("RW", "LOW, MEDIUM, HIGH", "MEDIUM")),
    Property("ENABLE_CPU_PINNING", "ov::hint::enable_cpu_pinning", Flag(),
             "No effect: it once bound the CPU's threads. OpenVINO 2027.0 removes it.",
             Stated("RW", _FLAG, False), Stated("RW", _FLAG, False), listed=False),
    Property("LOG_LEVEL", "ov::log::level", Choice(_LOG, _LOG_ENUM),
             "What the plugin logs. The variable OV_NPU_LOG_LEVEL sets it from the start.",
             Stated("RW", ", ".join(_LOG), "LOG_NONE"), Stated("RW", ", ".join(_LOG), "LOG_ERROR")),
    Property("CACHE_DIR", "ov::cache_dir", Path(),
             "The folder of OpenVINO's cache. The driver's own cache is then bypassed, and a model "
             "that is found is imported instead of compiled.",
             Stated("RW", "a path, or empty"), Stated("RW", "a path, or empty")),
    _read("AVAILABLE_DEVICES", "ov::available_devices", "list",
          "The NPUs. The plugin uses one."),
    Property("DEVICE_ID", "ov::device::id", Text(),
             "The device; empty for the one that is there. Platforms that are not there are "
             "accepted, and fail later.",
             Stated("RW", "empty, 3720, 4000"), Stated("RW", "any text")),
    _read("DEVICE_UUID", "ov::device::uuid", "str", "The UUID of the NPU, in hexadecimal digits."),
    _read("DEVICE_ARCHITECTURE", "ov::device::architecture", "str", "The platform."),
    _read("FULL_DEVICE_NAME", "ov::device::full_name", "str", "The NPU's full name."),
    Property("EXCLUSIVE_ASYNC_REQUESTS", "ov::internal::exclusive_async_requests", Flag(),
             "Its own executor for asynchronous requests.",
             Stated("RW", _FLAG, False), None, listed=False),
    _read("DEVICE_TYPE", "ov::device::type", "str", "DISCRETE or INTEGRATED."),
    _read("DEVICE_GOPS", "ov::device::gops", "dict",
          "10^9 operations in a second, for each precision."),
    _read("DEVICE_PCI_INFO", "ov::device::pci_info", "str", "The PCI address."),
    _read("NPU_DEVICE_ALLOC_MEM_SIZE", "ov::intel_npu::device_alloc_mem_size", "int",
          "Bytes of the NPU's memory that are in use."),
    _read("NPU_DEVICE_TOTAL_MEM_SIZE", "ov::intel_npu::device_total_mem_size", "int",
          "Bytes of memory that the NPU can use."),
    _read("NPU_DRIVER_VERSION", "ov::intel_npu::driver_version", "int", "The driver's version."),
    Property("NPU_COMPILATION_MODE_PARAMS", "ov::intel_npu::compilation_mode_params", Params(),
             "Parameters of the compiler, experimental: see CompilationModeParams. The plugin "
             "takes any text.",
             Stated("RW", "text"), Stated("RW", "text")),
    _flag("NPU_TURBO", "ov::intel_npu::turbo",
          "Highest frequency and memory throughput, where there is such a mode. Not for lasting "
          "work: it takes power, and other processors suffer."),
    Property("NPU_TILES", "ov::intel_npu::tiles", Number(-1),
             "Tiles to compile for, at most NPU_MAX_TILES; -1 leaves it to the performance hint. "
             "Any number but 1 may not run on other platforms.",
             Stated("RW", "0 and above", -1), Stated("RW", "any number", -1)),
    Property("NPU_MAX_TILES", "ov::intel_npu::max_tiles", Number(0),
             "Tiles that the device has; where there is none, those to compile for.",
             Stated("RW", "0 and above", "1 to 6, by platform"), _RO),
    _flag("NPU_BYPASS_UMD_CACHING", "ov::intel_npu::bypass_umd_caching",
          "Compile without the driver's own cache of compiled models."),
    _flag("NPU_DEFER_WEIGHTS_LOAD", "ov::intel_npu::defer_weights_load",
          "Load the weights with the first request, not when the model is compiled."),
    Property("RUNTIME_REQUIREMENTS", "ov::runtime_requirements", Unchecked("str"),
             "What a driver must have to run this model, as a text for COMPATIBILITY_CHECK: of a "
             "compiled model, with a driver of Level Zero 1.16. Not of models without weights.",
             _RO, _RO, listed=False),
    _read("COMPATIBILITY_CHECK", "ov::compatibility_check", "str",
          "SUPPORTED or UNSUPPORTED, read with the argument RUNTIME_REQUIREMENTS; NOT_APPLICABLE "
          "without it. With a driver of Level Zero 1.16. The Python of OpenVINO 2026.4.1 lists it "
          "and cannot give its value; C++ can."),
    Property("CACHE_MODE", "ov::cache_mode", Choice(("OPTIMIZE_SPEED", "OPTIMIZE_SIZE")),
             "OPTIMIZE_SIZE keeps compiled models without their weights. Refused: it is a preview.",
             listed=False,
             refused="it is a preview: the document does not list it, and 2026.4.1 does not have "
                     "it. Leave it out"),
    Property("CACHE_ENCRYPTION_CALLBACKS", "ov::cache_encryption_callbacks",
             Unchecked("two functions"), "Encrypt and decrypt what OpenVINO's cache holds.",
             None, Stated("WO")),
    _newer("EXECUTION_DEVICES", "ov::execution_devices", Unchecked("str"),
           "The devices that a model runs on.", "RO"),
    _newer("EXECUTION_MODE_HINT", "ov::hint::execution_mode", Choice(("PERFORMANCE", "ACCURACY")),
           "Whether precision may be lowered for speed.", "RW", "PERFORMANCE"),
    _newer("INFERENCE_PRECISION_HINT", "ov::hint::inference_precision",
           Choice(("f16", "i8"), {"int8_t": "i8", "float16": "f16"}),
           "The precision of inference.", "RW", "f16"),
    _newer("MODEL_PTR", "ov::hint::model", Unchecked("openvino.Model"),
           "The model, for import without weights.", "RO"),
    _newer("NPU_COMPILER_TYPE", "ov::intel_npu::compiler_type",
           Choice(("DRIVER", "PLUGIN", "PREFER_PLUGIN")),
           "Which compiler: the driver's, or one beside the plugin.", "RW", "PREFER_PLUGIN"),
    _newer("NPU_COMPILER_VERSION", "ov::intel_npu::compiler_version", Unchecked("int"),
           "The compiler's version: major in the upper 16 bits, minor in the lower.", "RO"),
    _newer("NPU_PLATFORM", "ov::intel_npu::platform", Text(),
           "The platform to compile for.", "RW", "AUTO_DETECT"),
    _newer("OPTIMIZATION_CAPABILITIES", "ov::device::capabilities", Unchecked("list"),
           "The precisions and abilities of the NPU.", "RO"),
    _newer("WEIGHTS_PATH", "ov::weights_path", Path(),
           "The file of a model's weights, for import without them.", "RW"),
    _newer("WORKLOAD_TYPE", "ov::workload_type", Choice(("DEFAULT", "EFFICIENT")),
           "EFFICIENT lets other work go first. A compiled model takes it too.", "RW", "DEFAULT"),
    Property("NPU_RUN_INFERENCES_SEQUENTIALLY", "ov::intel_npu::run_inferences_sequentially",
             Flag(), "Run asynchronous inferences in the order in which they were started.",
             None, Stated("RW", _FLAG, False), listed=False),
    _absent("NPU_DISABLE_IDLE_MEMORY_PRUNING", "ov::intel_npu::disable_idle_memory_prunning",
            Flag(), "Keep memory while nothing runs. Set only if the driver supports it."),
    _absent("NPU_ENABLE_STRIDES_FOR", "ov::intel_npu::enable_strides_for", Text(),
            "Inputs and outputs that may have strides, by name."),
    _absent("NPU_COMPILER_DYNAMIC_QUANTIZATION",
            "ov::intel_npu::compiler_dynamic_quantization", Flag(),
            "Dynamic quantization in the compiler."),
    _absent("NPU_QDQ_OPTIMIZATION", "ov::intel_npu::qdq_optimization", Flag(),
            "Optimise models that ONNX Runtime quantized."),
    _absent("NPU_QDQ_OPTIMIZATION_AGGRESSIVE", "ov::intel_npu::qdq_optimization_aggressive",
            Flag(), "The same, for speed above accuracy."),
)  # fmt: skip

PROPERTIES: Mapping[str, Property] = MappingProxyType({row.key: row for row in _ROWS})
"""The properties by their keys, in the document's order, then those that it does not have."""
