# SPDX-License-Identifier: Apache-2.0
"""A kernel keeps its program, and no longer than it lives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

SOURCE = "kernel void one(global int *p) { *p = 1; }  kernel void two(global int *p) { *p = 2; }"


@pytest.fixture
def functions(opencl: Any) -> Any:
    loader = opencl.loader
    info = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    loader.clCreateKernel.restype = loader.clCloneKernel.restype = ctypes.c_void_p
    loader.clCreateKernel.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    loader.clCloneKernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loader.clGetKernelInfo.argtypes = loader.clGetProgramInfo.argtypes = info
    loader.clCreateKernelsInProgram.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    for name in ("RetainProgram", "ReleaseProgram", "RetainKernel", "ReleaseKernel"):
        getattr(loader, f"cl{name}").argtypes = [ctypes.c_void_p]
    return loader


@pytest.fixture
def program(build: Callable[[Any, str], Any], context: Any) -> Any:
    return build(context, SOURCE)


def references(functions: Any, program: int) -> int:
    """The count of a program, or 0 if there is no such program any more."""
    count = ctypes.c_uint()
    result = functions.clGetProgramInfo(program, 0x1160, 4, ctypes.byref(count), None)
    return count.value if result == 0 else 0


def test_a_released_program_lives_as_long_as_its_kernel(functions: Any, program: Any) -> None:
    handle = program.int_ptr
    functions.clRetainProgram(handle)
    kernel = functions.clCreateKernel(handle, b"one", None)
    while references(functions, handle) > 1:
        assert functions.clReleaseProgram(handle) == 0
    found = ctypes.c_void_p()
    assert functions.clGetKernelInfo(kernel, 0x1194, 8, ctypes.byref(found), None) == 0
    assert found.value == handle
    # What OpenVINO does with the program that it gets so.
    assert functions.clRetainProgram(found) == 0
    assert references(functions, handle) == 2
    # One reference more, in place of pyopencl's, which was released above.
    functions.clRetainProgram(handle)
    assert functions.clReleaseKernel(kernel) == 0
    assert references(functions, handle) == 2
    functions.clReleaseProgram(handle)


def test_programs_do_not_pile_up(functions: Any, program: Any) -> None:
    handle = program.int_ptr
    before = references(functions, handle)
    made = (ctypes.c_void_p * 2)()
    for _ in range(50):
        one = functions.clCreateKernel(handle, b"one", None)
        clone = functions.clCloneKernel(one, None)
        assert functions.clCreateKernelsInProgram(handle, 2, made, None) == 0
        functions.clRetainKernel(one)
        for kernel in (one, clone, *made, one):
            assert functions.clReleaseKernel(kernel) == 0
    assert references(functions, handle) == before


def test_a_name_that_is_not_a_kernel_holds_nothing(functions: Any, program: Any) -> None:
    before = references(functions, program.int_ptr)
    assert functions.clCreateKernel(program.int_ptr, b"three", None) is None
    assert references(functions, program.int_ptr) == before
