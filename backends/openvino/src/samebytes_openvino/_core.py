# SPDX-License-Identifier: Apache-2.0
"""The openvino.Core that is used where the user passes none, and what a Core reads and knows."""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

import openvino

from samebytes.errors import UnknownNameError, UnsupportedObjectError

__all__ = ["check_device_name", "core_of", "default_core", "read_model"]

# OpenVINO lists only the devices that are there, and cannot be asked for all that it knows.
# https://docs.openvino.ai/2025/openvino-workflow/running-inference/inference-devices-and-modes.html
_KINDS = ("AUTO", "BATCH", "CPU", "GPU", "HETERO", "MULTI", "NPU")


@cache
def default_core() -> Any:
    """One for the process. A device's default context is the same for every Core."""
    return openvino.Core()


def core_of(given: Any) -> Any:
    """The openvino.Core that was passed, or the one for the process in place of None.

    Raises:
        UnsupportedObjectError: it is something else.
    """
    if given is None:
        return default_core()
    if not hasattr(given, "compile_model"):
        raise UnsupportedObjectError(f"core must be an openvino.Core, not {given!r}")
    return given


def check_device_name(core: Any, device: str, cause: Exception | None = None) -> None:
    """See whether OpenVINO could know a device of that name, such as "GPU.1" or "AUTO:GPU,CPU".

    Args:
        cause: of the error.

    Raises:
        UnknownNameError: it does not, as of "gpu".
    """
    kind = device.partition(".")[0].partition(":")[0]
    if kind in _KINDS:
        return
    known = {*_KINDS, *(name.partition(".")[0] for name in core.available_devices)}
    if kind not in known:
        raise UnknownNameError("device of OpenVINO", device, sorted(known)) from cause


def read_model(core: Any, model: Any) -> Any:
    """The openvino.Model of a path; a model as it is.

    Args:
        core: an openvino.Core, or None for one that samebytes keeps.

    Raises:
        FileNotFoundError: the file does not exist.
        IsADirectoryError: it is the folder that an export wrote; the error names the file in it.
        UnsupportedObjectError: `model` is neither a model nor a path.
        RuntimeError: OpenVINO's, if it cannot read the file.
    """
    if isinstance(model, openvino.Model):
        return model
    if not isinstance(model, str | bytes | os.PathLike):
        raise UnsupportedObjectError(
            f"{type(model).__name__} is neither an openvino.Model nor the path of one"
        )
    if not os.path.exists(model):  # noqa: PTH110 - the path is bytes or str, as the user gave it
        raise FileNotFoundError(errno.ENOENT, "no such model file", os.fspath(model))
    path = Path(os.fsdecode(model))
    # OpenVINO takes every folder for a SavedModel of TensorFlow.
    inside = [*path.glob("*.xml"), *path.glob("*.onnx")] if path.is_dir() else []
    if inside:
        raise IsADirectoryError(
            errno.EISDIR, f"a folder, and the model is the file in it, {inside[0].name}", str(path)
        )
    return core_of(core).read_model(str(path))
