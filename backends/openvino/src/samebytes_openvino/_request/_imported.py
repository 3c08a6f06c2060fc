# SPDX-License-Identifier: Apache-2.0
"""Compiled models as bytes: written by export_model, and read in place of being compiled again."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openvino

from samebytes.errors import UnsupportedObjectError

from .._core import core_of
from .._errors import naming
from .._remote._context import RemoteContext
from ._compiled import CompiledModel, naming_missing_devices

__all__ = ["export_model", "import_model"]


def export_model(compiled: openvino.CompiledModel) -> bytes:
    """A compiled model as bytes, which `import_model` loads without compiling.

    They are of this version of OpenVINO, this driver and this device: others may refuse them.

    Args:
        compiled: what `compile_model` returned, or an openvino.CompiledModel.

    Raises:
        OpenVINOError: the device's plugin cannot export it.
        UnsupportedObjectError: it is not a compiled model.
    """
    if not isinstance(compiled, openvino.CompiledModel):
        raise UnsupportedObjectError(
            f"a {type(compiled).__name__} is not an openvino.CompiledModel: compile_model() gives "
            "one"
        )
    stream = io.BytesIO()
    with naming("CompiledModel.export_model"):
        compiled.export_model(stream)
    return stream.getvalue()


def import_model(
    blob: bytes | bytearray | memoryview | str | os.PathLike[str],
    context_or_device: RemoteContext | str,
    config: Mapping[Any, Any] | None = None,
    core: Any = None,
) -> CompiledModel:
    """A compiled model from what `export_model` gave: the first inference comes sooner (FIL).

    Args:
        blob: the bytes, or the path of a file that holds them.
        context_or_device: the name of a device, or the plugin's own context of one.
        config: properties of OpenVINO.
        core: the openvino.Core to use; by default the context's, or one of samebytes' own.

    Returns:
        The compiled model, which holds the context.

    Raises:
        ClosedError: the context was closed.
        FileNotFoundError: the file does not exist.
        MissingDependencyError: OpenVINO has no such device on this machine.
        OpenVINOError: the bytes are not a model that this plugin exported, or are cut.
        UnsupportedObjectError: neither a name nor a context, or a context of the user's; or neither
            bytes nor a path.
    """
    if isinstance(blob, str | os.PathLike):
        blob = Path(blob).read_bytes()
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise UnsupportedObjectError(
            f"a {type(blob).__name__} is neither bytes of export_model() nor the path of a file"
        )
    context = context_or_device if isinstance(context_or_device, RemoteContext) else None
    if context is not None:
        context.check_open()
        if not getattr(context, "shared", True):
            raise UnsupportedObjectError(
                f"{context!r} is not the plugin's own context of its device, and OpenVINO's "
                "Core.import_model takes the name of a device alone: compile_model() takes this one"
            )
        core = context.core if core is None else core
        device = context.device_name
    elif isinstance(context_or_device, str):
        device = context_or_device
    else:
        raise UnsupportedObjectError(
            f"{context_or_device!r} is neither a device's name nor a context of samebytes"
        )
    core = core_of(core)
    with naming_missing_devices(core, device), naming("Core.import_model"):
        native = core.import_model(io.BytesIO(blob), device, dict(config or {}))
    return CompiledModel(native, context)
