# SPDX-License-Identifier: Apache-2.0
"""VA surfaces as OpenCL images (cl_intel_va_api_media_sharing), on the software VA-API driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from samebytes_softdevices import SoftDeviceError, gpu_live_imports
from samebytes_softdevices.va_surfaces import Display, create_surface, shared_display

from ..libva_calls import create_surfaces

IMAGE_FORMAT_NOT_SUPPORTED = -10
OUT_OF_RESOURCES = -5
INVALID_VALUE = -30
INVALID_MEM_OBJECT = -38
INVALID_SURFACE = -1099
ALREADY_ACQUIRED = -1100
NOT_ACQUIRED = -1101
ACQUIRE = "clEnqueueAcquireVA_APIMediaSurfacesINTEL"
RELEASE = "clEnqueueReleaseVA_APIMediaSurfacesINTEL"


pytestmark = pytest.mark.usefixtures("vaapi", "no_leak")


@pytest.fixture
def vaapi() -> None:
    """The driver, with a display that is open before leaks are counted."""
    try:
        shared_display()
    except SoftDeviceError:
        pytest.skip(
            "missing device VAAPI: pytest --softdevices=vaapi (pip install samebytes-softdevices)"
        )


@pytest.fixture
def va(cl: Any, device: Any, opencl: Any) -> Any:
    """A context of the display."""
    handle = opencl.context_of_display(device.int_ptr, shared_display().address)
    return cl.Context.from_int_ptr(handle, retain=False)


@pytest.fixture
def surface(np: Any) -> Iterator[Any]:
    """A surface of 30 x 20 pixels: its rows are padded, and there are rows between the planes."""
    with create_surface("NV12", 30, 20) as surface:
        for plane in map(np.asarray, surface.planes):
            plane[...] = np.arange(plane.size).reshape(plane.shape) % 253
        yield surface


def image(cl: Any, made: tuple[int, int]) -> Any:
    handle, error = made
    assert error == 0
    return cl.Image.from_int_ptr(handle, retain=False)


def test_each_plane_is_an_image_over_its_memory(
    cl: Any, np: Any, va: Any, opencl: Any, surface: Any
) -> None:
    queue = cl.CommandQueue(va)
    for plane, array in enumerate(map(np.asarray, surface.planes)):
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
    with create_surface("P010", 32, 20) as surface:
        y = np.asarray(surface.planes[0])
        y[...] = 60000
        picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
        assert picture.format.channel_data_type == cl.channel_type.UNORM_INT16
        read = np.zeros_like(y)
        cl.enqueue_copy(cl.CommandQueue(va), read, picture, origin=(0, 0), region=(32, 20))
        assert (read == y).all()
        picture.release()


def test_rows_need_no_padding(
    cl: Any, np: Any, device: Any, opencl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime works on images in place at any address and with any pitch."""
    monkeypatch.setenv("SOFTVA_PITCH_ALIGN", "1")
    display = Display()
    handle = opencl.context_of_display(device.int_ptr, display.address)
    context = cl.Context.from_int_ptr(handle, retain=False)
    with display.create_surface("NV12", 29, 20) as surface:
        uv = np.asarray(surface.planes[1])
        uv[...] = 1
        picture = image(cl, opencl.image_of_surface(context.int_ptr, surface.id, 1))
        assert picture.row_pitch == 30
        written = np.arange(uv.size, dtype=np.uint8).reshape(uv.shape)
        queue = cl.CommandQueue(context)
        cl.enqueue_copy(queue, picture, written, origin=(0, 0), region=(15, 10))
        queue.finish()
        assert (uv == written).all()
        picture.release()
    display.close()


@pytest.mark.parametrize(
    ("variable", "value", "planes"),
    [("SOFTVA_OBJECTS", "separate", 2), ("SOFTVA_PITCH_ALIGN", "4096", 2)],
)
def test_surfaces_of_other_layouts_are_taken(
    cl: Any,
    np: Any,
    device: Any,
    opencl: Any,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    planes: int,
) -> None:
    monkeypatch.setenv(variable, value)
    display = Display()
    handle = opencl.context_of_display(device.int_ptr, display.address)
    context = cl.Context.from_int_ptr(handle, retain=False)
    with display.create_surface("NV12", 32, 32) as surface:
        for plane in range(planes):
            array = np.asarray(surface.planes[plane])
            array[...] = 40 + plane
            picture = image(cl, opencl.image_of_surface(context.int_ptr, surface.id, plane))
            read = np.zeros(array.shape, np.uint8)
            region = array.shape[1::-1]
            cl.enqueue_copy(cl.CommandQueue(context), read, picture, origin=(0, 0), region=region)
            assert (read == 40 + plane).all()
            picture.release()
    display.close()


