# SPDX-License-Identifier: Apache-2.0
"""OpenCL kernel on a shared buffer: the program works in the cl_context of a compiled model.

Its arguments are a model with one input and one output of float32, an .npy file with the input,
and the .npy file to write the output to.
"""

import sys
import warnings

import numpy as np
import pyopencl as cl

from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClBufferTensor, ClContext

warnings.simplefilter("ignore", cl.CompilerWarning)
KERNEL = "kernel void halve(global float *x) { x[get_global_id(0)] /= 2; }"


def main(model_path: str, input_path: str, output_path: str) -> None:
    """Halve the input by a kernel, infer, and save what comes out."""
    compiled = compile_model(model_path, "GPU", {"INFERENCE_PRECISION_HINT": "f32"})
    context = ClContext.from_compiled_model(compiled)

    cl_context = cl.Context.from_int_ptr(context.get())
    queue = cl.CommandQueue(
        cl_context,
        cl_context.devices[0],
        properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE,
    )
    values = np.load(input_path)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(cl_context, flags, hostbuf=values)
    tensor = context.create_tensor("float32", values.shape, buffer)

    halve = cl.Kernel(cl.Program(cl_context, KERNEL).build(), "halve")
    halve(queue, (values.size,), None, buffer)
    queue.finish()  # the plugin works on its own queue

    request = InferRequest(compiled)
    request.set_input_tensor(0, tensor)
    (result,) = request.infer()
    np.save(output_path, result.host_array())

    assert tensor.as_(ClBufferTensor).get() == buffer.int_ptr
    assert [binding.placement for binding in request.bindings()] == ["in place", "in place"]


if __name__ == "__main__":
    main(*sys.argv[1:])
