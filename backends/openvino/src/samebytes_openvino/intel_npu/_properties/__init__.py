# SPDX-License-Identifier: Apache-2.0
"""The properties of OpenVINO's NPU plugin: a table, checks, reading and setting.

Properties belong to the plugin, or to one compiled model. They are checked before OpenVINO gets
them, because OpenVINO accepts many wrong ones and fails much later. If OpenVINO cannot compile
because of a property, the error names it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from samebytes.errors import UnknownNameError, UnsupportedObjectError

from ..._errors import OpenVINOError, naming
from ._table import PLATFORMS, PROPERTIES, Platform, Property, Stated, platform
from ._values import Choice, CompilationModeParams, NpuPropertyError, NpuPropertyWarning, plain

__all__ = [
    "PLATFORMS",
    "PROPERTIES",
    "CompilationModeParams",
    "NpuPropertyError",
    "NpuPropertyWarning",
    "Platform",
    "Property",
    "Stated",
    "check_tiles",
    "find_property",
    "get_properties",
    "naming_compilers",
    "platform",
    "set_properties",
    "validate",
]

_NPU = "NPU"
# src/plugins/intel_npu/src/compiler_adapter of OpenVINO: plugin_compiler_adapter.cpp, and
# compiler_adapter_factory.cpp. The second text is only the library's name, as in later versions.
_NO_COMPILER = ("VCL compiler loading failed", "libopenvino_intel_npu_compiler")
_NO_DEVICE = "Could not find a valid NPU device"
# common/src/filtered_config.cpp: the plugin has the option, the driver or its compiler does not.
_NO_OPTION = re.compile(r"Option '(\w+)' is not supported for current configuration")
# utils/src/zero/zero_wrappers: the function that sets the only key of a driver's context.
_NO_PRUNING = "pfnSetProperties is only available"
_INSTEAD = {
    "NPU_ENABLE_STRIDES_FOR": "Leave it out: the NPU then takes dense inputs and outputs, and a "
    "region with gaps is copied where copy=True allows it",
}
_BY_NAME = {row.name: row for row in reversed([*PROPERTIES.values()])}
# Python's bindings of 2026.4.1 know the type of these values, but do not convert them.
_WITHOUT_A_TYPE = ("COMPATIBILITY_CHECK",)
# Switches of the plugin's partitioner: about a hundred, and no table lists them.
_PARTITIONER = ("NPUW_", "++NPUW_", "NPU_USE_NPUW")


def find_property(name: Any) -> Property:
    """The property of a key ("NPU_TURBO"), a C++ name ("ov::intel_npu::turbo"), or an object of
    openvino.properties.

    Args:
        name: in any of these forms.

    Raises:
        UnknownNameError: there is none; the message suggests the nearest ones.
    """
    key = _key_of(name)
    found = PROPERTIES.get(key) or _BY_NAME.get(key) or _BY_NAME.get(f"ov::{key}")
    if found is None:
        raise UnknownNameError("NPU property", key, PROPERTIES)
    return found


def validate(
    properties: Mapping[Any, Any], *, core: Any = None, max_tiles: int | None = None
) -> dict[str, Any]:
    """The properties as `openvino.Core.set_property("NPU", ...)` and compile_model() take them.

    Args:
        properties: by key, C++ name, or object of openvino.properties.
        core: an openvino.Core, or a compiled model; if given, tiles are compared with the
            device's, and all properties that the installed plugin lists are known.
        max_tiles: the most tiles, for a device that this machine does not have.

    Returns:
        The properties by key, each value as OpenVINO takes it. Nothing is set.

    Raises:
        UnknownNameError: no such property, or no such parameter of the compiler.
        NpuPropertyError: a wrong type or value, a property that can only be read, or more tiles
            than the device has.

    Warns:
        NpuPropertyWarning: performance-hint-override without PERFORMANCE_HINT: LATENCY.
    """
    made: dict[str, Any] = {}
    for name, value in properties.items():
        key = _key_of(name)
        if key.startswith(_PARTITIONER) or _only_installed(key, core):
            made[key] = value
            continue
        row = find_property(name)
        if row.key in made:
            raise NpuPropertyError(row.key, value, "it is given twice")
        made[row.key] = _checked(row, value)
    _check_device(made, core)
    _check_tiles(made, core, max_tiles)
    _check_override(made, core)
    return made


def get_properties(target: Any, names: Iterable[Any] | None = None) -> dict[str, Any]:
    """Properties as Python values: numbers, texts, flags, lists and dicts.

    Args:
        target: an openvino.Core, for the plugin; or an openvino.CompiledModel.
        names: the properties to read; None for all that `target` lists and Python can read.

    Raises:
        UnknownNameError: no such property.
        NpuPropertyError: a property that can only be written.
        OpenVINOError: the plugin or model does not have it, or Python has no type for its value.
    """
    _check_target(target)
    if names is None:
        listed = _get(target, "SUPPORTED_PROPERTIES")
        keys = [key for key, access in sorted(listed.items()) if plain(access) != "WO"]
        keys = [key for key in keys if key not in _WITHOUT_A_TYPE]
    else:
        keys = [_readable(name) for name in names]
    return {key: _named(key, plain(_get(target, key))) for key in keys}


def set_properties(target: Any, properties: Mapping[Any, Any]) -> dict[str, Any]:
    """Set properties, after `validate` has checked them.

    Args:
        target: an openvino.Core, for the plugin; or an openvino.CompiledModel, whose
            MODEL_PRIORITY and WORKLOAD_TYPE can be changed.
        properties: by key, C++ name, or object of openvino.properties.

    Returns:
        The properties that were set, as OpenVINO took them.

    Raises:
        UnknownNameError, NpuPropertyError: as for `validate`. Nothing was set.
        OpenVINOError: the plugin or model refuses.
    """
    _check_target(target)
    # A Core accepts everything until it loads the plugin, and fails only then.
    _get(target, "SUPPORTED_PROPERTIES")
    made = validate(properties, core=target)
    if _is_compiled(target):
        with naming("CompiledModel.set_property"):
            target.set_property(made)
    else:
        with naming("Core.set_property"):
            target.set_property(_NPU, made)
    return made


def check_tiles(core: Any) -> None:
    """Check the number of tiles set for a Core, which OpenVINO's own call may have set.

    Args:
        core: the openvino.Core that is about to compile for the NPU.

    Raises:
        NpuPropertyError: more tiles than the device has.
    """
    with suppress(RuntimeError):  # there is no NPU: compile_model() gives a better error
        _check_tiles({"NPU_TILES": _read(core, "NPU_TILES")}, core, None)


@contextmanager
def naming_compilers(core: Any, config: Mapping[str, Any]) -> Iterator[None]:
    """Name the property that keeps OpenVINO from compiling, if it is one of those below.

    Args:
        core: the openvino.Core that compiles.
        config: the properties that it compiles with, by key.

    Raises:
        NpuPropertyError: for NPU_COMPILER_TYPE, if its compiler is not installed; for NPU_PLATFORM,
            if this machine's driver does not compile for it; and for a property that the plugin
            knows, but the driver or its compiler does not.
    """
    try:
        yield
    except RuntimeError as error:
        message = str(error)
        unknown = _unknown_in(message, config)
        if unknown is not None:
            raise NpuPropertyError(
                unknown,
                config[unknown],
                f"it was set to {config[unknown]!r}, and OpenVINO's NPU plugin does not take it "
                "with this machine's driver and compiler: the plugin's SUPPORTED_PROPERTIES lists "
                f"what it takes. {_INSTEAD.get(unknown, 'Leave it out')}",
            ) from error
        if any(text in message for text in _NO_COMPILER):
            raise NpuPropertyError(
                "NPU_COMPILER_TYPE",
                config.get("NPU_COMPILER_TYPE"),
                "OpenVINO's own NPU compiler, which PLUGIN asks for, is not installed beside its "
                "NPU plugin. Leave it out, or set DRIVER: then the driver's compiler is used, for "
                "the NPU of this machine",
            ) from error
        if _NO_DEVICE in message:
            platform = config.get("NPU_PLATFORM") or _read(core, "NPU_PLATFORM")
            raise NpuPropertyError(
                "NPU_PLATFORM",
                platform,
                f"this machine has no NPU {platform}, but {_here(core)}, and a driver compiles for "
                "its own NPU alone. Leave it out, or compile with NPU_COMPILER_TYPE: PLUGIN where "
                "OpenVINO's own NPU compiler is installed",
            ) from error
        raise


def _unknown_in(message: str, config: Mapping[str, Any]) -> str | None:
    """The key of `config` that OpenVINO reports as unknown here; None for other messages."""
    option = _NO_OPTION.search(message)
    key = option.group(1) if option else ""
    if _NO_PRUNING in message:
        key = "NPU_DISABLE_IDLE_MEMORY_PRUNING"
    return key if key in config else None


def _key_of(name: Any) -> str:
    return name if isinstance(name, str) else str(name() if callable(name) else name)


def _only_installed(key: str, core: Any) -> bool:
    return core is not None and key not in PROPERTIES and key in _read(core, "SUPPORTED_PROPERTIES")


def _checked(row: Property, value: Any) -> Any:
    if row.access == "RO":
        raise NpuPropertyError(row.key, value, "it is read-only")
    if row.refused:
        raise NpuPropertyError(row.key, value, row.refused)
    try:
        return row.kind.checked(value)
    except NpuPropertyError:
        raise
    except ValueError as error:
        documented = "" if row.document is None else row.document.values
        also = ""
        if isinstance(value, str) and value in documented.split(", "):
            also = " (the document has it, and the plugin of 2026.4.1 refuses it)"
        raise NpuPropertyError(row.key, value, f"{error}, not {value!r}{also}") from None


def _check_device(made: Mapping[str, Any], core: Any) -> None:
    device = made.get("DEVICE_ID")
    if not device or core is None or _is_compiled(core):
        return
    known = _read(core, "AVAILABLE_DEVICES")
    if device not in known:
        raise NpuPropertyError(
            "DEVICE_ID", device, f"no NPU {device!r}: the plugin has {', '.join(known)}"
        )


def _check_tiles(made: Mapping[str, Any], core: Any, max_tiles: int | None) -> None:
    tiles = made.get("NPU_TILES")
    if tiles is None:
        return
    limit = max_tiles
    if limit is None and core is not None and not _is_compiled(core):
        limit = int(_read(core, "NPU_MAX_TILES"))
    if limit is not None and tiles > limit:
        raise NpuPropertyError(
            "NPU_TILES", tiles, f"{tiles} tiles, and the device has {limit} (NPU_MAX_TILES)"
        )


def _check_override(made: Mapping[str, Any], core: Any) -> None:
    text = made.get("NPU_COMPILATION_MODE_PARAMS")
    if not text or CompilationModeParams.parse(text).performance_hint_override is None:
        return
    hint = made.get("PERFORMANCE_HINT")
    if hint is None and core is not None:
        hint = plain(_read(core, "PERFORMANCE_HINT"))
    if hint != "LATENCY":
        warnings.warn(
            "NPU_COMPILATION_MODE_PARAMS: performance-hint-override has no effect without "
            "PERFORMANCE_HINT: LATENCY",
            NpuPropertyWarning,
            stacklevel=4,
        )


def _here(core: Any) -> str:
    """The NPUs of this machine in words, or "none"."""
    found: list[str] = core.get_property("NPU", "AVAILABLE_DEVICES")
    return ", ".join(f"an NPU {name}" for name in found) or "none"


def _check_target(target: Any) -> None:
    if not hasattr(target, "get_property"):
        raise UnsupportedObjectError(
            f"properties are of an openvino.Core or an openvino.CompiledModel, not of {target!r}"
        )


def _readable(name: Any) -> str:
    row = find_property(name)
    if row.access == "WO":
        raise NpuPropertyError(row.key, None, "it is write-only")
    return row.key


def _get(target: Any, key: str) -> Any:
    call = f"{'CompiledModel' if _is_compiled(target) else 'Core'}.get_property({key!r})"
    with naming(call):
        try:
            return _read(target, key)
        except TypeError as error:  # from the bindings, after the plugin has answered
            reason = "this version of OpenVINO cannot give the value to Python: C++ can have it"
            raise OpenVINOError(call, reason) from error


def _read(target: Any, key: str) -> Any:
    return target.get_property(key) if _is_compiled(target) else target.get_property(_NPU, key)


def _is_compiled(target: Any) -> bool:
    return hasattr(target, "create_infer_request")


def _named(key: str, value: Any) -> Any:
    """A value of a choice as it is set, since its enumeration may spell it in another way."""
    row = PROPERTIES.get(key)
    if row is not None and isinstance(row.kind, Choice) and isinstance(value, str):
        return row.kind.spellings.get(value, value)
    return value
