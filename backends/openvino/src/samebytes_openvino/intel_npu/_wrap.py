# SPDX-License-Identifier: Apache-2.0
"""Wrap remote tensors of the NPU."""

from __future__ import annotations

from typing import Any

from samebytes import Storage

from .._remote._pins import pinned
from ._context import ZeroContext
from ._tensor import ZeroBufferTensor

__all__ = ["wrap"]


def wrap(native: Any) -> ZeroBufferTensor:
    """The tensor over an openvino.RemoteTensor of the NPU plugin.

    One that samebytes did not make may be a region of another: see `ZeroBufferTensor.as_`.
    """
    owner = pinned(native) or Storage()
    return ZeroBufferTensor.borrowed(native, ZeroContext(), keep=owner)
