# SPDX-License-Identifier: Apache-2.0
"""Errors of FFmpeg, in words that say what is wrong: the one place where elements report them."""

from __future__ import annotations

import errno

import av
from av import error as kinds

from samebytes.plugins import without_secrets

__all__ = ["ARGUMENT_ERROR", "in_words", "while_reading"]

_named = vars(kinds)
ARGUMENT_ERROR: type[av.FFmpegError] = _named.get("ArgumentError") or _named["ValueError"]
"""PyAV's error for an invalid argument (EINVAL). Before PyAV 17 it was `av.error.ValueError`."""

_TEXTS: tuple[tuple[type[Exception], str], ...] = (
    (kinds.HTTPUnauthorizedError, "the user name or password is not accepted (401)"),
    (kinds.HTTPForbiddenError, "access is refused (403)"),
    (kinds.HTTPNotFoundError, "there is nothing at this address (404)"),
    (kinds.HTTPClientError, "the server refuses the request"),
    (kinds.HTTPServerError, "the server reports an error of its own"),
    (kinds.InvalidDataError, "it is damaged, or of no format that FFmpeg knows"),
    (kinds.EOFError, "it ended before there was anything in it"),
    (kinds.ProtocolNotFoundError, "this FFmpeg has no protocol of that name"),
    (kinds.DemuxerNotFoundError, "this FFmpeg cannot read its format"),
    (kinds.MuxerNotFoundError, "this FFmpeg cannot write its format"),
    (kinds.DecoderNotFoundError, "this FFmpeg has no decoder for it"),
    (kinds.EncoderNotFoundError, "this FFmpeg has no encoder for it"),
    (kinds.PatchWelcomeError, "FFmpeg does not support this kind of it yet"),
    (kinds.ExternalError, "the codec's library or device reports an error: look at its options"),
    (kinds.FileNotFoundError, "there is no such file"),
    (kinds.ConnectionRefusedError, "the connection was refused: nothing listens at this address"),
    (kinds.ConnectionResetError, "the other side ended the connection"),
    (kinds.BrokenPipeError, "the other side ended the connection"),
    (kinds.TimeoutError, "the other side does not answer"),
    (ARGUMENT_ERROR, "an option, size, rate or format is not possible here (invalid argument)"),
)

_NUMBERS = {
    errno.EIO: "the name of its host is not found, or the connection broke (input/output error)",
    errno.EPERM: "FFmpeg cannot do that with this format",
    errno.EHOSTUNREACH: "there is no way to its host",
    errno.ENETUNREACH: "there is no way to its network",
}

_NO_NVENC = (
    "NVENC is not here: it needs NVIDIA's driver with libnvidia-encode.so.1 (in a container: "
    "NVIDIA_DRIVER_CAPABILITIES must have video) and a GPU that encodes, which A100, H100 and H200 "
    "do not; choose libx264"
)
# Of libavcodec/nvenc.c: a library is missing, the device is unsupported, or there is none.
_WITHOUT_NVENC = frozenset((errno.EPERM, errno.ENOSYS, errno.ENOENT))


def _lacks_nvenc(error: av.FFmpegError) -> bool:
    """True if an encoder of NVENC did not open for want of the hardware or its library."""
    opening = str(error.filename).startswith("avcodec_open2(") and "_nvenc" in str(error.filename)
    return opening and (error.errno in _WITHOUT_NVENC or isinstance(error, kinds.ExternalError))


def in_words(error: Exception, waited: float | None = None) -> str:
    """Return the text of an error, without FFmpeg's number and without secrets.

    Args:
        error: of PyAV, or another.
        waited: seconds after which a wait ends.
    """
    if isinstance(error, kinds.ExitError):
        return "it was interrupted" if waited is None else f"no data came for {waited:g} s"
    if isinstance(error, av.FFmpegError):
        if _lacks_nvenc(error):
            return _NO_NVENC
        if isinstance(error, kinds.InvalidDataError) and error.errno == errno.EIO:
            return without_secrets(str(error.strerror))  # of VAAPIDecoder
        number = _NUMBERS.get(error.errno or 0)
        found = number or next((text for kind, text in _TEXTS if isinstance(error, kind)), None)
        return found or without_secrets(str(error.strerror))
    if isinstance(error, OSError) and error.strerror:
        return without_secrets(error.strerror)
    if str(error) == "Could not determine output format":  # PyAV's
        return (
            "neither its ending nor format= says which container it is: pass format=, such as "
            "'mpegts' or 'flv', or a name with an ending such as .mp4"
        )
    return without_secrets(str(error))


def while_reading(error: Exception, waited: float | None) -> str:
    """Return the text of an error of what was opened: of a connection, its host was found.

    Args:
        error: of PyAV, or another.
        waited: seconds after which a wait ends.
    """
    if isinstance(error, OSError) and error.errno == errno.EIO:
        return (
            "the connection or device broke off, or the server ended it without having said how "
            "long it is (input/output error)"
        )
    return in_words(error, waited)
