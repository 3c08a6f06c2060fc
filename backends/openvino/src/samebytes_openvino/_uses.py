# SPDX-License-Identifier: Apache-2.0
"""How many users an openvino.Tensor has in C++: regions, requests, copies of the object.

OpenVINO counts them, but has no function that says how many there are. The count lies behind the
Python object, at

    object ──▶ ov::Tensor ──▶ control block of its std::shared_ptr<ov::ITensor> ──▶ use count

The first is pybind11's layout of an object with one base, the second the public header
openvino/runtime/tensor.hpp, the third the C++ library's. None of them is promised. So a tensor is
looked at when this module is imported, by a way that fails where an address is wrong: unless its
count follows a region that is cut out of it and dropped, counts are not known, and never read.
"""

from __future__ import annotations

import os
import sys
from ctypes import c_uint32, c_uint64
from functools import cache
from typing import Any

import openvino

__all__ = ["HEAD", "count", "is_known", "other_uses", "word"]

HEAD = object.__basicsize__
"""Bytes of a Python object before what pybind11 adds: the address of the ov::Tensor."""

word = c_uint64.from_address
"""The word at an address."""

count = c_uint32.from_address
"""The number of 32 bits at an address."""

# Bytes of an ov::Tensor before the address of its control block, and of that before the count.
_CONTROL = _COUNT = 8


def other_uses(native: Any) -> int:
    """How many users the memory of an openvino.Tensor has besides that Python object.

    0 where counts are not known, or the object was never filled.
    """
    if not is_known():
        return 0
    tensor = word(id(native) + HEAD).value
    control = word(tensor + _CONTROL).value if tensor else 0
    return count(control + _COUNT).value - 1 if control else 0


@cache
def is_known() -> bool:
    """Whether counts can be read in this process."""
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        return False
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _follows_a_region(memory)
    except (OSError, OverflowError):  # no such address
        return False
    finally:
        os.close(memory)


def _follows_a_region(memory: int) -> bool:
    tensor = openvino.Tensor(openvino.Type.u8, openvino.Shape([2]))

    def read(address: int, size: int = 8) -> int:
        return int.from_bytes(os.pread(memory, size, address), sys.byteorder)

    def users() -> int:
        return read(read(read(id(tensor) + HEAD) + _CONTROL) + _COUNT, 4)

    alone = users()
    region = openvino.Tensor(tensor, openvino.Coordinate([0]), openvino.Coordinate([1]))
    shared = users()
    del region
    return (alone, shared, users()) == (1, 2, 1)
