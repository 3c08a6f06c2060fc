# SPDX-License-Identifier: Apache-2.0
"""Reading and setting the properties of the plugin, or of one compiled model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._remote._errors import naming
from ._errors import NpuPropertyError
from ._table import PROPERTIES
from ._validation import find_property, validate
from ._values import Choice, plain

__all__ = ["get_properties", "set_properties"]

_NPU = "NPU"


def get_properties(target: Any, names: Iterable[Any] | None = None) -> dict[str, Any]:
    """Properties as Python values: numbers, texts, flags, lists and dicts.

    Args:
        target: an openvino.Core, for the plugin; or an openvino.CompiledModel.
        names: which ones; left out, all that `target` lists and that can be read.

    Raises:
        UnknownNameError: no such property.
        NpuPropertyError: one that is only written.
        OpenVINOError: the plugin or model does not have it.
    """
    if names is None:
        listed = _get(target, "SUPPORTED_PROPERTIES")
        keys = [key for key, access in sorted(listed.items()) if plain(access) != "WO"]
    else:
        keys = [_readable(name) for name in names]
    return {key: _named(key, plain(_get(target, key))) for key in keys}


def set_properties(target: Any, properties: Mapping[Any, Any]) -> dict[str, Any]:
    """Set properties, after `validate` looked at them.

    Args:
        target: an openvino.Core, for the plugin; or an openvino.CompiledModel, of which
            MODEL_PRIORITY and WORKLOAD_TYPE can be changed.
        properties: by key, C++ name, or object of openvino.properties.

    Returns:
        What was set, as OpenVINO took it.

    Raises:
        UnknownNameError, NpuPropertyError: as for `validate`. Then nothing was set.
        OpenVINOError: the plugin or model refuses.
    """
    # A Core that has not loaded the plugin yet takes everything, and fails when it loads it.
    _get(target, "SUPPORTED_PROPERTIES")
    made = validate(properties, core=target)
    if _is_compiled(target):
        with naming("CompiledModel.set_property"):
            target.set_property(made)
    else:
        with naming("Core.set_property"):
            target.set_property(_NPU, made)
    return made


def _readable(name: Any) -> str:
    row = find_property(name)
    if row.access == "WO":
        raise NpuPropertyError(row.key, None, "it is only written")
    return row.key


def _get(target: Any, key: str) -> Any:
    if _is_compiled(target):
        with naming(f"CompiledModel.get_property({key!r})"):
            return target.get_property(key)
    with naming(f"Core.get_property({key!r})"):
        return target.get_property(_NPU, key)


def _is_compiled(target: Any) -> bool:
    return hasattr(target, "create_infer_request")


def _named(key: str, value: Any) -> Any:
    """A value of a choice as it is set, which its enumeration may spell in another way."""
    row = PROPERTIES.get(key)
    if row is not None and isinstance(row.kind, Choice) and isinstance(value, str):
        return row.kind.spellings.get(value, value)
    return value
