# SPDX-License-Identifier: Apache-2.0
"""linux/videodev2.h: the structures, constants and calls of single-planar capture, on 64 bits."""

from __future__ import annotations

import ctypes
import fcntl
from ctypes import c_int, c_int32, c_long, c_uint8, c_uint32, c_uint64, c_ulong

# asm-generic/ioctl.h: how the number of an ioctl is put together. x86, Arm and RISC-V use it as
# it is.

_IOC_TYPESHIFT = 8
_IOC_SIZESHIFT = 16
_IOC_DIRSHIFT = 30

_IOC_WRITE = 1
_IOC_READ = 2


def _IOC(direction: int, number: int, argument: type[ctypes.Structure] | type[c_int]) -> int:
    return (
        direction << _IOC_DIRSHIFT
        | ord("V") << _IOC_TYPESHIFT
        | number
        | ctypes.sizeof(argument) << _IOC_SIZESHIFT
    )


def v4l2_fourcc(code: str) -> int:
    """The number of a code of four characters, as "YUYV"; shorter ones end with spaces."""
    return int.from_bytes(code.ljust(4).encode("ascii"), "little")


# What a device can do.

V4L2_CAP_VIDEO_CAPTURE = 0x00000001
V4L2_CAP_VIDEO_OUTPUT = 0x00000002
V4L2_CAP_VIDEO_CAPTURE_MPLANE = 0x00001000
V4L2_CAP_VIDEO_OUTPUT_MPLANE = 0x00002000
V4L2_CAP_VIDEO_M2M_MPLANE = 0x00004000
V4L2_CAP_VIDEO_M2M = 0x00008000
V4L2_CAP_META_CAPTURE = 0x00800000
V4L2_CAP_STREAMING = 0x04000000
V4L2_CAP_DEVICE_CAPS = 0x80000000


class v4l2_capability(ctypes.Structure):
    """The answer of VIDIOC_QUERYCAP."""

    _fields_ = [
        ("driver", c_uint8 * 16),
        ("card", c_uint8 * 32),
        ("bus_info", c_uint8 * 32),
        ("version", c_uint32),
        ("capabilities", c_uint32),
        ("device_caps", c_uint32),
        ("reserved", c_uint32 * 3),
    ]


# Formats, and how colours and fields are named in them.

V4L2_BUF_TYPE_VIDEO_CAPTURE = 1

V4L2_FIELD_ANY = 0
V4L2_FIELD_NONE = 1
V4L2_FIELD_TOP = 2
V4L2_FIELD_BOTTOM = 3
V4L2_FIELD_INTERLACED = 4
V4L2_FIELD_SEQ_TB = 5
V4L2_FIELD_SEQ_BT = 6
V4L2_FIELD_ALTERNATE = 7
V4L2_FIELD_INTERLACED_TB = 8
V4L2_FIELD_INTERLACED_BT = 9

V4L2_COLORSPACE_DEFAULT = 0
V4L2_COLORSPACE_SMPTE170M = 1
V4L2_COLORSPACE_SMPTE240M = 2
V4L2_COLORSPACE_REC709 = 3
V4L2_COLORSPACE_470_SYSTEM_M = 5
V4L2_COLORSPACE_470_SYSTEM_BG = 6
V4L2_COLORSPACE_JPEG = 7
V4L2_COLORSPACE_SRGB = 8
V4L2_COLORSPACE_OPRGB = 9
V4L2_COLORSPACE_BT2020 = 10
V4L2_COLORSPACE_RAW = 11
V4L2_COLORSPACE_DCI_P3 = 12

V4L2_XFER_FUNC_DEFAULT = 0
V4L2_XFER_FUNC_709 = 1
V4L2_XFER_FUNC_SRGB = 2
V4L2_XFER_FUNC_OPRGB = 3
V4L2_XFER_FUNC_SMPTE240M = 4
V4L2_XFER_FUNC_NONE = 5
V4L2_XFER_FUNC_DCI_P3 = 6
V4L2_XFER_FUNC_SMPTE2084 = 7

V4L2_YCBCR_ENC_DEFAULT = 0
V4L2_YCBCR_ENC_601 = 1
V4L2_YCBCR_ENC_709 = 2
V4L2_YCBCR_ENC_XV601 = 3
V4L2_YCBCR_ENC_XV709 = 4
V4L2_YCBCR_ENC_SYCC = 5
V4L2_YCBCR_ENC_BT2020 = 6
V4L2_YCBCR_ENC_BT2020_CONST_LUM = 7
V4L2_YCBCR_ENC_SMPTE240M = 8

V4L2_QUANTIZATION_DEFAULT = 0
V4L2_QUANTIZATION_FULL_RANGE = 1
V4L2_QUANTIZATION_LIM_RANGE = 2

