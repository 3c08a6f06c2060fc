# SPDX-License-Identifier: Apache-2.0
"""OpenVINO tensors as samebytes memory, and an inference request that keeps its tensors alive.

    # Three samebytes tensors; y.native is an openvino.Tensor on the decoder's bytes.
    y, u, v = samebytes.frame(av_frame).map("openvino")
    request = samebytes_openvino.InferRequest(compiled_model)
    request.set_input_tensor(0, y)
    for output in request.infer():
        print(numpy.asarray(output))

Importing this does not import openvino; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._elements._infer import OpenVINOInfer
    from ._host._pinned import PinnedTensor, ReadOnlyTensor
    from ._host._tensor import OpenVINOContext, OpenVINOTensor
    from ._image._build import take_whole_rows
    from ._image._model import ImageModel, image_model
    from ._image._request import ImageRequest
    from ._image._yuv import yuv_inputs
    from ._remote._shared_queue import HostBlockingWarning
    from ._request._compiled import CompiledModel, compile_model, export_model, import_model
    from ._request._outputs import OutputFrame
    from ._request._ports import Port
    from ._request._queue import InferQueue
    from ._request._report import Binding
    from ._request._request import InferRequest

__version__ = "0.1.0"

__all__ = [
    "Binding",
    "CompiledModel",
    "HostBlockingWarning",
    "ImageModel",
    "ImageRequest",
    "InferQueue",
    "InferRequest",
    "OpenVINOContext",
    "OpenVINOInfer",
    "OpenVINOTensor",
    "OutputFrame",
    "PinnedTensor",
    "Port",
    "ReadOnlyTensor",
    "compile_model",
    "export_model",
    "image_model",
    "import_model",
    "take_whole_rows",
    "yuv_inputs",
]

_HOME = {
    "Binding": "._request._report",
    "CompiledModel": "._request._compiled",
    "HostBlockingWarning": "._remote._shared_queue",
    "ImageModel": "._image._model",
    "ImageRequest": "._image._request",
    "InferQueue": "._request._queue",
    "InferRequest": "._request._request",
    "OpenVINOContext": "._host._tensor",
    "OpenVINOInfer": "._elements._infer",
    "OpenVINOTensor": "._host._tensor",
    "OutputFrame": "._request._outputs",
    "PinnedTensor": "._host._pinned",
    "Port": "._request._ports",
    "ReadOnlyTensor": "._host._pinned",
    "compile_model": "._request._compiled",
    "export_model": "._request._compiled",
    "image_model": "._image._model",
    "import_model": "._request._compiled",
    "take_whole_rows": "._image._build",
    "yuv_inputs": "._image._yuv",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
