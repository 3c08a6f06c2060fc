# SPDX-License-Identifier: Apache-2.0
"""OpenVINO tensors as samebytes memory, and an inference request that keeps its tensors alive.

    y, u, v = samebytes.frame(av_frame).map("openvino")    # three tensors on the decoder's bytes
    request = samebytes_openvino.InferRequest(compiled_model)
    request.set_input_tensor(0, y)
    for output in request.infer():
        print(numpy.asarray(output))

Importing this does not import openvino; using one of its names does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._bindings import Binding
    from ._compiled import CompiledModel, compile_model
    from ._context import OpenVINOContext
    from ._outputs import OutputFrame
    from ._pinned import PinnedTensor
    from ._ports import Port
    from ._remote._shared_queue import HostBlockingWarning
    from ._request import InferRequest
    from ._tensor import OpenVINOTensor
    from ._yuv import yuv_inputs

__version__ = "0.1.0"

__all__ = [
    "Binding",
    "CompiledModel",
    "HostBlockingWarning",
    "InferRequest",
    "OpenVINOContext",
    "OpenVINOTensor",
    "OutputFrame",
    "PinnedTensor",
    "Port",
    "compile_model",
    "yuv_inputs",
]

_HOME = {
    "Binding": "_bindings",
    "CompiledModel": "_compiled",
    "HostBlockingWarning": "_remote._shared_queue",
    "InferRequest": "_request",
    "OpenVINOContext": "_context",
    "OpenVINOTensor": "_tensor",
    "OutputFrame": "_outputs",
    "PinnedTensor": "_pinned",
    "Port": "_ports",
    "compile_model": "_compiled",
    "yuv_inputs": "_yuv",
}


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