V4L2_PIX_FMT_PRIV_MAGIC = 0xFEEDCAFE
"""In `priv`: the members after it are in use."""

V4L2_FMT_FLAG_COMPRESSED = 0x0001
V4L2_FMT_FLAG_EMULATED = 0x0002


class v4l2_pix_format(ctypes.Structure):
    """A format of one plane of memory, in which planes of components follow each other."""

    _fields_ = [
        ("width", c_uint32),
        ("height", c_uint32),
        ("pixelformat", c_uint32),
        ("field", c_uint32),
        ("bytesperline", c_uint32),
        ("sizeimage", c_uint32),
        ("colorspace", c_uint32),
        ("priv", c_uint32),
        ("flags", c_uint32),
        ("ycbcr_enc", c_uint32),
        ("quantization", c_uint32),
        ("xfer_func", c_uint32),
    ]


class _format_union(ctypes.Union):
    # The last member is not the header's: others of its members have pointers, which align it.
    _fields_ = [("pix", v4l2_pix_format), ("raw_data", c_uint8 * 200), ("_aligned", c_uint64)]


class v4l2_format(ctypes.Structure):
    """The argument of VIDIOC_G_FMT and VIDIOC_S_FMT."""

    _fields_ = [("type", c_uint32), ("fmt", _format_union)]


class v4l2_fmtdesc(ctypes.Structure):
    """One of the formats that a device has."""

    _fields_ = [
        ("index", c_uint32),
        ("type", c_uint32),
        ("flags", c_uint32),
        ("description", c_uint8 * 32),
        ("pixelformat", c_uint32),
        ("mbus_code", c_uint32),
        ("reserved", c_uint32 * 3),
    ]


# Sizes and rates.

V4L2_FRMSIZE_TYPE_DISCRETE = 1
V4L2_FRMSIZE_TYPE_CONTINUOUS = 2
V4L2_FRMSIZE_TYPE_STEPWISE = 3
V4L2_FRMIVAL_TYPE_DISCRETE = 1
V4L2_FRMIVAL_TYPE_CONTINUOUS = 2
V4L2_FRMIVAL_TYPE_STEPWISE = 3
V4L2_CAP_TIMEPERFRAME = 0x1000


class v4l2_fract(ctypes.Structure):
    """A fraction; of seconds, where it is a time."""

    _fields_ = [("numerator", c_uint32), ("denominator", c_uint32)]


class v4l2_frmsize_discrete(ctypes.Structure):
    """One size."""

    _fields_ = [("width", c_uint32), ("height", c_uint32)]


class v4l2_frmsize_stepwise(ctypes.Structure):
    """Sizes from one to another."""

    _fields_ = [
        ("min_width", c_uint32),
        ("max_width", c_uint32),
        ("step_width", c_uint32),
        ("min_height", c_uint32),
        ("max_height", c_uint32),
        ("step_height", c_uint32),
    ]


class _frmsize_union(ctypes.Union):
    _fields_ = [("discrete", v4l2_frmsize_discrete), ("stepwise", v4l2_frmsize_stepwise)]


class v4l2_frmsizeenum(ctypes.Structure):
    """One of the sizes of a format, or all of them."""

    _anonymous_ = ("_size",)
    _fields_ = [
        ("index", c_uint32),
        ("pixel_format", c_uint32),
        ("type", c_uint32),
        ("_size", _frmsize_union),
        ("reserved", c_uint32 * 2),
    ]


class v4l2_frmival_stepwise(ctypes.Structure):
    """Times of a frame, from the shortest to the longest."""

    _fields_ = [("min", v4l2_fract), ("max", v4l2_fract), ("step", v4l2_fract)]


class _frmival_union(ctypes.Union):
    _fields_ = [("discrete", v4l2_fract), ("stepwise", v4l2_frmival_stepwise)]


