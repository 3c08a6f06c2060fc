# SPDX-License-Identifier: Apache-2.0
"""ClContext: one object for each set of handles, however it was come by."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import (
    ClosedError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import (
    ClContext,
    ForeignMemoryError,
    OpenVINOError,
    PropertyError,
    SharedBufferHandle,
)


def queue_references(cl: Any, queue: Any) -> int:
    return int(queue.get_info(cl.command_queue_info.REFERENCE_COUNT))


def test_default_context_of_the_core(core: Any) -> None:
    context = ClContext.default(core)
    native = core.get_default_context("GPU")
    assert context.get() == int(native.get_params()["OCL_CONTEXT"].astype(str), 16)
    assert context.get() == context.params["OCL_CONTEXT"] == context.handle("cl_context")
    assert context.params["CONTEXT_TYPE"] == "OCL"
    assert context.device_name == "GPU.0"
    assert ClContext.default(core) is context
    assert ClContext.default(openvino.Core(), "GPU.0") is context
    assert samebytes.context("openvino:GPU") is context
    assert samebytes.context("openvino:GPU.0") is context
    assert context.derive("openvino:GPU") is context
    with pytest.raises(UnknownNameError):
        context.handle("cl_queue")


def test_default_context_by_its_own_handle(core: Any) -> None:
    handle = int(core.get_default_context("GPU").get_params()["OCL_CONTEXT"].astype(str), 16)
    by_handle = ClContext.from_cl_context(handle)
    assert by_handle is ClContext.default()
    # Not a second engine over the same cl_context: a model compiled by name takes its tensors.
    tensor = by_handle.create_tensor("float32", (1, 16))
    tensor.native.copy_from(openvino.Tensor(np.full((1, 16), 5, np.float32)))
    x = openvino.opset13.parameter([1, 16], np.float32, name="x")
    x.output(0).set_names({"x"})
    model = openvino.Model([openvino.opset13.relu(x)], [x], "by name")
    request = core.compile_model(model, "GPU").create_infer_request()
    request.set_tensor("x", tensor.native)
    request.infer()
    assert (request.get_output_tensor().data == 5).all()


def test_default_context_stays_when_properties_are_set(core: Any) -> None:
    before = ClContext.default(core)
    handle = before.get()
    fresh = openvino.Core()
    for properties in (
        {"PERFORMANCE_HINT": "THROUGHPUT"},
        {"INFERENCE_PRECISION_HINT": "f32"},
        {"NUM_STREAMS": "2"},
    ):
        fresh.set_property("GPU", properties)
        assert ClContext.default(fresh) is before
        native = fresh.get_default_context("GPU")
        assert int(native.get_params()["OCL_CONTEXT"].astype(str), 16) == handle


def test_default_context_from_model(core: Any, model: Any) -> None:
    compiled = core.compile_model(model, "GPU")
    assert ClContext.from_compiled_model(compiled) is ClContext.default(core)
    with pytest.raises(UnknownNameError, match="device of openvino:GPU 'CPU'"):
        ClContext.from_compiled_model(core.compile_model(model, "CPU"))
    with pytest.raises(UnsupportedObjectError, match=r"CompiledModel: None\. "):
        ClContext.from_compiled_model(None)


def test_context_of_a_model_that_remembers_it(model: Any, context: Any) -> None:
    from samebytes_openvino import compile_model

    assert ClContext.from_compiled_model(compile_model(model, context)) is context


def test_properties_that_the_page_names(core: Any, model: Any, context: Any) -> None:
    """The properties that docs/reference/openvino-gpu.md names, as OpenVINO has them."""
    from samebytes_openvino import compile_model

    assert core.get_property("GPU", "GPU_CACHELINE_SIZE") == 64  # which memory of the CPU begins at
    compiled = compile_model(model, context, {"OFFLOAD_RATIO": 50})
    assert compiled.get_property("OFFLOAD_RATIO") == 50


def test_context_from_cl_context(context: Any, cl_context: Any, cl_device: Any) -> None:
    assert context.get() == cl_context.int_ptr
    assert context.handle("cl_device") == cl_device.int_ptr
    assert ClContext.from_cl_context(cl_context) is context
    assert ClContext.from_cl_context(cl_context.int_ptr, 0) is context
    assert context is not ClContext.default()


def test_the_cl_context_lives_as_long(cl: Any, cl_device: Any) -> None:
    theirs = cl.Context([cl_device])
    context = ClContext.from_cl_context(theirs)
    del theirs
    gc.collect()
    tensor = context.create_tensor("uint8", (4,))
    del context
    gc.collect()
    assert tensor.native.get_byte_size() == 4
    assert tensor.context.params["CONTEXT_TYPE"] == "OCL"  # type: ignore[attr-defined]


def test_context_from_cl_queue(queue: Any, cl_context: Any, context: Any) -> None:
    shared = ClContext.from_queue(queue)
    assert shared.handle("cl_queue") == queue.int_ptr == shared.params["OCL_QUEUE"]
    assert shared.get() == cl_context.int_ptr
    assert shared is not context
    assert ClContext.from_queue(queue.int_ptr, cl_context=cl_context) is shared
    assert ClContext.from_cl_context(cl_context) is context


def test_the_queue_is_retained_and_given_back(cl: Any, queue: Any) -> None:
    before = queue_references(cl, queue)
    shared = ClContext.from_queue(queue)
    assert queue_references(cl, queue) > before
    shared.close()
    del shared
    gc.collect()
    assert queue_references(cl, queue) == before


def test_the_device_is_that_of_the_queue(cl_device: Any, queue: Any) -> None:
    shared = ClContext.from_queue(queue)
    assert shared.handle("cl_device") == queue.device.int_ptr == cl_device.int_ptr


def test_a_queue_of_another_context_is_refused(cl: Any, cl_device: Any, queue: Any) -> None:
    other = cl.Context([cl_device])
    with pytest.raises(ForeignMemoryError, match="OCL_QUEUE: the queue is of cl_context") as error:
        ClContext.from_queue(queue, cl_context=other)
    assert error.value.property == "OCL_QUEUE"


def test_handles_that_cannot_be(cl_context: Any) -> None:
    for make, arguments, key in (
        (ClContext.from_cl_context, (0,), "OCL_CONTEXT"),
        (ClContext.from_cl_context, (0x1230,), "OCL_CONTEXT"),
        (ClContext.from_queue, (0,), "OCL_QUEUE"),
        (ClContext.from_queue, (0x1230,), "OCL_QUEUE"),
        (ClContext.from_cl_context, (cl_context, 1), "OCL_CONTEXT_DEVICE_ID"),
        (ClContext.from_cl_context, (cl_context, -1), "OCL_CONTEXT_DEVICE_ID"),
    ):
        with pytest.raises(PropertyError) as error:
            make(*arguments)
        assert error.value.property == key
        assert str(error.value).startswith(f"{key}: ")
    with pytest.raises(UnsupportedObjectError, match="OCL_CONTEXT: a cl_context must be an int"):
        ClContext.from_cl_context("context")


def test_released_handles_are_found(cl: Any, cl_device: Any) -> None:
    theirs = cl.Context([cl_device])
    handle = theirs.int_ptr
    del theirs
    gc.collect()
    with pytest.raises(PropertyError, match="released"):
        ClContext.from_cl_context(handle)


def test_objects_of_another_kind_are_found(cl: Any, cl_context: Any) -> None:
    """The driver is asked: it may know a released object as well, if its memory is as it was."""
    buffer = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, 64)
    with pytest.raises(PropertyError, match=r"no cl_context is at .* something else"):
        ClContext.from_cl_context(buffer.int_ptr)
    with pytest.raises(PropertyError, match=r"no cl_command_queue is at .* something else"):
        ClContext.from_queue(cl_context.int_ptr)


def test_unknown_devices(core: Any) -> None:
    with pytest.raises(UnknownNameError):
        ClContext.default(core, "GPU.7")
    with pytest.raises(UnknownNameError):
        samebytes.context("openvino:GPU.7")


def test_what_a_context_reports_of_its_device(core: Any) -> None:
    device = ClContext.default(core).device
    assert device.kind == "GPU"
    assert device.name == core.get_property("GPU", "FULL_DEVICE_NAME")
    uuid = bytes.fromhex(core.get_property("GPU", "DEVICE_UUID"))
    assert device.uuid == (uuid if any(uuid) else None)


def test_closing(context: Any, cl_context: Any) -> None:
    tensor = context.create_tensor("uint8", (4,))
    context.close()
    uses: list[Callable[[], object]] = [
        lambda: context.create_tensor("uint8", (4,)),
        lambda: context.create_usm_host_tensor("uint8", (4,)),
        lambda: context.create_usm_device_tensor("uint8", (4,)),
        lambda: context.create_host_tensor("uint8", (4,)),
        lambda: context.create_tensor_nv12(1, 2),
        lambda: context.allocate((4,)),
        lambda: context.allocate_frame("NV12", 8, 4),
        lambda: context.derive("opencl"),
    ]
    for use in uses:
        with pytest.raises(ClosedError):
            use()
    assert context.get() == cl_context.int_ptr
    assert tensor.native.get_byte_size() == 4
    again = ClContext.from_cl_context(cl_context)
    assert again is not context
    assert again.get() == cl_context.int_ptr


def test_the_plugins_own_context_stays_open(core: Any) -> None:
    """Every component of a program has the same one."""
    ours, theirs = ClContext.default(core), samebytes.context("openvino:GPU")
    assert ours is theirs
    tensor = theirs.allocate((4,))
    with ours:
        pass
    ours.close()
    assert not theirs.closed
    tensor.map(theirs, "w").close()
    assert ClContext.default(core) is theirs


def test_nothing_keeps_a_dropped_context(cl: Any, cl_device: Any) -> None:
    theirs = cl.Context([cl_device])
    made = ClContext.from_cl_context(theirs)
    tensor = made.create_tensor("float32", (4, 4))
    gone = weakref.ref(made)
    del made, tensor
    gc.collect()
    assert gone() is None
    assert theirs.get_info(cl.context_info.REFERENCE_COUNT) == 1


def test_a_native_context_of_the_users(core: Any, cl: Any, cl_device: Any) -> None:
    theirs = cl.Context([cl_device])
    properties = {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": hex(theirs.int_ptr)}
    native = core.create_context("GPU", properties)
    context = ClContext.wrap(native)
    assert context.native is native
    assert ClContext.from_cl_context(theirs) is context
    second = core.create_context("GPU", properties)
    with pytest.raises(PropertyError, match=r"another openvino\.RemoteContext"):
        ClContext.wrap(second)
    assert ClContext.wrap(core.get_default_context("GPU")) is ClContext.default()


def test_what_the_plugin_refuses_names_the_call(context: Any) -> None:
    with pytest.raises(OpenVINOError, match=r"RemoteContext\.create_tensor failed") as error:
        context.create_tensor("uint8", (4,), SharedBufferHandle(1_000_000))
    assert error.value.call == "RemoteContext.create_tensor"
    assert isinstance(error.value.__cause__, RuntimeError)


def test_derived_from_opencl(cl_context: Any, queue: Any, context: Any) -> None:
    opencl = pytest.importorskip(
        "samebytes_gpu_opencl", reason="missing package samebytes-gpu-opencl: pip install it"
    )
    theirs = opencl.context(cl_context)
    assert theirs.derive("openvino:GPU") is context
    assert context.derive("opencl") is theirs
    shared: Any = opencl.context(queue).derive("openvino:GPU")
    assert shared is ClContext.from_queue(queue)
    assert shared.derive("opencl").handle("cl_queue") == queue.int_ptr


@pytest.mark.usefixtures("opencl_plugin")  # the way to write such memory from the CPU
def test_closing_a_context_does_not_end_the_requests_that_run_on_it(cl_context: Any) -> None:
    x = ops.parameter((1, 16), np.float32, name="x")
    x.output(0).set_names({"x"})
    plus_one = ops.result(ops.add(x, ops.constant(np.float32(1))))
    ours = ClContext.from_cl_context(cl_context)
    request = InferRequest(compile_model(openvino.Model([plus_one], [x]), ours))
    tensor = ours.allocate((1, 16), "float32")
    with tensor.map("cpu", "w") as view:
        view.native[...] = 6
    request.set_tensor("x", tensor)
    for _ in range(3):
        request.start_async()
        ours.close()
        assert request.wait()
        assert np.unique(request.get_output_tensor(0).map("cpu").native).tolist() == [7]
    assert ours.closed
