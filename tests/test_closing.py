# SPDX-License-Identifier: Apache-2.0
"""close() of owned memory against everything that can hold it, in every framework.

Whatever still looks at the memory keeps it beyond close(), which says False; with the last of them
it is given back.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import openvino
import pytest

import samebytes
import samebytes_openvino
from samebytes import Frame, Tensor
from samebytes.errors import ClosedError
from samebytes.plugins import sweep_loans

Mat: Any = cv2.Mat  # untyped in OpenCV's stubs


def _torch(tensor: Tensor) -> Any:
    torch = pytest.importorskip("torch", reason="missing package: torch")
    return torch.from_dlpack(tensor)


def _jax(tensor: Tensor) -> Any:
    jnp = pytest.importorskip("jax.numpy", reason="missing package: jax")
    return jnp.from_dlpack(tensor)


def _asked_by_address(tensor: Tensor) -> Any:
    """An array that another class makes from the native's address; it holds only that class."""

    class Holder:
        __array_interface__ = tensor.native.__array_interface__
        native = tensor.native

    return np.asarray(Holder())


def _region_of_openvino(tensor: Tensor) -> Any:
    whole = tensor.map("openvino", "rw").native
    region = samebytes_openvino.PinnedTensor(whole, [0, 0], [2, 2])
    region.pin = whole
    return region


def _bound_to_a_request(tensor: Tensor) -> Any:
    parameter = openvino.opset13.parameter(tensor.shape, openvino.Type.u8, name="x")
    model = openvino.Model([openvino.opset13.add(parameter, parameter)], [parameter])
    request = samebytes_openvino.InferRequest(openvino.compile_model(model, "CPU"))
    request.set_input_tensor(0, tensor.map("openvino"))
    request.infer()
    return request


