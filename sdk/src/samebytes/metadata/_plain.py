# SPDX-License-Identifier: Apache-2.0
"""Entries as plain data and back, for code that carries them to another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..errors import MetadataError
from ._affine import AffineTransform
from ._checks import sequence, shown
from ._entries import (
    Classification,
    InferenceResult,
    LayerInfo,
    ModelInfo,
    ObjectId,
    SourceIdentifier,
)
from ._entry import Entry

if TYPE_CHECKING:
    from .._core.memory.tensor import Tensor

__all__ = ["from_plain", "to_plain"]

# The names of the classes in messages. Views are not among them: frames carry their values.
_KINDS: dict[str, type[Entry]] = {
    "affine": AffineTransform,
    "classification": Classification,
    "inference": InferenceResult,
    "model": ModelInfo,
    "object_id": ObjectId,
    "source": SourceIdentifier,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_plain(entry: Entry, tensor: Callable[[Tensor], Any]) -> dict[str, Any]:
    """An entry as None, int, float, str, list and dict.

    Args:
        entry: one of `entries_of()`.
        tensor: makes plain data of the tensor of an InferenceResult.

    Raises:
        MetadataError: a view, or a class of a program's own.
    """
    try:
        kind = _NAMES[type(entry)]
    except KeyError:
        raise MetadataError(
            type(entry).__name__,
            f"is known to this process alone; entries that can be sent are: "
            f"{', '.join(map(_named, _NAMES))}",
        ) from None
    return {"kind": kind, **_fields_of(entry, tensor)}


def _named(kind: type[Entry]) -> str:
    return kind.__name__


def _fields_of(entry: Any, tensor: Callable[[Tensor], Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for each in fields(entry):
        value = getattr(entry, each.name)
        if isinstance(value, InferenceResult):
            value = _fields_of(value, tensor)
        elif each.name == "tensor" and value is not None:
            value = tensor(value)
        elif isinstance(value, tuple):
            value = [_fields_of(v, tensor) if isinstance(v, LayerInfo) else v for v in value]
        plain[each.name] = value
    return plain


def from_plain(plain: Any, tensor: Callable[[Any, str], Tensor]) -> Entry:
    """The entry that `to_plain` turned into such data, checked, since no sender is trusted.

    Args:
        plain: the data.
        tensor: turns the plain data of a tensor back into a tensor; the second argument is its
            name in errors.

    Raises:
        MetadataError: it is no such data; `field` is the place.
    """
    kind = plain.get("kind") if isinstance(plain, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise MetadataError("kind", f"must be one of {', '.join(_KINDS)}, not {shown(kind)}")
    inner = {key: value for key, value in plain.items() if key != "kind"}
    return _made(_KINDS[kind], inner, "", tensor)  # type: ignore[no-any-return]  # of that class


def _made(kind: type, plain: Any, name: str, tensor: Callable[[Any, str], Tensor]) -> Any:
    names = [each.name for each in fields(kind)]
    if not isinstance(plain, dict) or plain.keys() != set(names):
        raise MetadataError(
            name or "entry", f"must be an object with {', '.join(names)}, not {shown(plain)}"
        )
    prefix = f"{name}." if name else ""
    values = dict(plain)
    if values.get("result") is not None:
        values["result"] = _made(InferenceResult, values["result"], f"{prefix}result", tensor)
    if values.get("tensor") is not None:
        values["tensor"] = tensor(values["tensor"], f"{prefix}tensor")
    if kind is ModelInfo:
        for side in ("inputs", "outputs"):
            layers = enumerate(sequence(values[side], prefix + side))
            values[side] = [
                _made(LayerInfo, layer, f"{prefix}{side}[{i}]", tensor) for i, layer in layers
            ]
    return kind(**values)
