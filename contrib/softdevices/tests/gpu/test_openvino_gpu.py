# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's own GPU plugin on the device, against its CPU plugin."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

F32 = {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.fixture
def core(ov: Any) -> Any:
    return ov.Core()


@pytest.fixture
def op(ov: Any) -> Any:
    return ov.opset13


def handle(parameters: Any, name: str) -> int:
    """A pointer among the parameters of a remote object: OpenVINO gives it as a hex string."""
    return int(parameters[name].astype(str), 16)


def doubling(ov: Any, op: Any, np: Any) -> Any:
    x = op.parameter([4, 16], np.float32)
    x.output(0).set_names({"x"})
    y = op.result(op.multiply(x, np.float32(2)))
    y.output(0).set_names({"y"})
    return ov.Model([y], [x])


def test_openvino_sees_the_gpu(core: Any) -> None:
    assert [d for d in core.available_devices if d != "NPU"] == ["CPU", "GPU"]
    assert "software" in core.get_property("GPU", "FULL_DEVICE_NAME")


@pytest.mark.parametrize("kind", ["convolution", "matmul and softmax", "pooling", "any height"])
def test_it_computes_what_the_cpu_plugin_computes(
    ov: Any, op: Any, np: Any, core: Any, kind: str
) -> None:
    random = np.random.default_rng(7)

    def numbers(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    if kind == "matmul and softmax":
        data = numbers(4, 64)
        x = op.parameter([4, 64], np.float32)
        end = op.softmax(op.matmul(x, numbers(64, 10), False, False), 1)
    else:
        data = numbers(1, 3, 32, 32)
        x = op.parameter([1, 3, -1 if kind == "any height" else 32, 32], np.float32)
        pads = [1, 1]
        end = op.convolution(x, numbers(8, 3, 3, 3), [1, 1], pads, pads, [1, 1])
        if kind == "pooling":
            end = op.avg_pool(op.relu(end), [2, 2], [0, 0], [0, 0], [2, 2], True)
    model = ov.Model([op.result(end)], [x])
    on_cpu = core.compile_model(model, "CPU", F32)(data)[0]
    on_gpu = core.compile_model(model, "GPU", F32)(data)[0]
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER"])
def test_a_remote_tensor_is_right_2000_times(ov: Any, np: Any, core: Any, kind: str) -> None:
    """The blocking write that returns early showed here, 1915 times of 2000."""
    context = core.get_default_context("GPU")
    properties = {"SHARED_MEM_TYPE": kind} if kind else {}
    shape = ov.Shape([4, 16])
    result = ov.Tensor(ov.Type.f32, shape)
    wrong = 0
    for number in range(2000):
        remote = context.create_tensor(ov.Type.f32, shape, properties)
        values = np.arange(number, number + 64, dtype=np.float32).reshape(4, 16)
        remote.copy_from(ov.Tensor(values))
        result.data[:] = -1
        remote.copy_to(result)
        wrong += not np.array_equal(result.data, values)
    assert wrong == 0


@pytest.mark.parametrize("kind", ["USM_USER_BUFFER", "CPU_VA"])
def test_a_remote_tensor_lies_over_memory_of_the_program(
    ov: Any, np: Any, core: Any, kind: str
) -> None:
    import mmap

    context = core.get_default_context("GPU")
    shape = ov.Shape([4, 16])
    properties: dict[str, Any] = {"SHARED_MEM_TYPE": kind}
    with mmap.mmap(-1, 4096) as memory:
        values = np.frombuffer(memory, np.float32)[:64].reshape(4, 16)
        values[:] = np.arange(64).reshape(4, 16)
        if kind == "CPU_VA":
            address = values.ctypes.data
            properties |= {"CPU_VA": hex(address), "CPU_VA_SIZE": 4096}
            properties |= {"CPU_VA_ACCESS": "READ_WRITE"}
        else:
            usm = context.create_tensor(ov.Type.f32, shape, {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"})
            usm.copy_from(ov.Tensor(values))
            address = handle(usm.get_params(), "MEM_HANDLE")
            properties |= {"MEM_HANDLE": hex(address)}
        lying = context.create_tensor(ov.Type.f32, shape, properties)
        read = ov.Tensor(ov.Type.f32, shape)
        lying.copy_to(read)
        assert (read.data == values).all()
        lying.copy_from(ov.Tensor(values + 1))
        seen = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (4, 16))
        assert (seen == read.data + 1).all()
        del lying, seen, values


def test_pyopencl_and_openvino_share_a_buffer(
    cl: Any, ov: Any, op: Any, np: Any, core: Any
) -> None:
    remote = core.get_default_context("GPU")
    context = cl.Context.from_int_ptr(handle(remote.get_params(), "OCL_CONTEXT"), retain=True)
    queue = cl.CommandQueue(context)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    source = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
    target = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
    request = core.compile_model(doubling(ov, op, np), remote, F32).create_infer_request()
    for name, buffer in (("x", source), ("y", target)):
        tensor = remote.create_tensor(
            ov.Type.f32,
            ov.Shape([4, 16]),
            {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": hex(buffer.int_ptr)},
        )
        assert handle(tensor.get_params(), "MEM_HANDLE") == buffer.int_ptr
        request.set_tensor(name, tensor)
    cl.enqueue_copy(queue, source, values)
    request.start_async()
    request.wait()
    read = np.empty_like(values)
    cl.enqueue_copy(queue, read, target)
    assert (read == 2 * values).all()


@pytest.mark.usefixtures("no_leak")
def test_openvino_computes_in_the_memory_of_a_descriptor(
    ov: Any, op: Any, np: Any, core: Any, opencl: Any
) -> None:
    import mmap
    import os

    remote = core.get_default_context("GPU")
    fd = os.memfd_create("frame")
    os.truncate(fd, 4096)
    view = mmap.mmap(fd, 4096)
    values = np.frombuffer(view, np.float32)[:64].reshape(4, 16)
    made, error = opencl.buffer_of_fd(handle(remote.get_params(), "OCL_CONTEXT"), fd, 256)
    assert error == 0
    request = core.compile_model(doubling(ov, op, np), remote, F32).create_infer_request()
    tensor = remote.create_tensor(
        ov.Type.f32,
        ov.Shape([4, 16]),
        {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": hex(made)},
    )
    request.set_tensor("x", tensor)
    for start in (0, 1000):
        values[:] = np.arange(start, start + 64).reshape(4, 16)
        request.start_async()
        request.wait()
        assert (request.get_tensor("y").data == 2 * values).all()
    del request, tensor, values
    opencl.loader.clReleaseMemObject(ctypes.c_void_p(made))
    view.close()
    os.close(fd)


def test_nv12_images_of_opencl_as_two_planes(cl: Any, ov: Any, op: Any, np: Any, core: Any) -> None:
    from openvino.preprocess import ColorFormat, PrePostProcessor

    height = width = 32
    random = np.random.default_rng(1)
    y = random.integers(16, 235, (height, width), dtype=np.uint8)
    uv = random.integers(16, 240, (height // 2, width // 2, 2), dtype=np.uint8)

    def model(memory: str) -> Any:
        x = op.parameter([1, 3, height, width], np.float32)
        steps = PrePostProcessor(ov.Model([op.result(op.add(x, np.float32(0)))], [x]))
        tensor = steps.input().tensor().set_element_type(ov.Type.u8)
        tensor.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
        if memory:
            tensor.set_memory_type(memory)
        steps.input().preprocess().convert_color(ColorFormat.BGR)
        steps.input().model().set_layout(ov.Layout("NCHW"))
        return steps.build()

    (expected,) = core.compile_model(model(""), "CPU", F32)(
        [y[None, :, :, None], uv[None]]
    ).values()
    remote = core.get_default_context("GPU")
    context = cl.Context.from_int_ptr(handle(remote.get_params(), "OCL_CONTEXT"), retain=True)
    queue = cl.CommandQueue(context)
    compiled = core.compile_model(model("GPU_SURFACE"), remote, F32)
    request = compiled.create_infer_request()
    kept = []
    for port, plane, order in zip(compiled.inputs, (y, uv), ("R", "RG"), strict=True):
        pixels = cl.ImageFormat(getattr(cl.channel_order, order), cl.channel_type.UNORM_INT8)
        size = plane.shape[1::-1]
        image = cl.create_image(context, cl.mem_flags.READ_WRITE, pixels, shape=size)
        cl.enqueue_copy(queue, image, plane, origin=(0, 0), region=size)
        shape = [1, *plane.shape] if plane.ndim == 3 else [1, *plane.shape, 1]
        tensor = remote.create_tensor(
            ov.Type.u8,
            ov.Shape(shape),
            {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": hex(image.int_ptr)},
        )
        request.set_tensor(port.any_name, tensor)
        kept.append(image)
    request.start_async()
    request.wait()
    # The limited range of the format is rounded in the last place.
    assert np.abs(request.get_output_tensor().data - expected).max() <= 1
