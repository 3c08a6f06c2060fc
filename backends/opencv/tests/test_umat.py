# SPDX-License-Identifier: Apache-2.0
"""UMats: their layout, their handles, uploads and downloads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import cv2
import numpy as np
import pytest

import samebytes as sb
from samebytes import TensorInfo
from samebytes.errors import (
    AccessError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    NativeError,
    NoRouteError,
    UnknownNameError,
)
from samebytes.testing import missing_device

UMat: Any = cv2.UMat  # its stubs refuse numpy arrays
_ACCESS_READ = 1 << 24


@pytest.fixture(autouse=True)
def opencl() -> None:
    if not cv2.ocl.haveOpenCL():
        pytest.skip(missing_device("GPU"))
    sb.reset_stats()


def image() -> np.ndarray[Any, Any]:
    return np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def test_there_is_one_context() -> None:
    context = sb.context("opencv_umat")
    assert sb.context("opencv_umat") is context
    assert context.handle("cl_context") == cv2.UMat.context()
    assert context.handle("cl_queue") == cv2.UMat.queue()


def test_opencv_chooses_the_device() -> None:
    with pytest.raises(UnknownNameError, match="OPENCV_OPENCL_DEVICE"):
        sb.context("opencv_umat:GPU.1")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "float16",
                                   "float32", "float64"])  # fmt: skip
@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 2), (5, 7, 4)])
def test_the_layout_of_a_umat_is_read(shape: tuple[int, ...], dtype: str) -> None:
    array = np.ones(shape, dtype)
    tensor = sb.tensor(UMat(array))
    assert tensor.info == TensorInfo(dtype, shape)
    assert tensor.handle("offset") == 0


def test_a_region_keeps_the_strides_of_the_whole() -> None:
    whole = UMat(image())
    part = sb.tensor(UMat(whole, [1, 4], [2, 7]))
    assert part.info == TensorInfo("uint8", (3, 5, 3), (24, 3, 1))
    assert part.handle("offset") == 24 + 2 * 3
    assert part.handle() == sb.tensor(whole).handle()
    np.testing.assert_array_equal(part.map("cpu", copy=True), image()[1:4, 2:7])


def test_the_handle_is_the_umats_own() -> None:
    native = UMat(image())
    assert sb.tensor(native).handle("cl_mem") == native.handle(_ACCESS_READ)


def test_uploads_and_downloads_are_counted_copies() -> None:
    up = sb.tensor(image()).map("opencv_umat", copy=True)
    down = up.map("cpu", copy=True)
    np.testing.assert_array_equal(down, image())
    by_edge = sb.stats().by_edge
    assert by_edge["cpu -> opencv_umat"].nbytes == image().nbytes
    assert sb.stats().copies >= 1


def test_no_copy_is_made_unasked() -> None:
    with pytest.raises(CopyRequiredError):
        sb.tensor(image()).map("opencv_umat")
    assert sb.stats().copies == 0


def test_what_opencv_computes_is_what_is_downloaded() -> None:
    tensor = sb.tensor(image()).map("opencv_umat", copy=True)
    cv2.add(tensor.native, UMat(np.ones_like(image())), dst=tensor.native)
    np.testing.assert_array_equal(tensor.map("cpu", copy=True), image() + 1)


def test_allocated_memory_is_given_back_by_close() -> None:
    tensor = sb.context("opencv_umat").allocate((4, 4), "float32")
    tensor.close()
    with pytest.raises(ClosedError):
        tensor.handle("cl_mem")


def test_opencv_counts_who_holds_the_memory() -> None:
    tensor = sb.context("opencv_umat").allocate((4, 4), "float32")
    native = tensor.native
    ones = UMat(np.ones((4, 4), np.float32))  # what was allocated has any bytes
    cv2.add(ones, UMat(np.full((4, 4), 2, np.float32)), dst=native)
    assert tensor.close() is None
    assert (native.get() == 3).all()


def test_the_memory_outlives_the_umat() -> None:
    native = UMat(image())
    tensor = sb.tensor(native)
    del native
    np.testing.assert_array_equal(tensor.map("cpu", copy=True), image())


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4, 5), (0, 4), (2, 2, 600)])
def test_shapes_that_no_umat_has(shape: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError):
        sb.context("opencv_umat").allocate(shape)


def test_elements_that_no_umat_has() -> None:
    with pytest.raises(LayoutError, match="no UMat of bfloat16"):
        sb.context("opencv_umat").allocate((4, 4), "bfloat16")
    with pytest.raises(NoRouteError, match="rows, columns"):
        sb.tensor(np.zeros(4, np.uint8)).map("opencv_umat", copy=True)


def test_a_read_only_array_stays_so() -> None:
    array = image()
    array.flags.writeable = False
    assert sb.tensor(array).map("opencv_umat", copy=True).readonly
    with pytest.raises((AccessError, NoRouteError)):
        sb.tensor(array).map("opencv_umat", "rw", copy=True)


def test_uploads_are_for_reading() -> None:
    """Data written to a copy would never come back."""
    with pytest.raises(NoRouteError, match='serves access r, not "rw"'):
        sb.tensor(image()).map("opencv_umat", "rw", copy=True)


def test_a_umat_without_memory_is_refused() -> None:
    with pytest.raises(LayoutError, match="rows and columns"):
        sb.tensor(UMat())


def test_without_opencl_the_error_says_what_to_do() -> None:
    code = """
import cv2, samebytes as sb
try:
    sb.context("opencv_umat")
except sb.errors.MissingDependencyError as error:
    print(error)
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENCV_", "OCL_"))}
    environment |= {"OPENCV_OPENCL_RUNTIME": "disabled"}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "ocl-icd-libopencl1" in answer.stdout


def test_a_call_of_opencl_that_fails_is_an_error_of_ours() -> None:
    softdevices = pytest.importorskip(
        "samebytes_softdevices", reason="missing package: samebytes-softdevices"
    )
    if "software" not in cv2.ocl.Device.getDefault().name():
        pytest.skip("the calls of other devices are not counted")
    memory = sb.tensor(image())
    softdevices.fail_call("clEnqueueWriteBuffer")
    try:
        with pytest.raises(NativeError, match=r"cv2\.UMat failed") as caught:
            memory.map("opencv_umat", copy=True)
    finally:
        softdevices.fail_call(None)
    assert isinstance(caught.value.__cause__, cv2.error)
    umat = memory.map("opencv_umat", copy=True)
    np.testing.assert_array_equal(umat.map("cpu", copy=True).native, image())
