# SPDX-License-Identifier: Apache-2.0
"""Compiled models that remember their context: compiled, exported and imported."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openvino

import samebytes
from samebytes.errors import MissingDependencyError, UnsupportedObjectError
from samebytes.plugins import without_secrets_in

from .._core import check_device_name, core_of, read_model
from .._errors import naming
from .._remote._context import RemoteContext

if TYPE_CHECKING:
    from .._remote._shared_queue import Submissions

__all__ = [
    "CompiledModel",
    "compile_model",
    "context_of",
    "export_model",
    "import_model",
    "new_request",
    "plain_value",
]


class CompiledModel(openvino.CompiledModel):
    """An openvino.CompiledModel that knows its remote context, which OpenVINO does not report.

    Args:
        native: the openvino.CompiledModel.
        context: the RemoteContext that it was compiled on; None if it was compiled for a device
            by name.

    Attributes:
        submissions: for `InferRequest`: the inferences on a shared queue, or None.
    """

    def __init__(self, native: Any, context: RemoteContext | None = None) -> None:
        super().__init__(native, getattr(native, "_weights", None))
        self._context = context
        self.submissions: Submissions | None = None
        if context is not None:
            from .._remote._shared_queue import Submissions, has_shared_queue

            self.submissions = Submissions() if has_shared_queue(context) else None

    @property
    def context(self) -> RemoteContext | None:
        """The context it was compiled on, or the default one of its device; None on the CPU.

        Raises:
            UnknownNameError, MissingDependencyError: no installed plugin gives that context.
        """
        if self._context is None:
            self._context = context_of(self)
        return self._context

    def create_infer_request(self) -> openvino.InferRequest:
        """A plain openvino.InferRequest, which `InferRequest` recognises as one of this model's.

        Raises:
            ClosedError: a start_async() on the model's shared queue failed.
        """
        if self.submissions is not None:
            self.submissions.check()
        request = _Request(super().create_infer_request())
        request.made_by = self
        return request


class _Request(openvino.InferRequest):
    """OpenVINO's request, which does not know on which context its model was compiled."""

    made_by: CompiledModel


def compile_model(
    model: Any,
    context_or_device: RemoteContext | str,
    config: Mapping[Any, Any] | None = None,
    core: Any = None,
) -> CompiledModel:
    """Compile a model on a remote context, or for a device by name.

    On a context with a shared queue the model runs on that queue, and start_async() returns when
    everything was submitted to it. Such a model has one stream.

    Args:
        model: an openvino.Model, or the path of one.
        context_or_device: a ClContext, VAContext, ZeroContext ..., or "CPU", "GPU.1", "NPU" ...
        config: properties of OpenVINO.
        core: the openvino.Core to use; by default the context's, or one of samebytes' own.

    Returns:
        The compiled model, which holds the context.

    Raises:
        LayoutError: a shared queue with more than one stream; dynamic shapes on the NPU.
        UnknownNameError: OpenVINO knows no device of that name.
        UnknownNameError, NpuPropertyError: what `intel_npu.validate` refuses, for the NPU; a
            compiler that is not installed, a platform for which the driver does not compile, or a
            property that the driver or its compiler does not know.
        UnsupportedObjectError: neither a context nor a name; or neither a model nor a path.
        ClosedError: the context was closed.
        FileNotFoundError: the file does not exist.
        MissingDependencyError: OpenVINO has no such device on this machine.
        RuntimeError: OpenVINO's, if it cannot compile the model.

    Warns:
        HostBlockingWarning: an operation of the model makes start_async() wait, on a shared queue.
    """
    if _is_npu(context_or_device):
        from ..intel_npu._properties import check_tiles, validate

        given_core = core if core is not None else getattr(context_or_device, "core", None)
        config = validate(config or {}, core=core_of(given_core))
        if "NPU_TILES" not in config:
            check_tiles(core_of(given_core))
    properties = _plain_config(config)
    if isinstance(context_or_device, str):
        core = core_of(core)
        model = _refuse_dynamic(core, model, context_or_device)
        model = read_model(core, model)
        with (
            _naming_compilers(core, context_or_device, properties),
            naming_missing_devices(core, context_or_device),
        ):
            return CompiledModel(core.compile_model(model, context_or_device, properties))
    if not isinstance(context_or_device, RemoteContext):
        raise UnsupportedObjectError(
            f"{context_or_device!r} is neither a device's name nor a context of samebytes: pass "
            '"GPU", samebytes.context("openvino:GPU") or an intel_gpu.ClContext'
        )
    from .._remote._shared_queue import has_shared_queue, refuse_streams, warn_of_host_blocking

    context = context_or_device
    context.check_open()
    native, device = context.native, context.device_name
    core = context.core if core is None else core_of(core)
    model = read_model(core, _refuse_dynamic(core, model, device))
    if has_shared_queue(context):
        refuse_streams(core, device, properties)
        warn_of_host_blocking(model)
    with _naming_compilers(core, context, properties):
        return CompiledModel(core.compile_model(model, native, properties), context)


