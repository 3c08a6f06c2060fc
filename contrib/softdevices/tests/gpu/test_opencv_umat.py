# SPDX-License-Identifier: Apache-2.0
"""OpenCV's UMat on the same device, and its memory in pyopencl."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_opencv_uses_the_device(cv2: Any) -> None:
    assert cv2.ocl.haveOpenCL()
    assert "software" in cv2.ocl.Device.getDefault().name()


def test_a_umat_is_a_buffer_of_pyopencl(
    cv2: Any, cl: Any, np: Any, build: Callable[[Any, str], Any]
) -> None:
    cv2.ocl.setUseOpenCL(True)
    umat = cv2.UMat(np.full((32, 64), 7, np.uint8))
    access_rw = 3 << 24
    buffer = cl.Buffer.from_int_ptr(umat.handle(access_rw), retain=True)
    queue = cl.CommandQueue.from_int_ptr(cv2.UMat.queue(), retain=True)
    context = cl.Context.from_int_ptr(cv2.UMat.context(), retain=True)
    program = build(context, "kernel void add(global uchar *p) { p[get_global_id(0)] += 3; }")
    cl.Kernel(program, "add")(queue, (32 * 64,), None, buffer)
    queue.finish()
    assert (umat.get() == 10).all()


def test_opencv_computes_on_it(cv2: Any, np: Any) -> None:
    image = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    grey = cv2.cvtColor(cv2.UMat(image), cv2.COLOR_BGR2GRAY)
    assert isinstance(grey, cv2.UMat)
    assert np.abs(grey.get().astype(int) - cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)).max() <= 1
