# SPDX-License-Identifier: Apache-2.0
"""Colours and fields of a format of V4L2, in the words that all backends share."""

from __future__ import annotations

from typing import Any

from samebytes import ImageFormat
from samebytes.errors import LayoutError
from samebytes.formats import Colorimetry

from . import _abi

__all__ = ["colors_of", "fields_of"]

# Numbers of videodev2.h -> names of ITU-T H.273. What has no name there is left out.
_PRIMARIES = {
    _abi.V4L2_COLORSPACE_SMPTE170M: "smpte170m",
    _abi.V4L2_COLORSPACE_SMPTE240M: "smpte240m",
    _abi.V4L2_COLORSPACE_REC709: "bt709",
    _abi.V4L2_COLORSPACE_470_SYSTEM_M: "bt470m",
    _abi.V4L2_COLORSPACE_470_SYSTEM_BG: "bt470bg",
    _abi.V4L2_COLORSPACE_JPEG: "bt709",
    _abi.V4L2_COLORSPACE_SRGB: "bt709",
    _abi.V4L2_COLORSPACE_BT2020: "bt2020",
    _abi.V4L2_COLORSPACE_DCI_P3: "smpte431",
}
_TRANSFERS = {
    _abi.V4L2_XFER_FUNC_709: "bt709",
    _abi.V4L2_XFER_FUNC_SRGB: "iec61966-2-1",
    _abi.V4L2_XFER_FUNC_SMPTE240M: "smpte240m",
    _abi.V4L2_XFER_FUNC_NONE: "linear",
    _abi.V4L2_XFER_FUNC_SMPTE2084: "smpte2084",
}
_MATRICES = {
    _abi.V4L2_YCBCR_ENC_601: "smpte170m",
    _abi.V4L2_YCBCR_ENC_709: "bt709",
    _abi.V4L2_YCBCR_ENC_XV601: "smpte170m",
    _abi.V4L2_YCBCR_ENC_XV709: "bt709",
    _abi.V4L2_YCBCR_ENC_SYCC: "smpte170m",
    _abi.V4L2_YCBCR_ENC_BT2020: "bt2020nc",
    _abi.V4L2_YCBCR_ENC_BT2020_CONST_LUM: "bt2020c",
    _abi.V4L2_YCBCR_ENC_SMPTE240M: "smpte240m",
}

# What a colour space means where the format names no more: V4L2_MAP_*_DEFAULT of the header.
_USUAL_TRANSFERS = {
    _abi.V4L2_COLORSPACE_OPRGB: _abi.V4L2_XFER_FUNC_OPRGB,
    _abi.V4L2_COLORSPACE_SMPTE240M: _abi.V4L2_XFER_FUNC_SMPTE240M,
    _abi.V4L2_COLORSPACE_DCI_P3: _abi.V4L2_XFER_FUNC_DCI_P3,
    _abi.V4L2_COLORSPACE_RAW: _abi.V4L2_XFER_FUNC_NONE,
    _abi.V4L2_COLORSPACE_SRGB: _abi.V4L2_XFER_FUNC_SRGB,
    _abi.V4L2_COLORSPACE_JPEG: _abi.V4L2_XFER_FUNC_SRGB,
}
_USUAL_MATRICES = {
    _abi.V4L2_COLORSPACE_REC709: _abi.V4L2_YCBCR_ENC_709,
    _abi.V4L2_COLORSPACE_DCI_P3: _abi.V4L2_YCBCR_ENC_709,
    _abi.V4L2_COLORSPACE_BT2020: _abi.V4L2_YCBCR_ENC_BT2020,
    _abi.V4L2_COLORSPACE_SMPTE240M: _abi.V4L2_YCBCR_ENC_SMPTE240M,
}

_FIELDS = {
    _abi.V4L2_FIELD_NONE: "progressive",
    _abi.V4L2_FIELD_INTERLACED_TB: "top",
    _abi.V4L2_FIELD_INTERLACED_BT: "bottom",
}
_LINES_OF_NTSC = (480, 486)


def colors_of(pix: _abi.v4l2_pix_format, format_: ImageFormat) -> Colorimetry:
    """The colorimetry of a format; None for values that the driver leaves open.

    Self-evident values are left out: the matrix of RGB, and the full range of RGB and gray.

    Args:
        pix: the structure that the driver filled in.
        format_: the same format's layout.
    """
    space, model = pix.colorspace, format_.color_model
    known = space != _abi.V4L2_COLORSPACE_DEFAULT
    transfer, matrix, quantization = pix.xfer_func, pix.ycbcr_enc, pix.quantization
    if known and transfer == _abi.V4L2_XFER_FUNC_DEFAULT:
        transfer = _USUAL_TRANSFERS.get(space, _abi.V4L2_XFER_FUNC_709)
    if known and matrix == _abi.V4L2_YCBCR_ENC_DEFAULT:
        matrix = _USUAL_MATRICES.get(space, _abi.V4L2_YCBCR_ENC_601)
    if known and model == "yuv" and quantization == _abi.V4L2_QUANTIZATION_DEFAULT:
        full = space == _abi.V4L2_COLORSPACE_JPEG
        quantization = (
            _abi.V4L2_QUANTIZATION_FULL_RANGE if full else _abi.V4L2_QUANTIZATION_LIM_RANGE
        )
    range_ = None
    if quantization == _abi.V4L2_QUANTIZATION_LIM_RANGE:
        range_ = "limited"
    elif quantization == _abi.V4L2_QUANTIZATION_FULL_RANGE and model == "yuv":
        range_ = "full"
    return Colorimetry(
        color_range=range_,
        color_primaries=_PRIMARIES.get(space),
        color_transfer=_TRANSFERS.get(transfer),
        color_matrix=_MATRICES.get(matrix) if model == "yuv" else None,
    )


def fields_of(field: int, height: int) -> dict[str, Any]:
    """The entry `field_order` of frames; empty if the driver does not report it.

    Args:
        field: V4L2_FIELD_*.
        height: rows of the picture.

    Raises:
        LayoutError: a buffer does not hold a whole picture, row by row.
    """
    if field in (
        _abi.V4L2_FIELD_TOP, _abi.V4L2_FIELD_BOTTOM, _abi.V4L2_FIELD_ALTERNATE,
        _abi.V4L2_FIELD_SEQ_TB, _abi.V4L2_FIELD_SEQ_BT,
    ):  # fmt: skip
        raise LayoutError(
            f"each buffer of the camera holds one field, or two after each other (field {field}): "
            "GStreamer's v4l2src and a deinterlacer take these"
        )
    if field == _abi.V4L2_FIELD_INTERLACED:
        # "Both fields interlaced": the first one is that of the standard, and M/NTSC alone begins
        # with the bottom one (Field Order, in the kernel's documentation of V4L2).
        return {"field_order": "bottom" if height in _LINES_OF_NTSC else "top"}
    found = _FIELDS.get(field)
    return {} if found is None else {"field_order": found}