def test_a_tiled_surface_is_refused(
    opencl: Any, monkeypatch: pytest.MonkeyPatch, cl: Any, device: Any
) -> None:
    monkeypatch.setenv("SOFTVA_TILING", "y")
    display = Display()
    with pytest.raises(SoftDeviceError, match="tiled: its planes are not arrays"):
        display.create_surface("NV12", 32, 32)
    made = (ctypes.c_uint * 1)()
    assert create_surfaces(display.address, "NV12", 32, 32, made) == 0
    handle = opencl.context_of_display(device.int_ptr, display.address)
    context = cl.Context.from_int_ptr(handle, retain=False)
    refused = opencl.image_of_surface(context.int_ptr, made[0], 0)
    assert refused == (0, IMAGE_FORMAT_NOT_SUPPORTED)
    display.close()


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


def test_the_context_reports_its_display(va: Any, opencl: Any) -> None:
    query = opencl.loader.clGetContextInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    properties = (ctypes.c_ssize_t * 5)()
    assert query(va.int_ptr, 0x1082, 40, properties, None) == 0  # CL_CONTEXT_PROPERTIES
    assert list(properties)[2:] == [0x4097, shared_display().address, 0]


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


def test_what_is_not_a_surface_is_refused(va: Any, context: Any, opencl: Any, surface: Any) -> None:
    create = opencl.image_of_surface
    assert create(va.int_ptr, surface.id + 1000, 0) == (0, INVALID_SURFACE)
    assert create(va.int_ptr, 0xFFFFFFFF, 0) == (0, INVALID_SURFACE)
    assert create(va.int_ptr, surface.id, 2) == (0, INVALID_SURFACE)
    # A context without a display has no surfaces.
    assert create(context.int_ptr, surface.id, 0) == (0, INVALID_SURFACE)
    use_host_ptr = 1 << 3
    assert create(va.int_ptr, surface.id, 0, use_host_ptr) == (0, INVALID_VALUE)


def test_images_outlive_their_surface(cl: Any, np: Any, va: Any, opencl: Any, surface: Any) -> None:
    before = gpu_live_imports()
    picture = image(cl, opencl.image_of_surface(va.int_ptr, surface.id, 0))
    y = np.asarray(surface.planes[0])
    surface.close()
    surface.close()
    assert opencl.image_of_surface(va.int_ptr, surface.id, 0) == (0, INVALID_SURFACE)
    assert gpu_live_imports() == before + 1
    queue = cl.CommandQueue(va)
    read = np.empty_like(y)
    cl.enqueue_copy(queue, read, picture, origin=(0, 0), region=(30, 20))
    assert (read == y).all()
    assert opencl.change_hands(ACQUIRE, queue.int_ptr, picture.int_ptr) == OUT_OF_RESOURCES
    picture.release()
    assert gpu_live_imports() == before


def test_displays_have_surfaces_of_their_own(
    va: Any, opencl: Any, cl: Any, device: Any, surface: Any
) -> None:
    other = Display()
    handle = opencl.context_of_display(device.int_ptr, other.address)
    context = cl.Context.from_int_ptr(handle, retain=False)
    with other.create_surface("NV12", 32, 32) as foreign:
        assert foreign.id != surface.id
        assert opencl.image_of_surface(va.int_ptr, foreign.id, 0) == (0, INVALID_SURFACE)
        assert opencl.image_of_surface(context.int_ptr, surface.id, 0) == (0, INVALID_SURFACE)
        image(cl, opencl.image_of_surface(context.int_ptr, foreign.id, 0)).release()
    other.close()


def test_acquiring_waits_for_the_driver(
    cl: Any, device: Any, opencl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOFTVA_FAIL", "vaSyncSurface@1")
    display = Display()
    handle = opencl.context_of_display(device.int_ptr, display.address)
    context = cl.Context.from_int_ptr(handle, retain=False)
    queue = cl.CommandQueue(context)
    with display.create_surface("NV12", 32, 32) as surface:
        picture = image(cl, opencl.image_of_surface(context.int_ptr, surface.id, 0))
        handles = (queue.int_ptr, picture.int_ptr)
        assert opencl.change_hands(ACQUIRE, *handles) == 0
        assert opencl.change_hands(RELEASE, *handles) == 0
        assert opencl.change_hands(ACQUIRE, *handles) == OUT_OF_RESOURCES
        assert opencl.change_hands(RELEASE, *handles) == NOT_ACQUIRED
        picture.release()
    display.close()


def test_openvino_reads_a_surface(ov: Any, np: Any) -> None:
    from openvino import opset13 as op
    from openvino.preprocess import ColorFormat, PrePostProcessor

    height = width = 32
    random = np.random.default_rng(0)
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

    f32 = {"INFERENCE_PRECISION_HINT": "f32"}
    core = ov.Core()
    (expected,) = core.compile_model(model(""), "CPU", f32)(
        [y[None, :, :, None], uv[None]]
    ).values()
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    with create_surface("NV12", width, height) as surface:
        planes = [np.asarray(plane) for plane in surface.planes]
        planes[0][...], planes[1][...] = y, uv
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
        planes[0][...] = 235
        request.start_async()
        request.wait()
        assert request.get_output_tensor().data.mean() > expected.mean() + 20
