# SPDX-License-Identifier: Apache-2.0
"""Questions to NVDEC's driver about what the GPU decodes.

FFmpeg asks the same, but reports the answer only in its log. The structure and the numbers are
those of the header cuviddec.h in NVIDIA's Video Codec SDK.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_int, c_ubyte, c_uint, c_ushort

from . import libcuda

__all__ = ["decodes"]

_CODECS = {
    "mpeg1video": 0, "mpeg2video": 1, "mpeg4": 2, "vc1": 3, "h264": 4, "mjpeg": 5, "hevc": 8,
    "vp8": 9, "vp9": 10, "av1": 11,
}  # fmt: skip
"""cudaVideoCodec, by FFmpeg's names."""
_CHROMA_420 = 1
"""cudaVideoChromaFormat_420."""


class _Capabilities(Structure):
    """CUVIDDECODECAPS."""

    _fields_ = (
        ("codec", c_int),
        ("chroma", c_int),
        ("bits_beyond_8", c_uint),
        ("reserved", c_uint * 3),
        ("is_supported", c_ubyte),
        ("engines", c_ubyte),
        ("output_formats", c_ushort),
        ("largest", c_uint * 3),
        ("smallest", c_ushort * 2),
        ("histograms", c_ubyte * 4),
        ("more_reserved", c_uint * 10),
    )


def decodes(ordinal: int, codec: str, bits: int) -> bool | None:
    """True if a GPU decodes 4:2:0 video of a codec; None if the driver cannot be asked.

    Args:
        ordinal: the number of the GPU.
        codec: FFmpeg's name of it.
        bits: of a sample.

    Raises:
        MissingDependencyError: there is no driver, or no device.
        NativeError: the driver of CUDA fails.
    """
    asked = _Capabilities(_CODECS.get(codec, -1), _CHROMA_420, bits - 8)
    try:
        function = ctypes.CDLL("libnvcuvid.so.1").cuvidGetDecoderCaps
    except (OSError, AttributeError):
        return None
    if asked.codec < 0:
        return None
    with libcuda.current(libcuda.primary_context(ordinal)):
        code = function(byref(asked))
    return None if code else bool(asked.is_supported)
