# SPDX-License-Identifier: Apache-2.0
"""The examples of OpenVINO's document on remote tensors of GPUs, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest

from samebytes.errors import LayoutError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext, VAContext, nv12_inputs

Array = np.ndarray[Any, Any]
# The compiler of the CPU runtime, under the software GPU, says each time that it is done.
pytestmark = pytest.mark.filterwarnings("ignore:Non-empty compiler output")
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
SHAPE = (1, 16)
KERNELS = """
__kernel void add(__global float *x, float by) { x[get_global_id(0)] += by; }
"""


def add(cl: Any, cl_context: Any, queue: Any, buffer: Any, by: float) -> None:
    """Enqueue a kernel of the user's that adds to each element."""
    kernel = cl.Kernel(cl.Program(cl_context, KERNELS).build(cache_dir=False), "add")
    kernel(queue, (16,), None, buffer, np.float32(by))


@pytest.mark.usefixtures("core")
def test_kernel_on_a_shared_buffer(cl: Any, model: Any, numbers: Array) -> None:
    """context_sharing_get_from_ov: the user works in OpenVINO's cl_context."""
    compiled = compile_model(model, "GPU", EXACT)
    context = ClContext.from_compiled_model(compiled)
    cl_context = cl.Context.from_int_ptr(context.get())
    queue = cl.CommandQueue(
        cl_context,
        cl_context.devices[0],
        properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE,
    )
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(cl_context, flags, hostbuf=numbers)
    tensor = context.create_tensor("float32", SHAPE, buffer)
    add(cl, cl_context, queue, buffer, 3)
    queue.finish()  # the plugin works on its own queue
    request = InferRequest(compiled)
    request.set_input_tensor(0, tensor)
    request.start_async()
    request.wait()
    result = request.get_output_tensor().native.data
    np.testing.assert_array_equal(result, np.maximum(numbers + 3 - 2, 0))


def test_inference_in_a_context_of_the_users(
    cl: Any, cl_context: Any, queue: Any, buffer_of: Any, read: Any, model: Any, numbers: Array
) -> None:
    """context_sharing_user_handle: OpenVINO works in the user's cl_context."""
    context = ClContext.from_cl_context(cl_context)
    request = InferRequest(compile_model(model, context, EXACT))
    source, result = buffer_of(numbers), cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 64)
    request.set_tensor("x", context.create_tensor("float32", SHAPE, source))
    request.set_tensor("y", context.create_tensor("float32", SHAPE, result))
    request.start_async()
    request.wait()
    add(cl, cl_context, queue, result, 10)
    found = read(result, np.empty(SHAPE, np.float32))
    np.testing.assert_array_equal(found, np.maximum(numbers - 2, 0) + 10)


def test_direct_consuming_of_a_decoders_surface(
    surface_of: Any, planes: Any, picture: Any, bgr_of: Any
) -> None:
    """context_sharing_va: the planes of an NV12 surface through a VAContext."""
    surface = surface_of(*planes)
    built, names = nv12_inputs(picture)
    context = VAContext.from_display(surface.display)
    request = InferRequest(compile_model(built, context, EXACT))
    pair = context.create_tensor_nv12(surface.height, surface.width, surface.id)
    for name, tensor in zip(names, pair, strict=True):
        request.set_tensor(name, tensor)
    request.start_async()
    request.wait()
    shown = request.get_output_tensor().native.data
    np.testing.assert_allclose(shown, bgr_of(picture, *planes), atol=1.01)


@pytest.mark.parametrize("out_of_order", [False, True])
def test_queue_sharing(
    cl: Any, cl_context: Any, cl_device: Any, buffer_of: Any, model: Any, numbers: Array,
    out_of_order: bool,
) -> None:  # fmt: skip
    """queue_sharing: the user's kernels and the inference in one queue, and one wait at the end."""
    order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE if out_of_order else 0
    queue = cl.CommandQueue(cl_context, cl_device, properties=order)
    context = ClContext.from_queue(queue)
    request = InferRequest(compile_model(model, context, EXACT))
    source, result = buffer_of(numbers), cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 64)
    request.set_tensor("x", context.create_tensor("float32", SHAPE, source))
    request.set_tensor("y", context.create_tensor("float32", SHAPE, result))

    add(cl, cl_context, queue, source, 3)
    cl.enqueue_barrier(queue)
    request.start_async()
    cl.enqueue_barrier(queue)
    add(cl, cl_context, queue, result, 10)
    queue.finish()

    found = np.empty(SHAPE, np.float32)
    cl.enqueue_copy(queue, found, result)
    np.testing.assert_array_equal(found, np.maximum(numbers + 3 - 2, 0) + 10)
    request.wait()


def test_a_shared_queue_has_one_stream(queue: Any, model: Any) -> None:
    context = ClContext.from_queue(queue)
    with pytest.raises(LayoutError):
        compile_model(model, context, {"NUM_STREAMS": "2"})


def test_a_model_compiled_by_name_takes_tensors_of_the_default_context(
    core: Any, model: Any, numbers: Array
) -> None:
    compiled = core.compile_model(model, "GPU", EXACT)
    context = ClContext.from_compiled_model(compiled)
    tensor = context.create_tensor("float32", SHAPE)
    tensor.native.copy_from(openvino.Tensor(numbers))
    request = compiled.create_infer_request()
    request.set_tensor("x", tensor.native)
    request.infer()
    np.testing.assert_array_equal(request.get_output_tensor().data, np.maximum(numbers - 2, 0))
