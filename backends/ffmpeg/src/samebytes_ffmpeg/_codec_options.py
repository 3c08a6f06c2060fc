# SPDX-License-Identifier: Apache-2.0
"""The places of fields in PyAV's AVCodecContexts, found by FFmpeg's table of options."""

from __future__ import annotations

from ctypes import c_char_p, c_int, c_void_p
from functools import cache
from typing import Any

from samebytes.errors import MissingDependencyError

from ._avutil import PYAV
from ._avutil_abi import AVOption

__all__ = ["option_offset"]


@cache  # a function of ctypes is part of a cycle
def _find() -> Any:
    return PYAV.quick("av_opt_find", c_void_p, c_void_p, c_char_p, c_char_p, c_int, c_int)


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
