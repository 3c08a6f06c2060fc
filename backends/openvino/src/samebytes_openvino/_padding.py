# SPDX-License-Identifier: Apache-2.0
"""Planes with padded rows, for inputs that are as wide as a whole row."""

from __future__ import annotations

from samebytes import Tensor
from samebytes.plugins import data_address

from ._context import OPENVINO
from ._ports import Port
from ._tensor import OpenVINOTensor

__all__ = ["with_padding"]


def with_padding(port: Port, plane: Tensor) -> Tensor:
    """`plane`, with the padding of its rows where the port takes that too.

    A plane with padded rows is a region of a dense tensor of whole rows (see _layout), which is
    what such a port takes.
    """
    if plane.context is not OPENVINO or port.shape is None or plane.shape == port.shape:
        return plane
    region = plane.native
    whole = getattr(region, "pin", None)
    if whole is None or tuple(whole.shape) != port.shape:
        return plane
    if data_address(whole.data) != data_address(region.data):
        return plane  # the memory ends with the last pixel: its padding is before it
    return OpenVINOTensor.borrowed(
        whole, OPENVINO, keep=plane.storage, readonly=plane.readonly, parent=plane.parent
    )
