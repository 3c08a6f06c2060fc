# SPDX-License-Identifier: Apache-2.0
"""asm-generic/ioctl.h: how the number of an ioctl is put together.

x86, Arm and RISC-V use this header as it is.
"""

from __future__ import annotations

import ctypes

__all__ = ["_IOW", "_IOWR"]

_IOC_NRSHIFT = 0
_IOC_TYPESHIFT = 8
_IOC_SIZESHIFT = 16
_IOC_DIRSHIFT = 30

_IOC_WRITE = 1
_IOC_READ = 2


def _IOC(direction: int, type_: str, number: int, size: int) -> int:
    return (
        direction << _IOC_DIRSHIFT
        | ord(type_) << _IOC_TYPESHIFT
        | number << _IOC_NRSHIFT
        | size << _IOC_SIZESHIFT
    )


def _IOW(type_: str, number: int, argument: type[ctypes.Structure] | type[ctypes.c_char_p]) -> int:
    """An ioctl that passes a structure, or a text, to the kernel."""
    return _IOC(_IOC_WRITE, type_, number, ctypes.sizeof(argument))


def _IOWR(type_: str, number: int, argument: type[ctypes.Structure]) -> int:
    """An ioctl that passes a structure to the kernel, which fills it in."""
    return _IOC(_IOC_READ | _IOC_WRITE, type_, number, ctypes.sizeof(argument))
