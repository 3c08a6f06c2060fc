# SPDX-License-Identifier: Apache-2.0
"""Pictures in images, buffers and video surfaces: one at a time, and in batches."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat

import samebytes
from samebytes.errors import (
    CopyRequiredError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import (
    ClContext,
    ClImage2DTensor,
    PropertyError,
    VAContext,
    VASurfaceTensor,
    i420_inputs,
    nv12_inputs,
)

Array = np.ndarray[Any, Any]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.fixture
def i420() -> tuple[Array, Array, Array]:
    """Y, U and V of a picture of 32x32."""
    generator = np.random.default_rng(5)
    return (
        generator.integers(16, 236, (32, 32), np.uint8),
        generator.integers(16, 241, (16, 16), np.uint8),
        generator.integers(16, 241, (16, 16), np.uint8),
    )


@pytest.fixture
def surface(surface_of: Any, planes: Any) -> Any:
    return surface_of(*planes)


@pytest.fixture
def video(surface: Any, core: Any) -> Any:
    """The VAContext of the software GPU's display."""
    return VAContext.from_display(surface.display, core=core)


def test_wrap_nv12_surface(
    context: Any, image_of: Any, planes: Any, picture: Any, run: Any, bgr_of: Any
) -> None:
    images = [image_of(p) for p in planes]
    y, uv = context.create_tensor_nv12(*images)
    assert (type(y), y.shape, y.get()) == (ClImage2DTensor, (1, 32, 32, 1), images[0].int_ptr)
    assert (type(uv), uv.shape, uv.get()) == (ClImage2DTensor, (1, 16, 16, 2), images[1].int_ptr)
    built, names = nv12_inputs(picture)
    assert names == ("image/y", "image/uv")
    shown = run(context, built, dict(zip(names, (y, uv), strict=True)))
    np.testing.assert_allclose(shown, bgr_of(picture, *planes), atol=1.01)


def test_nv12_in_buffers(
    context: Any, buffer_of: Any, planes: Any, picture: Any, run: Any, bgr_of: Any
) -> None:
    built, names = nv12_inputs(picture, memory_type="GPU_BUFFER")
    tensors = {
        name: context.create_tensor("uint8", shape, buffer_of(plane))
        for name, plane, shape in zip(names, planes, ((1, 32, 32, 1), (1, 16, 16, 2)), strict=True)
    }
    np.testing.assert_allclose(run(context, built, tensors), bgr_of(picture, *planes), atol=1.01)


@pytest.mark.parametrize("memory_type", ["GPU_SURFACE", "GPU_BUFFER"])
def test_i420(
    context: Any, image_of: Any, buffer_of: Any, i420: Any, picture: Any, run: Any, bgr_of: Any,
    memory_type: Any,
) -> None:  # fmt: skip
    built, names = i420_inputs(picture, memory_type=memory_type)
    assert names == ("image/y", "image/u", "image/v")
    make = image_of if memory_type == "GPU_SURFACE" else buffer_of
    tensors = {
        name: context.create_tensor("uint8", (1, *plane.shape, 1), make(plane))
        for name, plane in zip(names, i420, strict=True)
    }
    wanted = bgr_of(picture, *i420, format_=ColorFormat.I420_THREE_PLANES)
    np.testing.assert_allclose(run(context, built, tensors), wanted, atol=1.01)


def test_scaling_surfaces(context: Any, image_of: Any, picture: Any, run: Any) -> None:
    big = [np.full((64, 48), 126, np.uint8), np.full((32, 24, 2), 128, np.uint8)]
    built, names = nv12_inputs(picture, 48, 64, color="RGB")
    y, uv = context.create_tensor_nv12(*map(image_of, big))
    shown = run(context, built, dict(zip(names, (y, uv), strict=True)))
    assert shown.shape == (1, 3, 32, 32)
    np.testing.assert_allclose(shown, 1.164 * (126 - 16), atol=1.5)