class v4l2_frmivalenum(ctypes.Structure):
    """One of the times of a frame that a format has in a size, or all of them."""

    _anonymous_ = ("_interval",)
    _fields_ = [
        ("index", c_uint32),
        ("pixel_format", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("type", c_uint32),
        ("_interval", _frmival_union),
        ("reserved", c_uint32 * 2),
    ]


class v4l2_captureparm(ctypes.Structure):
    """The rate, as the time of a frame."""

    _fields_ = [
        ("capability", c_uint32),
        ("capturemode", c_uint32),
        ("timeperframe", v4l2_fract),
        ("extendedmode", c_uint32),
        ("readbuffers", c_uint32),
        ("reserved", c_uint32 * 4),
    ]


class _parm_union(ctypes.Union):
    _fields_ = [("capture", v4l2_captureparm), ("raw_data", c_uint8 * 200)]


class v4l2_streamparm(ctypes.Structure):
    """The argument of VIDIOC_G_PARM and VIDIOC_S_PARM."""

    _fields_ = [("type", c_uint32), ("parm", _parm_union)]


# Buffers.

V4L2_MEMORY_MMAP = 1
V4L2_MEMORY_USERPTR = 2
V4L2_MEMORY_DMABUF = 4

V4L2_BUF_FLAG_ERROR = 0x00000040
V4L2_BUF_FLAG_TIMESTAMP_MASK = 0x0000E000
V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC = 0x00002000
V4L2_BUF_FLAG_TIMESTAMP_COPY = 0x00004000


class v4l2_requestbuffers(ctypes.Structure):
    """The number of buffers, and the kind of their memory."""

    _fields_ = [
        ("count", c_uint32),
        ("type", c_uint32),
        ("memory", c_uint32),
        ("capabilities", c_uint32),
        ("flags", c_uint8),
        ("reserved", c_uint8 * 3),
    ]


class timeval(ctypes.Structure):
    """The structure of sys/time.h."""

    _fields_ = [("tv_sec", c_long), ("tv_usec", c_long)]


class v4l2_timecode(ctypes.Structure):
    """A time code, which cameras do not fill in."""

    _fields_ = [
        ("type", c_uint32),
        ("flags", c_uint32),
        ("frames", c_uint8),
        ("seconds", c_uint8),
        ("minutes", c_uint8),
        ("hours", c_uint8),
        ("userbits", c_uint8 * 4),
    ]


class _buffer_union(ctypes.Union):
    _fields_ = [("offset", c_uint32), ("userptr", c_ulong), ("fd", c_int32)]


class v4l2_buffer(ctypes.Structure):
    """A buffer, on its way to the driver or back."""

    _fields_ = [
        ("index", c_uint32),
        ("type", c_uint32),
        ("bytesused", c_uint32),
        ("flags", c_uint32),
        ("field", c_uint32),
        ("timestamp", timeval),
        ("timecode", v4l2_timecode),
        ("sequence", c_uint32),
        ("memory", c_uint32),
        ("m", _buffer_union),
        ("length", c_uint32),
        ("reserved2", c_uint32),
        ("request_fd", c_int32),
    ]


class v4l2_exportbuffer(ctypes.Structure):
    """A buffer to be exported; the driver sets `fd`."""

    _fields_ = [
        ("type", c_uint32),
        ("index", c_uint32),
        ("plane", c_uint32),
        ("flags", c_uint32),
        ("fd", c_int32),
        ("reserved", c_uint32 * 11),
    ]


VIDIOC_QUERYCAP = _IOC(_IOC_READ, 0, v4l2_capability)
VIDIOC_ENUM_FMT = _IOC(_IOC_READ | _IOC_WRITE, 2, v4l2_fmtdesc)
VIDIOC_G_FMT = _IOC(_IOC_READ | _IOC_WRITE, 4, v4l2_format)
VIDIOC_S_FMT = _IOC(_IOC_READ | _IOC_WRITE, 5, v4l2_format)
VIDIOC_REQBUFS = _IOC(_IOC_READ | _IOC_WRITE, 8, v4l2_requestbuffers)
VIDIOC_QBUF = _IOC(_IOC_READ | _IOC_WRITE, 15, v4l2_buffer)
VIDIOC_EXPBUF = _IOC(_IOC_READ | _IOC_WRITE, 16, v4l2_exportbuffer)
VIDIOC_DQBUF = _IOC(_IOC_READ | _IOC_WRITE, 17, v4l2_buffer)
VIDIOC_STREAMON = _IOC(_IOC_WRITE, 18, c_int)
VIDIOC_STREAMOFF = _IOC(_IOC_WRITE, 19, c_int)
VIDIOC_G_PARM = _IOC(_IOC_READ | _IOC_WRITE, 21, v4l2_streamparm)
VIDIOC_S_PARM = _IOC(_IOC_READ | _IOC_WRITE, 22, v4l2_streamparm)
VIDIOC_TRY_FMT = _IOC(_IOC_READ | _IOC_WRITE, 64, v4l2_format)
VIDIOC_ENUM_FRAMESIZES = _IOC(_IOC_READ | _IOC_WRITE, 74, v4l2_frmsizeenum)
VIDIOC_ENUM_FRAMEINTERVALS = _IOC(_IOC_READ | _IOC_WRITE, 75, v4l2_frmivalenum)


def ioctl(fd: int, request: int, argument: ctypes.Structure | c_int) -> None:
    """Call ioctl(), again where a signal came; the kernel may fill in `argument`.

    Raises:
        OSError: what the call answered.
    """
    while True:
        try:
            fcntl.ioctl(fd, request, argument)
            return
        except InterruptedError:
            continue
