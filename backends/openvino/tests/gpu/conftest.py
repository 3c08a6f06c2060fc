# SPDX-License-Identifier: Apache-2.0
"""A GPU of OpenVINO's, the user's OpenCL objects on it, and models with known results."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor

from samebytes.testing import missing_device
from samebytes_openvino.intel_gpu import ClContext

Array = np.ndarray[Any, Any]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
NO_DEVICE = missing_device("GPU")
NO_VAAPI = missing_device("VAAPI")


@pytest.fixture(scope="session")
def core() -> Any:
    """An openvino.Core that sees a GPU."""
    found = openvino.Core()
    if not any(name.startswith("GPU") for name in found.available_devices):
        pytest.skip(NO_DEVICE)
    return found


@pytest.fixture(scope="session")
def cl() -> Any:
    """pyopencl."""
    return pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")


@pytest.fixture
def cl_device(core: Any, cl: Any) -> Any:
    """The pyopencl.Device of the GPU that OpenVINO uses."""
    handle = ClContext.default(core).handle("cl_device")
    return cl.Device.from_int_ptr(handle)


@pytest.fixture
def cl_context(cl: Any, cl_device: Any) -> Any:
    """A pyopencl.Context of the user's."""
    return cl.Context([cl_device])


@pytest.fixture
def queue(cl: Any, cl_context: Any, cl_device: Any) -> Any:
    """An in-order queue of the user's."""
    return cl.CommandQueue(cl_context, cl_device)


@pytest.fixture
def context(core: Any, cl_context: Any) -> Iterator[Any]:
    """The ClContext over the user's cl_context."""
    made = ClContext.from_cl_context(cl_context, core=core)
    yield made
    gc.collect()


@pytest.fixture
def buffer_of(cl: Any, cl_context: Any) -> Callable[[Array], Any]:
    """Make a cl_mem buffer with an array's elements."""

    def make(array: Array) -> Any:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(cl_context, flags, hostbuf=np.ascontiguousarray(array))

    return make


@pytest.fixture
def read(cl: Any, queue: Any) -> Callable[[Any, Array], Array]:
    """Read a cl_mem buffer into an array."""

    def call(buffer: Any, array: Array) -> Array:
        cl.enqueue_copy(queue, array, buffer)
        queue.finish()
        return array

    return call


@pytest.fixture
def image_of(cl: Any, cl_context: Any) -> Callable[[Array], Any]:
    """Make an image of a plane, (rows, columns) or (rows, columns, 2)."""

    def make(plane: Array) -> Any:
        order = cl.channel_order.R if plane.ndim == 2 else cl.channel_order.RG
        return cl.create_image(
            cl_context,
            cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR,
            cl.ImageFormat(order, cl.channel_type.UNORM_INT8),
            shape=(plane.shape[1], plane.shape[0]),
            hostbuf=np.ascontiguousarray(plane),
        )

    return make


@pytest.fixture
def usm_alloc(cl_context: Any, cl_device: Any) -> Iterator[Callable[[str, int], int]]:
    """Allocate USM of a kind, which is freed after the test."""
    if "cl_intel_unified_shared_memory" not in cl_device.extensions.split():
        pytest.skip("device has no cl_intel_unified_shared_memory")
    library = ctypes.CDLL("libOpenCL.so.1")
    find = library.clGetExtensionFunctionAddressForPlatform
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    platform = cl_device.platform.int_ptr
    pointer, size, word = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32

    def function(name: str, result: Any, *arguments: Any) -> Any:
        address = find(platform, name.encode())
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    on_host = function("clHostMemAllocINTEL", pointer, pointer, pointer, size, word, pointer)
    on_device = [pointer, pointer, pointer, pointer, size, word, pointer]
    calls = {
        "device": function("clDeviceMemAllocINTEL", *on_device),
        "shared": function("clSharedMemAllocINTEL", *on_device),
    }
    free = function("clMemBlockingFreeINTEL", ctypes.c_int32, pointer, pointer)
    made: list[int] = []

    def allocate(kind: str, nbytes: int) -> int:
        if kind == "host":
            address = on_host(cl_context.int_ptr, None, nbytes, 64, None)
        else:
            address = calls[kind](cl_context.int_ptr, cl_device.int_ptr, None, nbytes, 64, None)
        assert address
        made.append(address)
        return int(address)

    yield allocate
    gc.collect()
    for address in made:
        assert free(cl_context.int_ptr, address) == 0


