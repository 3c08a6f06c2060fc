# SPDX-License-Identifier: Apache-2.0
"""compile_model: a compiled model that remembers the context it was compiled on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import openvino

import samebytes
from samebytes.errors import UnsupportedObjectError

from ._remote._context import RemoteContext
from ._remote._core import default_core
from ._remote._shared_queue import (
    Submissions,
    has_shared_queue,
    plain_config,
    refuse_streams,
    warn_of_host_blocking,
)

__all__ = ["CompiledModel", "compile_model", "context_of"]


class CompiledModel(openvino.CompiledModel):
    """An openvino.CompiledModel that knows its remote context, which OpenVINO does not tell.

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
        shared = context is not None and has_shared_queue(context)
        self.submissions = Submissions() if shared else None

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
    """OpenVINO's request, which cannot tell on which context its model was compiled."""

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

    Raises:
        LayoutError: a shared queue with more than one stream; dynamic shapes on the NPU.
        UnsupportedObjectError: neither a context nor a name.
        ClosedError: the context was closed.
        RuntimeError: OpenVINO's, if it cannot compile the model.

    Warns:
        HostBlockingWarning: an operation of the model makes start_async() wait, on a shared queue.
    """
    properties = plain_config(config)
    if isinstance(context_or_device, str):
        core = core or default_core()
        model = _refuse_dynamic(core, model, context_or_device)
        return CompiledModel(core.compile_model(model, context_or_device, properties))
    if not isinstance(context_or_device, RemoteContext):
        raise UnsupportedObjectError(
            f"{context_or_device!r} is neither a device's name nor a context of samebytes: pass "
            '"GPU", samebytes.context("openvino:GPU") or an intel_gpu.ClContext'
        )
    context = context_or_device
    native, device = context.native, context.device_name
    core = core or context.core
    model = _read(core, _refuse_dynamic(core, model, device))
    if has_shared_queue(context):
        refuse_streams(core, device, properties)
        warn_of_host_blocking(model)
    return CompiledModel(core.compile_model(model, native, properties), context)


def context_of(compiled: Any) -> RemoteContext | None:
    """The default context of the device that a model runs on, None for the CPU and for several.

    Python cannot ask an openvino.CompiledModel for the context it was compiled on.
    """
    devices: list[str] | str = compiled.get_property("EXECUTION_DEVICES")
    if isinstance(devices, str):  # the NPU plugin's way
        devices = [devices]
    if len(devices) != 1 or devices[0].partition(".")[0] not in ("GPU", "NPU"):
        return None
    # AUTO, MULTI and HETERO name the device that they chose, and run requests of their own there.
    if "MULTI_DEVICE_PRIORITIES" in compiled.get_property("SUPPORTED_PROPERTIES"):
        return None
    context = samebytes.context(f"openvino:{devices[0]}")
    return context if isinstance(context, RemoteContext) else None


def _read(core: Any, model: Any) -> Any:
    return core.read_model(model) if isinstance(model, str | os.PathLike) else model


def _refuse_dynamic(core: Any, model: Any, device: str) -> Any:
    """`model`, read where it must be looked into."""
    if not device.startswith("NPU"):
        return model
    # Not at the top: programs for other devices need none of it.
    from .intel_npu import check_static

    model = _read(core, model)
    check_static(model)
    return model
