# SPDX-License-Identifier: Apache-2.0
"""Memory that devices cannot share, and why. All else in the matrix must be the same bytes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

__all__ = ["REFUSALS", "Refusal", "refusal"]


class Refusal(NamedTuple):
    """A part of the matrix. The first one that fits a cell counts.

    Attributes:
        source, target, layouts: patterns, as fnmatch has them, for the row, the node, the layout.
        reasons: one of them must be part of the message, since a route of several hops can end at
            one edge or another. None at all: it is not refused.
        accesses: the access modes.
        by_chance: where the driver put the source decides. If it is on whole pages, it is shared.
    """

    source: str
    target: str
    reasons: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ("*",)
    accesses: tuple[str, ...] = ("r", "w", "rw")
    by_chance: bool = False

    def fits(self, source: str, target: str, layout: str, access: str) -> bool:
        """True if a cell is in that part."""
        return (
            access in self.accesses
            and fnmatchcase(source, self.source)
            and fnmatchcase(target, self.target)
            and any(fnmatchcase(layout, pattern) for pattern in self.layouts)
        )


_WRITING = ("w", "rw")
_PADDED = ("*padded*",)
_PLANES = ("NV12", "I420", "BGR")  # planes that are not whole pages
_PAGES = ("whole pages",)
_BY_DRIVER = (
    "opencl*", "opencv_umat", "openvino:GPU", "openvino:GPU, host USM",
    "sycl, shared USM", "gstreamer", "cpu, USM of SYCL",
)  # fmt: skip
_NOT_EXPORTED = ("exportable", "no descriptor", "whole pages", "not linear", "pitch must be")
_NOT_READ = ("device USM", "usm_device", "USM_DEVICE_BUFFER")

# What lies behind a descriptor.
_DESCRIBED = (
    "dma", "level_zero, exportable", "vaapi", "ffmpeg:VAAPI", "ffmpeg:DRM", "gstreamer, DMA-BUF",
)  # fmt: skip
_NO_DESCRIPTOR = ("descriptor", "exportable", "needs a copy", "not linear")
# The edge that copies is for reading alone.
_COPY_READS = ('serves access r, not "',)

# The driver registers pages, and there is an edge that copies, for reading.
_REGISTERED = ("whole pages", "ALREADY_REGISTERED", "needs a copy", "cannot read")
_NO_FORMAT = "image format of VA-API"

REFUSALS = (
    # Memory of the host has no descriptor; that of the device nothing else.
    Refusal("cuda, *", "cuda"),
    Refusal("cpu, pinned by CUDA", "cuda"),
    *(
        Refusal(source, target, ("belongs to the host", _NO_FORMAT))
        for source, targets in (
            ("cuda, pinned", ("dma", "ffmpeg:DRM", "vaapi")),
            ("cuda, managed", ("dma",)),
        )
        for target in targets
    ),
    *(
        Refusal(source, target)
        for source in ("cuda, device", "cuda, exportable")
        for target in ("dma", "gstreamer", "level_zero", "opencl", "openvino:GPU", "openvino:NPU")
    ),
    *(
        Refusal(source, target, ("needs a copy", *_COPY_READS))
        for source in ("cuda, device", "cuda, exportable")
        for target in ("cpu", "opencv", "openvino", "sycl")
    ),
    Refusal("ffmpeg:VAAPI", "ffmpeg:VAAPI"),
    # VA-API has no packed format of 24 bits.
    Refusal("*", "ffmpeg:VAAPI", ("does not support frames of BGR",), ("BGR",)),
    Refusal("*", "ffmpeg:VAAPI", ("edge ffmpeg -> ffmpeg:VAAPI", *_COPY_READS)),
    *(Refusal(source, "vaapi", (), ("NV12*", "I420", "GRAY8")) for source in _DESCRIBED),
    Refusal("*", "vaapi", ("needs a copy", _NO_FORMAT, *_COPY_READS)),
    *(Refusal(source, "ffmpeg:DRM") for source in _DESCRIBED),
    Refusal("*", "ffmpeg:DRM", (*_NO_DESCRIPTOR, *_COPY_READS)),
    Refusal("sycl, *", "sycl"),
    Refusal("*, USM of SYCL", "sycl"),
    Refusal("*", "sycl", ("SYCL can use only memory", *_NOT_READ)),
    Refusal("opencv_umat", "opencv_umat"),
    Refusal("opencl, of a UMat", "opencv_umat"),
    Refusal("*", "opencv_umat", ("cannot wrap", "needs a copy", "device USM", *_COPY_READS)),
    # USM of a device is for that device.
    Refusal("level_zero, device USM", "level_zero"),
    Refusal("level_zero, device USM", "dma", ("no such thing",)),
    Refusal("level_zero, device USM", "*", _NOT_READ),
    Refusal("*, device USM", "opencl"),
    Refusal("*, device USM", "openvino:GPU"),
    Refusal("*, device USM", "*", _NOT_READ),
    # OpenVINO's plugins read tensors as dense, and its host tensors consist of whole rows.
    Refusal("*", "openvino:GPU", ("wrong numbers",), _PADDED),
    Refusal("*", "openvino:NPU", ("pitch must be",), _PADDED),
    *(
        Refusal(source, "openvino", ("whole number of padded rows",), _PADDED)
        for source in ("level_zero", "opencl", "gstreamer", "sycl, shared USM", "cuda, pinned")
    ),
    # A descriptor is reported for memory that was allocated for that.
    *(Refusal(source, "dma") for source in _DESCRIBED),
    Refusal("*", "dma", (*_NOT_EXPORTED, "descriptor")),
    # By way of GStreamer everything that the CPU reads is shared.
    Refusal("*", "gstreamer"),
    # Drivers import whole pages of the CPU's memory, with nobody else's bytes on them.
    Refusal("cpu", "opencl", ("begins",)),
    Refusal("cpu", "openvino:GPU", ("multiple of",)),
    Refusal("cpu", "level_zero", _PAGES),
    Refusal("cpu", "openvino:NPU", _PAGES, accesses=_WRITING),
    Refusal("cpu", "cuda", _REGISTERED),
    # Planes on pages of planes before them share those; "NV12 padded" begins a page later.
    *(
        Refusal(source, "cuda", _REGISTERED, ("padded rows", "NV12 padded"))
        for source in ("cpu, own pages", "ffmpeg", "opencv", "level_zero")
    ),
    Refusal("openvino:NPU", "cuda", _REGISTERED, ("odd size", "NV12", "BGR")),
    *(Refusal(source, "cuda", _REGISTERED, by_chance=True) for source in _BY_DRIVER),
    *(
        Refusal(source, target, reasons, ("odd size", "padded rows"))
        for source in ("cuda, pinned", "cuda, managed", "cpu, pinned by CUDA")
        for target, reasons in (
            ("opencl", ("multiple of",)),
            ("openvino:GPU", ("multiple of",)),
            ("level_zero", _PAGES),
        )
    ),
    *(
        Refusal(source, "openvino:NPU", _PAGES, ("odd size",), _WRITING)
        for source in ("cuda, pinned", "cuda, managed", "cpu, pinned by CUDA")
    ),
    Refusal("cuda, pinned", "level_zero", _PAGES, ("NV12", "BGR")),
    Refusal("cuda, pinned", "openvino:NPU", _PAGES, ("NV12", "BGR"), _WRITING),
    *(
        Refusal(source, target, reasons, ("padded rows",))
        for source in ("cpu, own pages", "opencv", "level_zero")
        for target, reasons in (("opencl", ("multiple of 64",)), ("level_zero", _PAGES))
        if source != target
    ),
    Refusal("openvino:NPU", "opencl", ("multiple of 64",), ("odd size",)),
    Refusal("openvino:NPU", "openvino:GPU", ("multiple of 64",), ("odd size",)),
    *(
        Refusal(source, "openvino:NPU", _PAGES, _PLANES, _WRITING)
        for source in ("ffmpeg", "openvino", "openvino:GPU, CPU_VA")
    ),
    Refusal("cpu, own pages", "level_zero", _PAGES, ("NV12 padded",)),
    Refusal("ffmpeg", "level_zero", _PAGES, ("NV12 padded",)),
    Refusal("gstreamer", "opencl", ("begins",), by_chance=True),
    Refusal("cpu, USM of SYCL", "opencl", ("begins", "multiple of"), by_chance=True),
    Refusal("cpu, USM of SYCL", "openvino:GPU", ("multiple of",), by_chance=True),
    Refusal("gstreamer", "openvino:GPU", ("multiple of",), by_chance=True),
    Refusal("sycl, shared USM", "openvino:GPU", ("multiple of",), by_chance=True),
    *(Refusal(source, "level_zero", _PAGES, by_chance=True) for source in _BY_DRIVER),
    *(
        Refusal(source, "openvino:NPU", _PAGES, accesses=_WRITING, by_chance=True)
        for source in _BY_DRIVER
    ),
)


def refusal(source: str, target: str, layout: str, access: str) -> Refusal | None:
    """The one that fits, if the cell is refused."""
    cell = (source, target, layout, access)
    found = next((r for r in REFUSALS if r.fits(*cell)), None)
    return found if found and found.reasons else None
