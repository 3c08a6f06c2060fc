# SPDX-License-Identifier: Apache-2.0
"""The way in which ffmpeg.source decodes: what was asked for, or what suits the next elements."""

from __future__ import annotations

from typing import Any, Literal

from samebytes.elements import FrameInfo, Image

from ._cuda_decoding import CUDADecoding
from ._decoders import Decoding, SoftwareDecoding

__all__ = ["Hwaccel", "choice", "offered"]

Hwaccel = Literal["cuda", "vaapi", "auto"]

_MEMORY = {"cuda": "ffmpeg:CUDA", "vaapi": "ffmpeg:VAAPI", "auto": "ffmpeg|ffmpeg:CUDA"}


def offered(hwaccel: Hwaccel | None) -> Image:
    """The frames that a source can give.

    If both ways suit the next element equally well, software comes first, since the CPU reads
    frames on a device only through a copy.

    Args:
        hwaccel: the parameter.
    """
    return Image(memory="ffmpeg" if hwaccel is None else _MEMORY[hwaccel])


def choice(
    hwaccel: Hwaccel | None, wanted: FrameInfo | None, device: int, queue: Any = None,
    **options: Any,
) -> Decoding:  # fmt: skip
    """The way to decode.

    Args:
        hwaccel: the parameter.
        wanted: what the pipeline would like of what was offered.
        device: the number of the GPU.
        queue: the stream of CUDA on which FFmpeg is to work, if it decodes by CUDA.
        options: of CUDADecoding.

    Raises:
        NoHardwareError: there is no decoder for it here.
    """
    if hwaccel is None:
        return SoftwareDecoding()
    if hwaccel == "vaapi":
        from ._vaapi_decoding import VAAPIDecoding  # it looks for the system's FFmpeg

        return VAAPIDecoding(device, extra_hw_frames=options["extra_hw_frames"])
    if hwaccel == "auto" and (wanted is None or wanted.memory != CUDADecoding.memory):
        why = "nobody says that the frames go to a GPU"
        if wanted is not None:
            why = "what comes next takes frames of the CPU as well or better"
        return SoftwareDecoding(why)
    return CUDADecoding(device, strict=hwaccel == "cuda", queue=queue, **options)