@pytest.mark.parametrize("memory_type", ["GPU_SURFACE", "GPU_BUFFER"])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_other_kind_of_memory_is_refused_when_it_is_set(
    context: Any, image_of: Any, buffer_of: Any, planes: Any, picture: Any, memory_type: Any,
    batch: int,
) -> None:  # fmt: skip
    """OpenVINO takes it, and fails at the inference."""
    built, (y, _) = nv12_inputs(picture, memory_type=memory_type, batch=batch)
    request = InferRequest(compile_model(built, context))

    def set_(memory: Any) -> None:
        tensor = memory if isinstance(memory, np.ndarray) else context.create_tensor(
            "uint8", (1, 32, 32, 1), memory
        )  # fmt: skip
        if batch == 1:
            request.set_tensor(y, tensor, copy=True)
        else:
            request.set_tensors(y, [tensor] * batch, copy=True)

    surface, buffer = image_of(planes[0]), buffer_of(planes[0])
    host = np.zeros((1, 32, 32, 1), np.uint8)
    right, wrong = ([surface], [buffer, host])
    if memory_type == "GPU_BUFFER":
        right, wrong = wrong, right
    for memory in right:
        set_(memory)
    for memory in wrong:
        with pytest.raises(LayoutError, match="prepare the model with memory_type="):
            set_(memory)


