# SPDX-License-Identifier: Apache-2.0
"""Properties are looked at before OpenVINO gets them: it takes many that fail much later."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from samebytes.errors import UnknownNameError

from ._errors import NpuPropertyError, NpuPropertyWarning
from ._mode_params import CompilationModeParams
from ._property import Property
from ._table import PROPERTIES
from ._values import plain

__all__ = ["find_property", "validate"]

_NPU = "NPU"
_BY_NAME = {row.name: row for row in reversed([*PROPERTIES.values()])}
# Switches of the plugin's partitioner, which has some hundred of its own and no table of them.
_PARTITIONER = ("NPUW_", "++NPUW_", "NPU_USE_NPUW")


def find_property(name: Any) -> Property:
    """The property of a key ("NPU_TURBO"), a C++ name ("ov::intel_npu::turbo"), or an object of
    openvino.properties.

    Raises:
        UnknownNameError: there is none; the message tells the nearest ones.
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
        core: an openvino.Core, or a compiled model; then tiles are compared with the device's,
            and what the installed plugin lists is known too.
        max_tiles: to compare tiles with, of a device that is not here.

    Returns:
        The same by key, each value as OpenVINO takes it. Nothing is set.

    Raises:
        UnknownNameError: no such property, or no such parameter of the compiler.
        NpuPropertyError: a wrong type, a value that it cannot have, a property that is only read,
            or more tiles than the device has.

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
    _check_tiles(made, core, max_tiles)
    _check_override(made, core)
    return made


def _key_of(name: Any) -> str:
    return name if isinstance(name, str) else str(name() if callable(name) else name)


def _only_installed(key: str, core: Any) -> bool:
    return core is not None and key not in PROPERTIES and key in _read(core, "SUPPORTED_PROPERTIES")


def _checked(row: Property, value: Any) -> Any:
    if row.access == "RO":
        raise NpuPropertyError(row.key, value, "it is read-only")
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


def _check_tiles(made: Mapping[str, Any], core: Any, max_tiles: int | None) -> None:
    tiles = made.get("NPU_TILES")
    if tiles is None:
        return
    limit = max_tiles
    if limit is None and core is not None and not hasattr(core, "create_infer_request"):
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


def _read(core: Any, key: str) -> Any:
    if hasattr(core, "create_infer_request"):
        return core.get_property(key)
    return core.get_property(_NPU, key)
