# SPDX-License-Identifier: Apache-2.0
"""The format, size and rate of a camera: what they are, and setting them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from samebytes import ImageFormat
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from . import _abi
from ._device import Device
from ._formats import FOURCCS, NAMES, Layout, codes_of, fourcc_text

__all__ = ["code_among", "code_of", "current_layout", "current_rate", "set_format", "set_rate"]

_CAPTURE = _abi.V4L2_BUF_TYPE_VIDEO_CAPTURE


def current_layout(device: Device) -> Layout:
    """The layout of the pictures that the camera gives.

    Raises:
        CameraGoneError: it is gone.
        UnsupportedObjectError: its format is not a picture in rows.
        LayoutError: single fields.
    """
    return Layout.of(_current(device).fmt.pix)


def set_format(device: Device, name: str | None, width: int | None, height: int | None) -> Layout:
    """Choose the frames that the camera gives. Arguments that are None change nothing.

    Args:
        device: the camera.
        name: the name of the pixel format.
        width, height: in pixels.

    Raises:
        BusyError: it streams.
        CameraGoneError: it is gone.
        UnsupportedObjectError: it does not have that format, or its own is not a picture in rows.
        LayoutError: it does not have that size; single fields. Nothing has changed then.
        UnknownNameError: there is no such format.
    """
    asked = _current(device)
    pix = asked.fmt.pix
    code = pix.pixelformat if name is None else code_of(device, name)
    wanted = code, width or pix.width, height or pix.height
    pix.pixelformat, pix.width, pix.height = wanted
    pix.field = _abi.V4L2_FIELD_ANY
    pix.bytesperline = pix.sizeimage = pix.flags = 0
    pix.priv = _abi.V4L2_PIX_FMT_PRIV_MAGIC
    for request in ("VIDIOC_TRY_FMT", "VIDIOC_S_FMT"):  # what is refused changes nothing
        device.call(request, asked)
        found = pix.pixelformat, pix.width, pix.height
        if found != wanted:
            raise LayoutError(
                f"the camera at {device.path} has no {_words(*wanted)}; the nearest is "
                f"{_words(*found)}, and formats() has all"
            )
        layout = Layout.of(pix)
    return layout


def code_of(device: Device, name: str) -> int:
    """V4L2's code for a format; if there are several, the one that the camera has.

    Args:
        device: the camera.
        name: as for `code_among`.

    Raises:
        UnsupportedObjectError: it does not have that format.
        UnknownNameError: there is no such format.
    """
    there = codes_of(device)
    code = code_among(there, name)
    if code is None:
        wanted = ImageFormat.of(name).name
        names = ", ".join(dict.fromkeys(NAMES.get(one) or fourcc_text(one) for one in there))
        raise UnsupportedObjectError(f"the camera at {device.path} has no {wanted}; it has {names}")
    return code


def code_among(there: Sequence[int], name: str) -> int | None:
    """The one of several codes of V4L2 that is a format; None if none of them is.

    Args:
        there: the codes that a camera has.
        name: the name of a format, in any spelling; or the four characters of a code, unless they
            are the name of a format with another layout: "RGBP" is planar RGB here, although it is
            V4L2's code for RGB565.

    Raises:
        UnknownNameError: there is no such format, and none of the codes is that one.
    """
    same = [code for code in there if fourcc_text(code) == name]
    try:
        wanted = ImageFormat.of(name).name
    except UnknownNameError:
        if same:
            return same[0]
        raise
    usual = [code for code in FOURCCS.get(wanted, ()) if code in there]
    return next((code for code in (*same, *usual) if NAMES.get(code) == wanted), None)


def current_rate(device: Device) -> Fraction | None:
    """The frames a second; None if the driver does not report them.

    Raises:
        CameraGoneError: it is gone.
    """
    about = _abi.v4l2_streamparm(type=_CAPTURE)
    if not device.has("VIDIOC_G_PARM", about):
        return None
    time = about.parm.capture.timeperframe
    if not (time.numerator and time.denominator):
        return None
    return Fraction(time.denominator, time.numerator)


def set_rate(device: Device, rate: Fraction) -> None:
    """Ask for so many frames a second; the driver takes the nearest that it has.

    Raises:
        CameraGoneError: it is gone.
        UnsupportedObjectError: its driver has no rates to choose from.
        LayoutError: not above 0.
    """
    if rate <= 0:
        raise LayoutError(f"a camera takes more than 0 frames a second, not {rate}")
    about = _abi.v4l2_streamparm(type=_CAPTURE)
    time = about.parm.capture.timeperframe
    time.numerator, time.denominator = rate.denominator, rate.numerator
    known = device.has("VIDIOC_S_PARM", about)
    if not (known and about.parm.capture.capability & _abi.V4L2_CAP_TIMEPERFRAME):
        raise UnsupportedObjectError(
            f"{device.driver}, the driver of {device.path}, has no rates to choose from: leave "
            "out rate="
        )


def _current(device: Device) -> _abi.v4l2_format:
    about = _abi.v4l2_format(type=_CAPTURE)
    about.fmt.pix.priv = _abi.V4L2_PIX_FMT_PRIV_MAGIC
    device.call("VIDIOC_G_FMT", about)
    return about


def _words(code: int, width: int, height: int) -> str:
    return f"{NAMES.get(code) or fourcc_text(code)} {width}x{height}"
