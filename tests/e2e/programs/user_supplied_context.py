# SPDX-License-Identifier: Apache-2.0
"""Running GPU plugin inference within a user-supplied shared context.

Its arguments are a model with one input and one output of float32, an .npy file with the input,
and the .npy file to write the output to.
"""

import sys
import warnings

import numpy as np
import pyopencl as cl

from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext

warnings.simplefilter("ignore", cl.CompilerWarning)
KERNEL = "kernel void halve(global float *x) { x[get_global_id(0)] /= 2; }"


def main(model_path: str, input_path: str, output_path: str) -> None:
    """Halve the input by a kernel, infer into a buffer, halve that, and save it."""
    (device, *_) = cl.get_platforms()[0].get_devices(cl.device_type.GPU)
    cl_context = cl.Context([device])
    queue = cl.CommandQueue(cl_context)
    halve = cl.Kernel(cl.Program(cl_context, KERNEL).build(), "halve")

    context = ClContext.from_cl_context(cl_context)
    compiled = compile_model(model_path, context, {"INFERENCE_PRECISION_HINT": "f32"})
    request = InferRequest(compiled)

    values = np.load(input_path)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    source = cl.Buffer(cl_context, flags, hostbuf=values)
    halve(queue, (values.size,), None, source)
    queue.finish()
    request.set_tensor("x", context.create_tensor("float32", values.shape, source))

    shape = request.output_ports[0].shape
    assert shape is not None
    found = np.empty(shape, np.float32)
    target = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, found.nbytes)
    request.set_tensor("y", context.create_tensor("float32", shape, target))
    request.infer()

    halve(queue, (found.size,), None, target)
    cl.enqueue_copy(queue, found, target)
    queue.finish()
    np.save(output_path, found)

    assert context.get() == cl_context.int_ptr
    assert [binding.placement for binding in request.bindings()] == ["in place", "in place"]


if __name__ == "__main__":
    main(*sys.argv[1:])
