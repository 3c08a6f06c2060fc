# SPDX-License-Identifier: Apache-2.0
"""FFmpeg's table of options: the names, and the places of fields in PyAV's AVCodecContexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_void_p
from functools import cache
from typing import Any

from samebytes.elements import logger
from samebytes.errors import MissingDependencyError

from ._avutil import PYAV
from ._avutil_abi import AVOption

__all__ = ["decoder_options", "option_offset", "warn_of_unknown"]

_OF_ALL = 3
"""AV_OPT_SEARCH_CHILDREN | AV_OPT_SEARCH_FAKE_OBJ, libavutil/opt.h: of all children of a class."""
_DECODING = 2 | 16
"""AV_OPT_FLAG_DECODING_PARAM | AV_OPT_FLAG_VIDEO_PARAM, libavutil/opt.h."""

_log = logger("ffmpeg")


@cache  # a function of ctypes is part of a cycle
def _find() -> Any:
    return PYAV.quick("av_opt_find", c_void_p, c_void_p, c_char_p, c_char_p, c_int, c_int)


@cache
def _classes() -> list[c_void_p]:
    """The classes of containers with their protocols, and of codecs."""
    calls = [PYAV.quick(f"{name}_get_class", c_void_p) for name in ("avformat", "avcodec")]
    return [c_void_p(call()) for call in calls]


def decoder_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return those of the options that are for decoders of video, as FFmpeg's programs choose them.

    A codec takes others too, or fails at their values: "mjpeg" is a `pixel_format` of cameras only.

    Args:
        options: of a container, its protocol and its streams.
    """
    with suppress(MissingDependencyError):
        codec = _classes()[1]
        return {
            name: value
            for name, value in options.items()
            if _find()(byref(codec), name.encode(), None, _DECODING, _OF_ALL)
        }
    return dict(options)


def option_offset(address: int, name: bytes) -> int:
    """Return the offset in bytes of an option's field in an AVCodecContext.

    Args:
        address: of the context.
        name: of the option.

    Raises:
        MissingDependencyError: this FFmpeg has no such option.
    """
    option = _find()(address, name, None, 0, 0)
    if not option:
        raise MissingDependencyError("ffmpeg", f"the option {name.decode()}", PYAV.hint)
    return int(AVOption.from_address(option).offset)


def warn_of_unknown(element: str, options: Iterable[str]) -> None:
    """Warn of options that no container, protocol or codec of this FFmpeg has.

    Args:
        element: the name of the element that was given them.
        options: their names.
    """
    with suppress(MissingDependencyError):
        for name in options:
            found = (_find()(byref(one), name.encode(), None, 0, _OF_ALL) for one in _classes())
            if not any(found):
                # No colon after the name: what follows one like "token" would be hidden.
                text = "%s: FFmpeg has no option %r; ffmpeg -h full lists those that it has"
                _log.warning(text, element, name)