@pytest.fixture
def model() -> Any:
    """A model from "x", float32 [1, 16], to "y": max(x - 2, 0)."""
    x = ops.parameter([1, 16], np.float32, name="x")
    x.output(0).set_names({"x"})
    y = ops.result(ops.relu(ops.add(x, np.full((1, 16), -2, np.float32))))
    y.output(0).set_names({"y"})
    return openvino.Model([y], [x], "shifted")


@pytest.fixture
def numbers() -> Array:
    """The input of `model`."""
    return np.arange(16, dtype=np.float32)[None] / 3


@pytest.fixture(scope="session")
def expected(core: Any) -> Callable[[Any, Any], Array]:
    """The output of the CPU plugin for a model and its inputs."""

    def call(model: Any, inputs: Any) -> Array:
        result: Array = core.compile_model(model, "CPU", EXACT)(inputs)[0]
        return result

    return call


@pytest.fixture
def run(core: Any) -> Callable[..., Array]:
    """Run a model on a context with samebytes tensors, by name; return its first output."""

    def call(context: Any, model: Any, tensors: dict[str, Any]) -> Array:
        compiled = core.compile_model(model, context.native, EXACT)
        request = compiled.create_infer_request()
        for name, tensor in tensors.items():
            request.set_tensor(name, tensor.native)
        request.start_async()
        request.wait()
        output = compiled.outputs[0]
        if output.names & tensors.keys():
            return np.empty(0)  # the output is in the caller's tensor
        return np.array(request.get_output_tensor().data)

    return call


@pytest.fixture
def shifted(core: Any, model: Any, context: Any) -> Callable[[Any], Array]:
    """Run `model` on `context` with a tensor as "x", and return "y"."""

    compiled = core.compile_model(model, context.native, EXACT)

    def call(tensor: Any) -> Array:
        request = compiled.create_infer_request()
        request.set_tensor("x", tensor.native)
        request.start_async()
        request.wait()
        return np.array(request.get_output_tensor().data)

    return call


@pytest.fixture
def picture() -> Any:
    """A model of one image, float32 [1, 3, 32, 32], whose output is the image."""
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    image.output(0).set_names({"image"})
    return openvino.Model([ops.result(ops.relu(image))], [image], "picture")


@pytest.fixture
def planes() -> tuple[Array, Array]:
    """Y and UV of an NV12 picture of 32x32."""
    generator = np.random.default_rng(3)
    return (
        generator.integers(16, 236, (32, 32), np.uint8),
        generator.integers(16, 241, (16, 16, 2), np.uint8),
    )


@pytest.fixture
def bgr_of(expected: Any) -> Callable[..., Array]:
    """The output of the CPU plugin for planes of NV12 or I420 and a model with an image input."""

    def call(model: Any, *planes: Array, format_: Any = ColorFormat.NV12_TWO_PLANES) -> Array:
        processor = PrePostProcessor(model.clone())
        names = ["y", "uv"] if len(planes) == 2 else ["y", "u", "v"]
        tensor = processor.input().tensor().set_element_type(openvino.Type.u8)
        tensor.set_color_format(format_, names)
        processor.input().preprocess().convert_color(ColorFormat.BGR)
        processor.input().model().set_layout(openvino.Layout("NCHW"))
        inputs = [p[None, :, :, None] if p.ndim == 2 else p[None] for p in planes]
        result: Array = expected(processor.build(), inputs)
        return result

    return call


@pytest.fixture
def surface_of(core: Any) -> Iterator[Callable[..., Any]]:
    """Make VA-API surfaces with these planes, on the software VA-API driver."""
    soft = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    surfaces = pytest.importorskip("samebytes_softdevices.va_surfaces")
    if "software" not in core.get_property("GPU", "FULL_DEVICE_NAME").lower():
        pytest.skip(NO_DEVICE)
    try:
        surfaces.shared_display()
    except soft.SoftDeviceError:
        pytest.skip(NO_VAAPI)
    before = soft.gpu_live_imports()
    made = []

    def make(y: Array, uv: Array) -> Any:
        surface = surfaces.create_surface("NV12", y.shape[1], y.shape[0])
        for plane, values in zip(surface.planes, (y, uv), strict=True):
            np.asarray(plane)[...] = values
        made.append(surface)
        return surface

    yield make
    gc.collect()
    for surface in made:
        surface.close()
    assert soft.gpu_live_imports() == before
