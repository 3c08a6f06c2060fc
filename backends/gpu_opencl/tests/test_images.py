# SPDX-License-Identifier: Apache-2.0
"""Images: of their own, and over the rows of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes.errors import LayoutError, UnsupportedObjectError

R, RG, RGBA = cl.channel_order.R, cl.channel_order.RG, cl.channel_order.RGBA
U8, F32 = cl.channel_type.UNORM_INT8, cl.channel_type.FLOAT

PAINT = """
kernel void run(write_only image2d_t image) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(image, at, (float4)(at.x / 255.0f, at.y / 255.0f, 0, 0));
}
"""


@pytest.fixture
def images(opencl: Any) -> Any:
    if not opencl.native_device.image_support:
        pytest.skip("device has no images: pytest --softdevices=gpu has some")
    return opencl


def offers(context: Any, order: Any) -> bool:
    formats = cl.get_supported_image_formats(
        context.native, cl.mem_flags.READ_WRITE, cl.mem_object_type.IMAGE2D
    )
    return any((f.channel_order, f.channel_data_type) == (order, U8) for f in formats)


@pytest.fixture
def rg_images(images: Any) -> Any:
    if not offers(images, RG):
        pytest.skip("device has no RG images: pytest --softdevices=gpu has some")
    return images


@pytest.fixture
def images_over_buffers(images: Any) -> Any:
    if "cl_khr_image2d_from_buffer" not in images.native.devices[0].extensions:
        pytest.skip("device does not support images over buffers")
    return images


@pytest.mark.parametrize(
    ("order", "type_", "shape", "dtype"),
    [(R, U8, (6, 8), "uint8"), (RGBA, U8, (6, 8, 4), "uint8"), (RGBA, F32, (6, 8, 4), "float32")],
)
def test_the_layout_of_an_image(
    images: Any, order: Any, type_: Any, shape: tuple[int, ...], dtype: str
) -> None:
    native = cl.create_image(
        images.native, cl.mem_flags.READ_WRITE, cl.ImageFormat(order, type_), shape=(8, 6)
    )
    tensor: Any = samebytes.tensor(native)
    assert (tensor.shape, str(tensor.dtype), tensor.strides) == (shape, dtype, None)
    assert tensor.native is native
    assert tensor.kind == "image"
    assert tensor.handle() == native.int_ptr
    with pytest.raises(LayoutError, match="its own shape"):
        sbo.tensor(native, (48,))


def test_images_that_are_not_tensors(images: Any) -> None:
    solid = cl.create_image(
        images.native, cl.mem_flags.READ_WRITE, cl.ImageFormat(RGBA, U8), shape=(4, 4, 4)
    )
    with pytest.raises(LayoutError, match="2-D images can"):
        samebytes.tensor(solid)
    with pytest.raises(LayoutError, match="2-D images can"):
        sbo.tensor(solid.int_ptr, context=images)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((8,), "uint8"), ((8, 8, 3), "uint8"), ((8, 8), "float64"), ((0, 8), "uint8")],
)
def test_layouts_that_no_image_has(images: Any, shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(LayoutError, match="not a 2-D image"):
        images.allocate(shape, dtype, kind="image")


def test_a_kernel_paints_an_image(images: Any, kernel: Callable[..., Any]) -> None:
    tensor = images.allocate((16, 24), kind="image")
    run = kernel(images, PAINT)
    run(images.queue, (24, 16), None, tensor.native)
    mapped = tensor.map("cpu")
    assert (mapped.native == np.arange(24)).all()


def test_nv12_as_two_images(rg_images: Any) -> None:
    frame = rg_images.allocate_frame("NV12", 64, 32, kind="image")
    assert [n.format.channel_order for n in frame.native] == [R, RG]
    with frame.map("cpu", "w") as mapped:
        mapped.planes[0].native[...] = 1
        mapped.planes[1].native[...] = 2
    over = sbo.frame(frame.native, "NV12", 64, 32)
    assert np.unique(over.planes[1].map("cpu").native).tolist() == [2]
    with pytest.raises(LayoutError, match="plane y"):
        sbo.frame(frame.native[::-1], "NV12", 64, 32)


def test_images_over_pitched_rows(images_over_buffers: Any, kernel: Callable[..., Any]) -> None:
    context = images_over_buffers
    width, height, pitch = 64, 32, 512
    buffer = cl.Buffer(context.native, cl.mem_flags.READ_WRITE, pitch * height)
    rows = sbo.tensor(buffer, (height, width), strides=(pitch, 1))
    with rows.map("cpu", "w") as view:
        view.native[...] = 0
    image = rows.as_image()
    assert (image.shape, image.strides, image.kind) == ((height, width), None, "image")
    run = kernel(context, PAINT)
    run(context.queue, (width, height), None, image.native)
    assert (rows.map("cpu").native == np.arange(width)).all()
    assert image.parent is rows
    del rows, buffer
    assert image.map("cpu").native[3, 5] == 5


@pytest.mark.usefixtures("unified")
def test_planes_of_a_pitched_host_array(
    images_over_buffers: Any, kernel: Callable[..., Any]
) -> None:
    """NV12 as a decoder has it, to two images, without a copy."""
    context = images_over_buffers
    if not offers(context, RG):
        pytest.skip("device has no RG images: pytest --softdevices=gpu has some")
    whole = samebytes.context("cpu").allocate((48, 512))
    whole.native[...] = 9
    samebytes.reset_stats()
    rows: Any = whole.map(context, "rw")
    y = rows.sub(0, (32, 64), strides=(512, 1)).as_image()
    uv = rows.sub(32 * 512, (16, 32, 2), strides=(512, 2, 1)).as_image()
    run = kernel(context, PAINT)
    run(context.queue, (64, 32), None, y.native)
    run(context.queue, (32, 16), None, uv.native)
    y.flush()
    assert samebytes.stats().copies == 0
    assert (whole.native[:32, :64] == np.arange(64)).all()
    assert (whole.native[:, 64:] == 9).all()
    assert whole.native[40, :6].tolist() == [0, 8, 1, 8, 2, 8]


def test_rows_that_no_image_can_lie_over(images_over_buffers: Any) -> None:
    tensor = images_over_buffers.allocate((4096,))
    with pytest.raises(LayoutError, match="IMAGE_PITCH_ALIGNMENT"):
        tensor.sub(0, (8, 6), strides=(7, 1)).as_image()
    with pytest.raises(LayoutError, match="must be contiguous"):
        tensor.sub(0, (8, 6), strides=(512, 2)).as_image()
    with pytest.raises(LayoutError, match="not a 2-D image"):
        tensor.sub(0, (8, 6, 3), strides=(3 * 128, 3, 1)).as_image()
    with pytest.raises(LayoutError):
        tensor.as_image()


def test_images_lie_over_buffers_alone(images: Any) -> None:
    image = images.allocate((8, 8), kind="image")
    with pytest.raises(UnsupportedObjectError, match="over a buffer"):
        image.as_image()
    with pytest.raises(UnsupportedObjectError, match="cannot be divided"):
        image.sub()
