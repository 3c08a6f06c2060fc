# SPDX-License-Identifier: Apache-2.0
"""Direct consuming of an NV12 video surface on Linux, on the software VA-API driver.

Its arguments are a model with one image input of float32, an .npz file with the planes "y" and
"uv" of a picture of that size, and the .npy file to write the output to.
"""

import sys

import numpy as np
import openvino

from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import VAContext, nv12_inputs
from samebytes_softdevices.va_surfaces import create_surface


def main(model_path: str, input_path: str, output_path: str) -> None:
    """Infer on a surface, on what is decoded into it next, and save both results."""
    planes = np.load(input_path)
    y, uv = planes["y"], planes["uv"]

    model, names = nv12_inputs(openvino.Core().read_model(model_path))
    with create_surface("NV12", y.shape[1], y.shape[0]) as surface:  # a decoder does this
        luma, chroma = (np.asarray(plane) for plane in surface.planes)
        luma[...], chroma[...] = y, uv
        context = VAContext.from_display(surface.display)
        compiled = compile_model(model, context, {"INFERENCE_PRECISION_HINT": "f32"})
        request = InferRequest(compiled)
        tensors = context.create_tensor_nv12(surface.height, surface.width, surface.id)
        for name, tensor in zip(names, tensors, strict=True):
            request.set_tensor(name, tensor)
        results = []
        for _ in range(2):
            request.start_async()
            request.wait()
            results.append(request.get_output_tensor().host_array().copy())
            luma[...], chroma[...] = 255 - luma, 255 - chroma  # the next picture
    np.save(output_path, np.stack(results))

    assert context.display == surface.display
    assert [tensor.surface for tensor in tensors] == [surface.id, surface.id]
    assert [tensor.plane for tensor in tensors] == [0, 1]
    assert [b.placement for b in request.bindings()] == ["in place"] * 3


if __name__ == "__main__":
    main(*sys.argv[1:])
