# SPDX-License-Identifier: Apache-2.0
"""What cannot be shared between devices, and why: all else in the matrix must be.

The first rule that fits counts. Patterns are those of fnmatch.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

__all__ = ["REFUSALS", "Refusal", "refusal"]


class Refusal(NamedTuple):
    """A part of the matrix that is refused.

    Attributes:
        source, target: patterns for the row and the node.
        reasons: parts of the message, one of which must be in it: a route of several hops may
            end at one edge or another.
        layouts: patterns for the layouts.
        accesses: the access modes.
        by_chance: where a driver allocates whole pages of its own, it is the same bytes instead.
    """

    source: str
    target: str
    reasons: tuple[str, ...]
    layouts: tuple[str, ...] = ("*",)
    accesses: str = "r w rw"
    by_chance: bool = False


_PADDED = ("*padded*",)
_PLANES = ("NV12", "I420", "BGR")
_PAGES = ("whole pages",)
_NOT_EXPORTED = ("exportable", "tells no descriptor", "whole pages", "not linear", "pitch must be")
# Where a driver puts its memory is its own affair.
_BY_DRIVER = ("opencl*", "opencv_umat", "openvino:GPU", "openvino:GPU, host USM")

REFUSALS = (
    # Python's cv2 makes no UMat over memory that is there.
    Refusal("opencv_umat", "opencv_umat", ()),
    Refusal("*", "opencv_umat", ("cannot put a UMat", "needs a copy")),
    # Memory that the CPU cannot read stays where it is.
    Refusal("level_zero, device USM", "level_zero", ()),
    Refusal("level_zero, device USM", "*", ("device USM",)),
    *(
        Refusal(source, target, ())
        for source in ("opencl, device USM", "openvino:GPU, device USM")
        for target in ("opencl", "openvino:GPU")
    ),
    Refusal("opencl, device USM", "*", ("usm_device", "USM_DEVICE_BUFFER")),
    Refusal("openvino:GPU, device USM", "*", ("USM_DEVICE_BUFFER", "usm_device")),
    # OpenVINO's plugins read dense tensors only; its host tensors need whole rows.
    Refusal("*", "openvino:GPU", ("wrong numbers",), _PADDED),
    Refusal("*", "openvino:NPU", ("pitch must be",), _PADDED),
    Refusal("level_zero", "openvino", ("whole number of padded rows", "pitch must be"), _PADDED),
    Refusal("ffmpeg", "openvino", ("buffer ends before the padding",), _PADDED),
    # A descriptor is exported only of what was made for it.
    Refusal("dma", "dma", ()),
    Refusal("level_zero, exportable", "dma", ()),
    Refusal("*", "dma", _NOT_EXPORTED),
    # Drivers import whole pages of the CPU's memory, and use whole lines of it.
    Refusal("cpu", "level_zero", _PAGES),
    Refusal("cpu", "opencl", ("begins",)),
    Refusal("cpu", "openvino:GPU", ("multiple of",)),
    Refusal("cpu", "openvino:NPU", _PAGES, accesses="w rw"),
    Refusal("*", "level_zero", _PAGES, _PADDED) if False else Refusal("cpu, own pages", "level_zero", _PAGES, _PADDED),
)
