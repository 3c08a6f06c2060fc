# SPDX-License-Identifier: Apache-2.0
"""VA surfaces as OpenCL images (cl_intel_va_api_media_sharing), over registered arrays."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from samebytes_softdevices import SoftDeviceError
from samebytes_softdevices.gpu_surfaces import DISPLAY, register_nv12, register_p010

INVALID_VALUE = -30
INVALID_MEM_OBJECT = -38
INVALID_SURFACE = -1099
ALREADY_ACQUIRED = -1100
NOT_ACQUIRED = -1101
ACQUIRE = "clEnqueueAcquireVA_APIMediaSurfacesINTEL"
RELEASE = "clEnqueueReleaseVA_APIMediaSurfacesINTEL"


@pytest.fixture
def va(cl: Any, device: Any, opencl: Any) -> Any:
    """A context of the display."""
    handle = opencl.context_of_display(device.int_ptr, DISPLAY)
    return cl.Context.from_int_ptr(handle, retain=False)


@pytest.fixture
def planes(np: Any) -> Any:
    """A surface of 30 x 20 pixels, with padded rows and some rows between the planes."""
    memory = np.zeros((36, 64), np.uint8)
    memory[:] = np.arange(memory.size).reshape(memory.shape) % 253
    return memory[:20, :30], memory[24:34, :30].reshape(10, 15, 2)


@pytest.fixture
def surface(planes: Any) -> Iterator[Any]:
    with register_nv12(*planes) as surface:
        yield surface


def image(cl: Any, made: tuple[int, int]) -> Any:
    handle, error = made
    assert error == 0
    return cl.Image.from_int_ptr(handle, retain=False)


def test_each_plane_is_an_image_over_its_memory(
    cl: Any, np: Any, va: Any, opencl: Any, planes: Any, surface: Any
) -> None:
    queue = cl.CommandQueue(va)
    for plane, array in enumerate(planes):
        picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, plane))
        assert (picture.height, picture.width) == array.shape[:2]
        assert picture.row_pitch == 64
        assert opencl.change_hands(ACQUIRE, queue.int_ptr, picture.int_ptr) == 0
        read = np.empty(array.shape, np.uint8)
        region = array.shape[1::-1]
        cl.enqueue_copy(queue, read, picture, origin=(0, 0), region=region)
        assert (read == array).all()
        cl.enqueue_copy(queue, picture, 255 - read, origin=(0, 0), region=region)
        assert opencl.change_hands(RELEASE, queue.int_ptr, picture.int_ptr) == 0
        queue.finish()
        assert (array == 255 - read).all()
        picture.release()


def test_p010_has_planes_of_16_bits(cl: Any, np: Any, va: Any, opencl: Any) -> None:
    y, uv = np.full((20, 32), 60000, np.uint16), np.zeros((10, 16, 2), np.uint16)
    with register_p010(y, uv) as surface:
        picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
        assert picture.format.channel_data_type == cl.channel_type.UNORM_INT16
        read = np.empty_like(y)
        cl.enqueue_copy(cl.CommandQueue(va), read, picture, origin=(0, 0), region=(32, 20))
        assert (read == y).all()
        picture.release()


def test_an_image_knows_its_surface_and_plane(cl: Any, va: Any, opencl: Any, surface: Any) -> None:
    picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 1))
    kind = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    memory, of_image = opencl.loader.clGetMemObjectInfo, opencl.loader.clGetImageInfo
    memory.argtypes = of_image.argtypes = kind
    number = ctypes.POINTER(ctypes.c_uint)()
    plane = ctypes.c_uint()
    assert memory(picture.int_ptr, 0x4098, 8, ctypes.byref(number), None) == 0
    assert of_image(picture.int_ptr, 0x4099, 4, ctypes.byref(plane), None) == 0
    assert (number.contents.value, plane.value) == (surface.id, 1)
    picture.release()


def test_the_context_tells_its_display(va: Any, opencl: Any) -> None:
    query = opencl.loader.clGetContextInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    properties = (ctypes.c_ssize_t * 5)()
    assert query(va.int_ptr, 0x1082, 40, properties, None) == 0  # CL_CONTEXT_PROPERTIES
    assert list(properties)[2:] == [0x4097, DISPLAY, 0]


def test_surfaces_change_hands_in_turn(cl: Any, va: Any, opencl: Any, surface: Any) -> None:
    picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
    queue = cl.CommandQueue(va)
    handles = (queue.int_ptr, picture.int_ptr)
    assert opencl.change_hands(RELEASE, *handles) == NOT_ACQUIRED
    assert opencl.change_hands(ACQUIRE, *handles) == 0
    assert opencl.change_hands(ACQUIRE, *handles) == ALREADY_ACQUIRED
    assert opencl.change_hands(RELEASE, *handles) == 0
    plain = cl.Buffer(va, cl.mem_flags.READ_WRITE, 64)
    assert opencl.change_hands(ACQUIRE, queue.int_ptr, plain.int_ptr) == INVALID_MEM_OBJECT
    picture.release()


def test_what_is_no_surface_is_refused(va: Any, context: Any, opencl: Any, surface: Any) -> None:
    create = opencl.image_of_surface
    assert create(va.int_ptr, surface.id + 1000, 0) == (0, INVALID_SURFACE)
    assert create(va.int_ptr, surface.id, 2) == (0, INVALID_SURFACE)
    # A context without a display has no surfaces.
    assert create(context.int_ptr, surface.id, 0) == (0, INVALID_SURFACE)
    use_host_ptr = 1 << 3
    assert create(va.int_ptr, surface.id, 0, use_host_ptr) == (0, INVALID_VALUE)


def test_images_outlive_their_surface(cl: Any, np: Any, va: Any, opencl: Any, planes: Any) -> None:
    surface = register_nv12(*planes)
    picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
    expected = planes[0].copy()
    surface.close()
    surface.close()
    assert opencl.image_of_surface(va.int_ptr, surface.id, 0) == (0, INVALID_SURFACE)
    assert surface.live_images == 1
    read = np.empty_like(expected)
    cl.enqueue_copy(cl.CommandQueue(va), read, picture, origin=(0, 0), region=(30, 20))
    assert (read == expected).all()
    picture.release()
    assert surface.live_images == 0


def test_the_arrays_are_kept_as_long_as_images_live(cl: Any, np: Any, va: Any, opencl: Any) -> None:
    y, uv = np.zeros((20, 30), np.uint8), np.zeros((10, 15, 2), np.uint8)
    memory = weakref.ref(y)
    surface = register_nv12(y, uv)
    del y, uv
    picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
    surface.close()
    assert memory() is not None
    picture.release()
    surface.close()
    assert memory() is None


def test_closing_an_old_surface_leaves_a_new_one_of_its_id(
    cl: Any, va: Any, opencl: Any, planes: Any
) -> None:
    old = register_nv12(*planes, surface_id=800_000)
    old.close()
    with register_nv12(*planes, surface_id=800_000):
        old.close()
        image(cl, opencl.image_of_surface(va.int_ptr, 800_000, 0)).release()


def test_displays_have_surfaces_of_their_own(va: Any, opencl: Any, planes: Any) -> None:
    with register_nv12(*planes, display=DISPLAY + 1, surface_id=900_000):
        assert opencl.image_of_surface(va.int_ptr, 900_000, 0) == (0, INVALID_SURFACE)
        with register_nv12(*planes, surface_id=900_000):
            pass


def test_an_id_is_given_once(planes: Any, surface: Any) -> None:
    with pytest.raises(SoftDeviceError, match="already"):
        register_nv12(*planes, surface_id=surface.id)


def test_arrays_that_are_no_planes_are_refused(np: Any, planes: Any) -> None:
    y, uv = planes
    readonly = y.copy()
    readonly.flags.writeable = False
    for bad_y, bad_uv, message in (
        (y.astype(np.uint16), uv, "uint8"),
        (y, uv[:, :-1], "shape"),
        (y[:, ::2], uv, "one after another"),
        (y[::-1], uv, "one after another"),
        (readonly, uv, "read-only"),
        (y[:0], uv, "empty"),
    ):
        with pytest.raises(ValueError, match=message):
            register_nv12(bad_y, bad_uv)


def test_openvino_reads_a_surface(ov: Any, np: Any) -> None:
    from openvino import opset13 as op
    from openvino.preprocess import ColorFormat, PrePostProcessor

    height = width = 32
    random = np.random.default_rng(0)
    y = random.integers(16, 235, (height, 64), dtype=np.uint8)[:, :width]
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

    f32 = {"INFERENCE_PRECISION_HINT": "f32"}
    core = ov.Core()
    (expected,) = core.compile_model(model(""), "CPU", f32)(
        [y[None, :, :, None], uv[None]]
    ).values()
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    with register_nv12(y, uv) as surface:
        context = ov.VAContext(core, new(surface.display, None, None))
        compiled = core.compile_model(model("GPU_SURFACE"), context, f32)
        request = compiled.create_infer_request()
        tensors = context.create_tensor_nv12(surface.height, surface.width, surface.id)
        for port, tensor in zip(compiled.inputs, tensors, strict=True):
            request.set_tensor(port.any_name, tensor)
        request.start_async()
        request.wait()
        # The limited range of the format is rounded in the last place.
        assert np.abs(request.get_output_tensor().data - expected).max() <= 1
        y[:] = 235
        request.start_async()
        request.wait()
        assert request.get_output_tensor().data.mean() > expected.mean() + 20