def test_models_from_a_file(picture: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    openvino.save_model(picture, path)
    for given in (path, str(path)):
        built, names = nv12_inputs(given)
        assert len(names) == len(built.inputs) == 2
    with pytest.raises(FileNotFoundError, match="no such model file"):
        nv12_inputs(tmp_path / "none.xml")
    with pytest.raises(UnsupportedObjectError, match="nor the path of one"):
        nv12_inputs(None)


def test_preprocessing_errors(picture: Any) -> None:
    for wrong, error in (
        ({"memory_type": "CPU"}, UnknownNameError),
        ({"color": "GBR"}, UnknownNameError),
        ({"width": 32}, LayoutError),
        ({"width": 31, "height": 32}, LayoutError),
        ({"batch": 0}, LayoutError),
        ({"layout": "NC??"}, LayoutError),
    ):
        with pytest.raises(error):
            nv12_inputs(picture, **wrong)
    built, _ = nv12_inputs(picture)
    with pytest.raises(LayoutError, match="2 inputs"):
        i420_inputs(built)
    assert len(picture.inputs) == 1


@pytest.mark.parametrize(
    ("shape", "inputs", "said"),
    [
        ([1, 12], 1, "an image has four dimensions"),
        ([1, 32, 32, 3], 1, "in layout NCHW an image of 32 channels"),
        ([1, 1, 32, 32], 1, "only images of 3 channels"),
        ([1, 3, -1, -1], 1, "reshape it to the size"),
        ([1, 3, 32, 32], 2, "the model has 2 inputs"),
    ],
)
@pytest.mark.parametrize("prepare", [nv12_inputs, i420_inputs])
def test_models_that_take_no_picture(
    prepare: Any, shape: list[int], inputs: int, said: str
) -> None:
    """The error is about the call that was made, and not in OpenVINO's words."""
    taken = [ops.parameter(openvino.PartialShape(shape), np.float32) for _ in range(inputs)]
    model = openvino.Model([ops.result(ops.relu(x)) for x in taken], taken)
    for size in ({}, {"width": 64, "height": 64}):  # as large as the model's, or scaled
        with pytest.raises(LayoutError, match=said) as caught:
            prepare(model, **size)
        assert not any(word in str(caught.value) for word in ("Exception from", "yuv_inputs"))


@pytest.mark.parametrize("count", [1, 3])
def test_batches_of_surfaces(
    context: Any, image_of: Any, picture: Any, bgr_of: Any, count: int
) -> None:
    generator = np.random.default_rng(9)
    frames = [
        (
            generator.integers(16, 236, (32, 32), np.uint8),
            generator.integers(16, 241, (16, 16, 2), np.uint8),
        )
        for _ in range(count)
    ]
    built, names = nv12_inputs(picture, batch=count)
    request = InferRequest(compile_model(built, context, EXACT))
    pairs = [context.create_tensor_nv12(*map(image_of, frame)) for frame in frames]
    samebytes.reset_stats()
    for name, tensors in zip(names, zip(*pairs, strict=True), strict=True):
        request.set_tensors(name, list(tensors))
    request.start_async()
    request.wait()
    shown = np.array(request.get_output_tensor().native.data)
    assert samebytes.stats().copies == 0
    wanted = np.concatenate([bgr_of(picture, *frame) for frame in frames])
    np.testing.assert_allclose(shown, wanted, atol=1.01)


def test_batches_of_buffers_need_a_copy(
    context: Any, buffer_of: Any, planes: Any, picture: Any
) -> None:
    built, names = nv12_inputs(picture, batch=2, memory_type="GPU_BUFFER")
    request = InferRequest(compile_model(built, context, EXACT))
    tensors = [
        context.create_tensor("uint8", (1, 32, 32, 1), buffer_of(planes[0])) for _ in range(2)
    ]
    with pytest.raises(CopyRequiredError):
        request.set_tensors(names[0], tensors)


def test_context_from_va_display(core: Any, surface: Any, video: Any) -> None:
    assert video.display == surface.display == video.params["VA_DEVICE"]
    assert video.params["CONTEXT_TYPE"] == "VA_SHARED"
    assert video.get() == video.params["OCL_CONTEXT"]
    assert VAContext.from_display(surface.display) is video
    assert isinstance(video, ClContext)
    assert video is not ClContext.default(core)


def test_displays_in_capsules(surface: Any, video: Any) -> None:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    for name in (None, b"VADisplay"):
        capsule = new(surface.display, name, None)
        assert VAContext.from_display(capsule) is video


@pytest.mark.usefixtures("core")
def test_displays_that_cannot_be() -> None:
    with pytest.raises(PropertyError, match="VA_DEVICE: this VADisplay is null"):
        VAContext.from_display(0)
    with pytest.raises(TypeError, match="VA_DEVICE"):
        VAContext.from_display("display")


def test_direct_consuming_of_a_va_surface(
    video: Any, surface: Any, planes: Any, picture: Any, run: Any, bgr_of: Any
) -> None:
    built, names = nv12_inputs(picture)
    y, uv = video.create_tensor_nv12(surface.height, surface.width, surface.id)
    assert (type(y), y.surface, y.plane, y.shape) == (
        VASurfaceTensor, surface.id, 0, (1, 32, 32, 1),
    )  # fmt: skip
    assert (type(uv), uv.surface, uv.plane, uv.shape) == (
        VASurfaceTensor, surface.id, 1, (1, 16, 16, 2),
    )  # fmt: skip
    assert y.get() == y.params["MEM_HANDLE"]
    assert y.handle("va_surface") == surface.id
    assert uv.handle("plane_index") == 1
    shown = run(video, built, dict(zip(names, (y, uv), strict=True)))
    np.testing.assert_allclose(shown, bgr_of(picture, *planes), atol=1.01)


def test_one_plane_of_a_surface(video: Any, surface: Any, planes: Any) -> None:
    for plane, shape in ((0, (1, 32, 32, 1)), (1, (1, 16, 16, 2))):
        tensor = video.create_tensor("uint8", shape, surface.id, plane)
        assert isinstance(tensor, VASurfaceTensor)
        copied = tensor.map("cpu", copy=True).native
        np.testing.assert_array_equal(np.squeeze(copied), planes[plane])


def test_a_va_context_takes_what_others_take(video: Any, cl: Any) -> None:
    theirs = cl.Context.from_int_ptr(video.get())
    buffer = cl.Buffer(theirs, cl.mem_flags.READ_WRITE, 64)
    assert video.create_tensor("float32", (1, 16), buffer).get() == buffer.int_ptr
    assert video.create_tensor("float32", (1, 16)).shape == (1, 16)
    assert video.create_usm_host_tensor("float32", (1, 16)).shape == (1, 16)
    fmt = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNORM_INT8)
    two = cl.ImageFormat(cl.channel_order.RG, cl.channel_type.UNORM_INT8)
    y = cl.create_image(theirs, cl.mem_flags.READ_WRITE, fmt, shape=(8, 4))
    uv = cl.create_image(theirs, cl.mem_flags.READ_WRITE, two, shape=(4, 2))
    assert [t.shape for t in video.create_tensor_nv12(y, uv)] == [(1, 4, 8, 1), (1, 2, 4, 2)]


