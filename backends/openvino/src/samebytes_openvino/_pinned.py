# SPDX-License-Identifier: Apache-2.0
"""The openvino.Tensor that we hand out."""

from __future__ import annotations

from typing import Any

import openvino

__all__ = ["PinnedTensor"]


class PinnedTensor(openvino.Tensor):
    """An openvino.Tensor that keeps its memory alive by itself, and knows if it is read-only.

    A tensor over an array holds the array, but a region cut out of a tensor holds nothing, and
    an openvino.InferRequest holds no tensor. OpenVINO has no read-only tensors.

    Attributes:
        pin: what the memory lies in, if it is a region of another tensor.
        readonly: it may not be written through; kept when samebytes wraps it again.
    """

    __slots__ = ("pin", "readonly")

    pin: Any
    readonly: bool