def _plain_config(config: Mapping[Any, Any] | None) -> dict[str, Any]:
    """A configuration with plain keys, and with stream counts as OpenVINO parses them.

    The bindings refuse an int for NUM_STREAMS.
    """
    plain = {str(key): value for key, value in (config or {}).items()}
    for key in ("NUM_STREAMS", "PERFORMANCE_HINT"):
        if key in plain:
            plain[key] = plain_value(plain[key])
    return plain


def plain_value(value: Any) -> str:
    """A value of a hint or stream count as text: that of OpenVINO's enums and numbers too."""
    if hasattr(value, "to_integer"):
        value = value.to_integer()
    return str(getattr(value, "name", value))


def new_request(model: Any) -> tuple[Any, CompiledModel | None]:
    """An openvino.InferRequest of a compiled model, and that model if it knows its context.

    Args:
        model: an openvino.CompiledModel; or a request, which is taken as it is.

    Raises:
        UnsupportedObjectError: it is neither.
    """
    if isinstance(model, openvino.CompiledModel):
        return model.create_infer_request(), model if isinstance(model, CompiledModel) else None
    if isinstance(model, openvino.InferRequest):
        return model, getattr(model, "made_by", None)
    raise UnsupportedObjectError(
        f"{type(model).__name__} is neither an openvino.CompiledModel nor an "
        "openvino.InferRequest: compile the model first, samebytes_openvino.compile_model(model, "
        "device)"
    )


def context_of(compiled: Any) -> RemoteContext | None:
    """The default context of the device that a model runs on, None for the CPU and for several.

    Python cannot ask an openvino.CompiledModel for the context it was compiled on.
    """
    devices: list[str] | str = compiled.get_property("EXECUTION_DEVICES")
    if isinstance(devices, str):  # the NPU plugin's way
        devices = [devices]
    if len(devices) != 1 or devices[0].partition(".")[0] not in ("GPU", "NPU"):
        return None
    # AUTO, MULTI and HETERO name the device that they chose, and run their own requests there.
    if "MULTI_DEVICE_PRIORITIES" in compiled.get_property("SUPPORTED_PROPERTIES"):
        return None
    context = samebytes.context(f"openvino:{devices[0]}")
    return context if isinstance(context, RemoteContext) else None


def _is_npu(context_or_device: Any) -> bool:
    if isinstance(context_or_device, RemoteContext):
        return context_or_device.device_name.partition(".")[0] == "NPU"
    return isinstance(context_or_device, str) and context_or_device.partition(".")[0] == "NPU"


def _naming_compilers(
    core: Any, context_or_device: RemoteContext | str, config: Mapping[str, Any]
) -> AbstractContextManager[None]:
    """A block whose errors name the NPU's compiler or platform, where that is why it fails."""
    if not _is_npu(context_or_device):
        return nullcontext()
    from ..intel_npu._properties import naming_compilers

    return naming_compilers(core, config)


@contextmanager
def naming_missing_devices(core: Any, device: str) -> Iterator[None]:
    """Explain a failure of compiling in the block if the device is missing or its name is unknown.

    It is checked only after a failure, since the NPU plugin can compile for a platform that is not
    there.

    Raises:
        MissingDependencyError: OpenVINO finds no such GPU or NPU; what to do.
        UnknownNameError: it is not the name of a device, such as "gpu".
    """
    try:
        yield
    except RuntimeError as error:
        from .._probe import missing_devices  # not before one is missing

        check_device_name(core, device, error)
        kind, found = device.partition(".")[0], core.available_devices
        why = missing_devices(found).get(f"no {kind}")
        if why is None:
            raise
        article = "an" if kind == "NPU" else "a"
        what = f"{article} {kind} that OpenVINO can use"
        raise MissingDependencyError("openvino", what, why) from error


def _refuse_dynamic(core: Any, model: Any, device: str) -> Any:
    """Return a model for the NPU, which is read from its file and checked; others as they are."""
    if not device.startswith("NPU"):
        return model
    # Not at the top: programs for other devices need none of it.
    from ..intel_npu._models import check_static

    model = read_model(core, model)
    check_static(model)
    return model


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
        try:
            blob = Path(blob).read_bytes()
        except OSError as error:
            without_secrets_in(error)  # the path may be a URL, which OpenVINO does not read
            raise
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
                "Core.import_model takes only the name of a device: compile_model() takes this one"
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
