# SPDX-License-Identifier: Apache-2.0
"""The openvino.Core that is used if the user passes none, and the devices that a Core knows."""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

import openvino

from samebytes import Device
from samebytes.errors import (
    MissingDependencyError,
    NativeError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import without_secrets

from ._errors import naming

__all__ = [
    "NPU",
    "check_device_name",
    "check_gpu_name",
    "core_of",
    "default_core",
    "default_npu_context",
    "gpu_device",
    "gpu_names",
    "npu_device",
    "npu_memory",
    "read_model",
]

# OpenVINO lists only the devices that are there, and cannot be asked for all that it knows.
# https://docs.openvino.ai/2025/openvino-workflow/running-inference/inference-devices-and-modes.html
_KINDS = ("AUTO", "BATCH", "CPU", "GPU", "HETERO", "MULTI", "NPU")

# Files of weights; the model that they belong to is in a program of torch.
_OF_TORCH = (".ckpt", ".pt", ".pth", ".safetensors")

NPU = "NPU"

_NPU_HINT = (
    "install Intel's NPU driver and see that you may open /dev/accel/accel0 (group render). For "
    "tests without one: samebytes-softdevices run --npu -- COMMAND "
    '(pip install "samebytes-softdevices[npu]")'
)


@cache
def default_core() -> Any:
    """The one Core of this process. A device's default context is the same for every Core."""
    return openvino.Core()


def core_of(given: Any) -> Any:
    """The openvino.Core that was passed; for None, the one of this process.

    Raises:
        UnsupportedObjectError: it is something else.
    """
    if given is None:
        return default_core()
    if not hasattr(given, "compile_model"):
        raise UnsupportedObjectError(f"core must be an openvino.Core, not {given!r}")
    return given


def check_device_name(core: Any, device: str, cause: Exception | None = None) -> None:
    """Check that OpenVINO could know a device of that name, such as "GPU.1" or "AUTO:GPU,CPU".

    Args:
        cause: that of the error, if any.

    Raises:
        UnknownNameError: it could not, as for "gpu".
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
        UnsupportedObjectError: `model` is neither a model nor a path, or the file has weights of
            torch, not a model.
        RuntimeError: OpenVINO's, if it cannot read the file.
    """
    if isinstance(model, openvino.Model):
        return model
    if not isinstance(model, str | bytes | os.PathLike):
        raise UnsupportedObjectError(
            f"{type(model).__name__} is neither an openvino.Model nor the path of one"
        )
    if not os.path.exists(model):  # noqa: PTH110 - the path is bytes or str, as the user gave it
        shown = without_secrets(os.fspath(model))  # it may be a URL, from which no model is read
        raise FileNotFoundError(errno.ENOENT, "no such model file", shown)
    path = Path(os.fsdecode(model))
    # OpenVINO takes every folder for a SavedModel of TensorFlow.
    inside = [*path.glob("*.xml"), *path.glob("*.onnx")] if path.is_dir() else []
    if inside:
        raise IsADirectoryError(
            errno.EISDIR, f"a folder, and the model is the file in it, {inside[0].name}", str(path)
        )
    try:
        return core_of(core).read_model(str(path))
    except RuntimeError as error:
        if path.suffix not in _OF_TORCH:
            raise
        raise UnsupportedObjectError(
            f"OpenVINO cannot read a {path.suffix} file of torch: export the model and pass the "
            "exported file; for a YOLO by 'yolo export format=openvino', for others by "
            "openvino.convert_model or torch.onnx.export"
        ) from error


@cache
def gpu_names() -> tuple[str, ...]:
    """The GPUs by OpenVINO's names: ("GPU",), or ("GPU.0", "GPU.1") if there are several."""
    # It asks each plugin, which takes some hundredths of a second.
    devices = default_core().available_devices
    return tuple(name for name in devices if name.partition(".")[0] == "GPU")


def check_gpu_name(name: str) -> None:
    """Raise unless OpenVINO has a GPU of that name; "GPU" is the first one.

    Raises:
        MissingDependencyError: it has none at all.
        UnknownNameError: it has others.
    """
    known = gpu_names()
    if not known:
        raise MissingDependencyError(
            "openvino",
            "a GPU that OpenVINO can use",
            "apt install ocl-icd-libopencl1 intel-opencl-icd; clinfo must list the GPU. For tests "
            "without one: samebytes-softdevices run --gpu -- COMMAND "
            '(pip install "samebytes-softdevices[gpu]")',
        )
    if name not in known and name != "GPU" and not (name == "GPU.0" and known == ("GPU",)):
        raise UnknownNameError("device of openvino:GPU", name, known)


@cache
def gpu_device(name: str) -> Device:
    """The device that OpenVINO calls `name`, with its UUID and PCI address if it has them."""
    core = default_core()
    return Device(
        "GPU",
        core.get_property(name, "FULL_DEVICE_NAME"),
        uuid=_bytes(core.get_property(name, "DEVICE_UUID")),
        pci=_pci(core.get_property(name, "DEVICE_PCI_INFO")),
        luid=_bytes(core.get_property(name, "DEVICE_LUID")),
    )


def _bytes(text: str) -> bytes | None:
    """Hexadecimal digits as bytes; OpenVINO writes zeros for what the driver does not report."""
    value = bytes.fromhex(text)
    return value if any(value) else None


def _pci(info: Any) -> str | None:
    """A PCI address; None for one of all zeros, which no GPU has."""
    if not (info.domain or info.bus or info.device or info.function):
        return None
    return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}.{info.function:x}"


def default_npu_context(core: Any) -> Any:
    """The plugin's openvino.RemoteContext, which wraps the same ze_context for every Core.

    Raises:
        MissingDependencyError: OpenVINO finds no NPU, with the plugin's own reason.
    """
    try:
        with naming("Core.get_default_context"):
            return core.get_default_context(NPU)
    except NativeError as error:
        raise MissingDependencyError(
            "openvino", f"an NPU that OpenVINO can use ({error})", _NPU_HINT
        ) from error


def npu_device(core: Any) -> Device:
    """Name, UUID and PCI address of the NPU."""
    pci = core.get_property(NPU, "DEVICE_PCI_INFO")
    return Device(
        NPU,
        name=core.get_property(NPU, "FULL_DEVICE_NAME"),
        uuid=bytes.fromhex(core.get_property(NPU, "DEVICE_UUID")),
        pci=f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.{pci.function:x}",
    )


def npu_memory(core: Any) -> int:
    """The bytes that the NPU can use."""
    return int(core.get_property(NPU, "NPU_DEVICE_TOTAL_MEM_SIZE"))