def test_surfaces_that_cannot_be(video: Any, surface: Any) -> None:
    luma, chroma = (1, 32, 32, 1), (1, 16, 16, 2)
    for shape, id_, plane, key in (
        (luma, surface.id, 2, "VA_PLANE"),
        (luma, surface.id, -1, "VA_PLANE"),
        (luma, surface.id, 1, "VA_PLANE"),
        (chroma, surface.id, 0, "VA_PLANE"),
        ((32, 32), surface.id, 0, "VA_PLANE"),
        (luma, -1, 0, "DEV_OBJECT_HANDLE"),
        (luma, 0xFFFFFFFF, 0, "DEV_OBJECT_HANDLE"),
    ):
        with pytest.raises(PropertyError) as error:
            video.create_tensor("uint8", shape, id_, plane)
        assert error.value.property == key
    for height, width, wrong in ((31, 32, "height"), (32, 31, "width"), (-2, 32, "height")):
        with pytest.raises(PropertyError, match="even width and height") as error:
            video.create_tensor_nv12(height, width, surface.id)
        assert error.value.property == wrong
    with pytest.raises(PropertyError, match="has no surface 4000000") as error:
        video.create_tensor_nv12(32, 32, 4_000_000)
    assert error.value.property == "DEV_OBJECT_HANDLE"
    with pytest.raises(PropertyError, match="has no surface 4000000") as error:
        video.create_tensor("uint8", luma, 4_000_000)
    assert error.value.property == "DEV_OBJECT_HANDLE"
    for size in ("a", None, 1.5, True):
        with pytest.raises(PropertyError, match="height must be a number of pixels") as error:
            video.create_tensor_nv12(size, 32, surface.id)
        assert error.value.property == "height"
        with pytest.raises(PropertyError, match="width must be a number of pixels"):
            video.create_tensor_nv12(32, size, surface.id)
    for none in (None, "surface"):
        with pytest.raises(UnsupportedObjectError, match="a surface is a VASurfaceID"):
            video.create_tensor_nv12(32, 32, none)
    no_surface = samebytes.tensor(np.zeros(luma, np.uint8))
    with pytest.raises(UnsupportedObjectError, match=r"use tensor\.map\(context\)"):
        video.create_tensor_nv12(32, 32, no_surface)
    with pytest.raises(UnsupportedObjectError, match=r"use tensor\.map\(context\)"):
        video.create_tensor("uint8", luma, no_surface)
    given = {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": surface.id, "VA_PLANE": 0}
    assert video.create_tensor("uint8", luma, given).shape == luma
    with pytest.raises(PropertyError, match="VA_PLANE"):
        video.create_tensor("uint8", luma, {**given, "VA_PLANE": 1})
    with pytest.raises(PropertyError, match="VA_PLANE: it must be given"):
        video.create_tensor("uint8", luma, dict(list(given.items())[:2]))


def test_tiles_that_cannot_be(surface: Any) -> None:
    """The plugin ignores them, or says "stoi"."""
    for tile in (77, -2, "a", None, True):
        with pytest.raises(PropertyError) as error:
            VAContext.from_display(surface.display, tile)  # type: ignore[arg-type]
        assert error.value.property == "TILE_ID"


def test_batches_of_va_surfaces(video: Any, surface_of: Any, picture: Any, bgr_of: Any) -> None:
    generator = np.random.default_rng(11)
    frames = [
        (
            generator.integers(16, 236, (32, 32), np.uint8),
            generator.integers(16, 241, (16, 16, 2), np.uint8),
        )
        for _ in range(2)
    ]
    built, names = nv12_inputs(picture, batch=2)
    request = InferRequest(compile_model(built, video, EXACT))
    pairs = [video.create_tensor_nv12(32, 32, surface_of(*frame).id) for frame in frames]
    for name, tensors in zip(names, zip(*pairs, strict=True), strict=True):
        request.set_tensors(name, list(tensors))
    request.start_async()
    request.wait()
    shown = np.array(request.get_output_tensor().native.data)
    wanted = np.concatenate([bgr_of(picture, *frame) for frame in frames])
    np.testing.assert_allclose(shown, wanted, atol=1.01)
    del request, pairs, tensors
    gc.collect()
