# SPDX-License-Identifier: Apache-2.0
"""Mats, which are arrays, and UMats."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along, check_way

__all__ = ["back_to_umat", "dma_to_umat", "from_mat", "from_umat", "to_mat", "to_umat"]


def _picture(width: int, height: int) -> np.ndarray[Any, Any]:
    return np.ones((height, width, 3), np.uint8)


def to_mat(width: int, height: int) -> Ways:
    """The array itself."""
    array = _picture(width, height)
    tensor = sb.tensor(array)
    check_way("cpu -> opencv tensor alias", tensor, "opencv")
    return Ways(ours=lambda: tensor.map("opencv"), by_hand=array.view, copying=array.copy)


def from_mat(width: int, height: int) -> Ways:
    """The array as CPU memory again."""
    array = _picture(width, height)
    mat = sb.tensor(array).map("opencv", "rw")
    check_way("opencv -> cpu tensor alias", mat, "cpu")
    return Ways(ours=lambda: mat.map("cpu"), by_hand=array.view, copying=array.copy)


def to_umat(width: int, height: int) -> Ways:
    """A copy into new memory of OpenCV."""
    array, target = _picture(width, height), sb.context("opencv_umat")
    tensor = sb.tensor(array)
    go = along("cpu -> opencv_umat tensor copy", tensor, target)
    umat: Any = cv2.UMat  # its stubs lack the constructor from an array
    return Ways(ours=lambda: go(tensor), by_hand=lambda: umat(array))


def from_umat(width: int, height: int) -> Ways:
    """A copy into new CPU memory."""
    cpu = sb.context("cpu")
    umat: Any = sb.context("opencv_umat").allocate((height, width, 3))
    go = along("opencv_umat -> cpu tensor copy", umat, cpu)
    return Ways(ours=lambda: go(umat), by_hand=umat.native.get)


def back_to_umat(width: int, height: int) -> Ways:
    """A UMat that was mapped to OpenCL, mapped back; Python cannot put a UMat over memory."""
    target = sb.context("opencv_umat")
    memory = target.allocate((height, width, 3)).map("opencl", "rw")
    go = along("opencl -> opencv_umat tensor alias", memory, target)
    return Ways(ours=lambda: go(memory))


def dma_to_umat(width: int, height: int) -> Ways:
    """A UMat over a DMA-BUF, by an OpenCV that has createUMatFromDmaBuf."""
    memory, target = sb.context("dma").allocate((height, width, 3)), sb.context("opencv_umat")
    go = along("dma -> opencv_umat tensor import", memory, target)
    return Ways(ours=lambda: go(memory))