HOLDERS: dict[str, Callable[[Tensor], Any]] = {
    "numpy.asarray": np.asarray,
    "numpy.array without a copy": lambda t: np.array(t, copy=False),
    "slice": lambda t: t.native[1:3],
    "slice of a slice": lambda t: t.native[4:40][2:5].reshape(-1),
    "transposed": lambda t: t.native.T,
    "another dtype": lambda t: t.native.view(np.uint16),
    "numpy.from_dlpack": np.from_dlpack,
    "slice of numpy.from_dlpack": lambda t: np.from_dlpack(t)[3:4, 2:],
    "capsule": lambda t: t.__dlpack__(max_version=(1, 0)),
    "legacy capsule": lambda t: t.__dlpack__(),
    "memoryview": lambda t: memoryview(t.native),
    "slice of a memoryview": lambda t: memoryview(t.native)[2:3],
    "numpy.frombuffer": lambda t: np.frombuffer(memoryview(t.native), np.uint8),
    "numpy.ndarray(buffer=)": lambda t: np.ndarray((3,), np.uint8, memoryview(t.native)),
    "numpy.memmap-like subclass": lambda t: t.native.view(np.matrix),
    "array interface": _asked_by_address,
    "flat iterator": lambda t: t.native.flat,
    "ctypes": lambda t: np.ctypeslib.as_ctypes(t.native),
    "ctypes.from_buffer": lambda t: (ctypes.c_char * 4).from_buffer(t.native),
    "PickleBuffer": lambda t: pickle.PickleBuffer(t.native),
    "its storage": lambda t: t.storage,
    "mapped to itself": lambda t: t.map("cpu"),
    "cv2.Mat": lambda t: Mat(t.native),
    "OpenCV tensor": lambda t: t.map("opencv", "rw"),
    "OpenCV tensor's native": lambda t: t.map("opencv", "rw").native,
    "what an OpenCV function returned": lambda t: cv2.rectangle(
        t.map("opencv", "rw").native, (0, 0), (4, 4), 0, -1
    ),
    "openvino.Tensor": lambda t: openvino.Tensor(t.native, shared_memory=True),
    "openvino.Tensor's data": lambda t: openvino.Tensor(t.native, shared_memory=True).data,
    "OpenVINO tensor": lambda t: t.map("openvino"),
    "OpenVINO tensor's native": lambda t: t.map("openvino").native,
    "OpenVINO tensor's data": lambda t: t.map("openvino").native.data,
    "OpenVINO tensor mapped back": lambda t: t.map("openvino").map("opencv").native,
    "region of an OpenVINO tensor": _region_of_openvino,
    "inference request": _bound_to_a_request,
    "torch": _torch,
    "slice of torch": lambda t: _torch(t)[1:3],
    "jax": _jax,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_tensor_while_it_is_held(name: str) -> None:
    tensor = samebytes.context("cpu").allocate((64, 64))
    storage = weakref.ref(tensor.storage)
    tensor.native[0, 0] = 7
    holder = HOLDERS[name](tensor)
    if name == "jax" and holder.unsafe_buffer_pointer() != tensor.handle("data"):
        pytest.skip("jax made a copy, as it may")
    assert tensor.close() is False
    with pytest.raises(ClosedError):
        _ = tensor.native
    assert storage() is not None
    del holder
    gc.collect()
    sweep_loans()
    assert storage() is None


FRAME_HOLDERS: dict[str, Callable[[Frame], Any]] = {
    "a plane": lambda f: f.planes[1].native,
    "numpy.asarray of a plane": lambda f: np.asarray(f.planes[0]),
    "mapped to itself": lambda f: f.map("cpu"),
    "FFmpeg frame": lambda f: f.map("ffmpeg", "rw"),
    "av.VideoFrame": lambda f: f.map("ffmpeg", "rw").native,
    "plane of an av.VideoFrame": lambda f: f.map("ffmpeg", "rw").native.planes[1],
    "memoryview of an av plane": lambda f: memoryview(f.map("ffmpeg").native.planes[0]),
    "FFmpeg frame mapped back": lambda f: f.map("ffmpeg").map("cpu").native[1],
    "OpenCV frame's plane": lambda f: f.map("opencv").native[0],
    "OpenVINO frame": lambda f: f.map("openvino"),
    "OpenVINO plane's data": lambda f: f.map("openvino").native[1].data,
    "over FFmpeg and OpenVINO": lambda f: f.map("ffmpeg").map("openvino").native[0],
}


@pytest.mark.parametrize("name", FRAME_HOLDERS)
def test_a_frame_while_it_is_held(name: str) -> None:
    frame = samebytes.context("cpu").allocate_frame("NV12", 64, 32)
    holder = FRAME_HOLDERS[name](frame)
    storage = weakref.ref(frame.storage)
    assert frame.close() is False
    with pytest.raises(ClosedError):
        _ = frame.planes
    assert storage() is not None
    del holder
    gc.collect()
    sweep_loans()
    assert storage() is None


@pytest.mark.parametrize("target", ["opencv", "openvino"])
def test_an_array_that_outlives_the_block(target: str) -> None:
    """It stays readable, and gives the memory back when it is dropped."""
    with samebytes.context(target).allocate((4, 4)) as tensor:
        storage = weakref.ref(tensor.storage)
        array = np.asarray(tensor)
        array[...] = 3
    assert tensor.closed
    assert storage() is not None
    assert (array == 3).all()
    del array
    assert storage() is None


@pytest.mark.parametrize("target", ["opencv", "openvino"])
def test_the_users_own_error_is_never_hidden(target: str) -> None:
    """An error in flight keeps the array alive in its traceback: it comes out."""
    tensor = samebytes.context(target).allocate((4, 4))
    storage = weakref.ref(tensor.storage)

    def fail() -> None:
        array = np.asarray(tensor)
        raise KeyError(array.shape)

    with pytest.raises(KeyError, match="4, 4") as caught, tensor:
        fail()
    assert tensor.closed
    assert storage() is not None
    del caught
    gc.collect()
    assert storage() is None


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    ("node", "target", "hold"),
    [
        ("vaapi", "gstreamer", "opencv"),
        ("vaapi", "gstreamer", "dma"),
        ("dma", "gstreamer", "cpu"),
        ("dma", "ffmpeg:DRM", "gstreamer"),
        ("level_zero", "openvino", "cpu"),
        ("cpu", "openvino:GPU", "opencl"),
    ],
)
def test_a_view_that_made_nothing_closes_while_it_is_mapped_on(
    node: str, target: str, hold: str
) -> None:
    """The mapping goes on and reads the bytes, and keeps the memory."""
    how: Any = {"modifiers": (0,)} if node == "vaapi" else {}
    frame: Any = samebytes.context(node).allocate_frame("NV12", 128, 64, **how)
    with frame.map("cpu", "w") as written:
        for number, plane in enumerate(written.native):
            plane[...] = 7 + number
    del written, plane
    view = frame.map(target, "r")
    held = view.map(hold, "r")
    view.close()
    assert view.closed
    with held.map("cpu", "r") as read:
        assert [int(np.asarray(plane).flat[-1]) for plane in read.native] == [7, 8]
    end = weakref.ref(frame.storage)
    assert frame.close() is False
    held.close()
    del held, read
    sweep_loans()
    assert end() is None
