# SPDX-License-Identifier: Apache-2.0
"""Structures and constants, compared with the C headers where they are installed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyopencl
import pytest
from pyopencl import _cl

from samebytes.errors import NativeError
from samebytes_gpu_opencl import OpenCLContext, _library, _parts
from samebytes_gpu_opencl._abi import core, external_memory, usm

SIZES = {
    "cl_image_format": 8,
    "cl_image_desc": 72,
    "cl_buffer_region": 16,
    "cl_device_pci_bus_info_khr": 16,
}
CONSTANTS = {
    name: value
    for module in (core, usm, external_memory)
    for name, value in vars(module).items()
    if name.startswith("CL_") and isinstance(value, int)
}
# Of Intel's driver, in no public header.
PRIVATE = {"CL_MEM_ALLOCATION_HANDLE_INTEL"}


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_structures_have_the_sizes_of_the_headers(name: str, size: int) -> None:
    assert ctypes.sizeof(getattr(core, name)) == size


@pytest.fixture(scope="session")
def headers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Sizes, offsets and constants as the compiler sees them."""
    if not Path("/usr/include/CL/cl_ext.h").exists() or shutil.which("cc") is None:
        pytest.skip("missing CL headers: apt install opencl-c-headers gcc")
    lines = [f'p("{n}", sizeof({n}));' for n in SIZES]
    lines += [
        f'p("{name}.{field[0]}", offsetof({name}, {field[0]}));'
        for name in SIZES
        for field in getattr(core, name)._fields_
    ]
    lines += [f'p("{n}", {n});' for n in CONSTANTS if n not in PRIVATE]
    lines += ['p("CL_BUFFER_CREATE_TYPE_REGION", CL_BUFFER_CREATE_TYPE_REGION);']
    folder = tmp_path_factory.mktemp("headers")
    source, program = folder / "show.c", folder / "show"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <CL/cl.h>\n#include <CL/cl_ext.h>\n"
        'static void p(const char* name, long value) { printf("%s %ld\\n", name, value); }\n'
        "int main(void) { " + "\n".join(lines) + " return 0; }\n"
    )
    subprocess.run(
        ["cc", "-DCL_TARGET_OPENCL_VERSION=300", str(source), "-o", str(program)], check=True
    )
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in map(str.split, shown.splitlines())}


def test_sizes_and_offsets(headers: dict[str, int]) -> None:
    for name in SIZES:
        structure: Any = getattr(core, name)
        assert ctypes.sizeof(structure) == headers[name]
        for field in structure._fields_:
            assert getattr(structure, field[0]).offset == headers[f"{name}.{field[0]}"]


def test_constants(headers: dict[str, int]) -> None:
    known = {name: value for name, value in CONSTANTS.items() if name not in PRIVATE}
    assert len(known) > 15
    assert known == {name: headers[name] for name in known}
    assert headers["CL_BUFFER_CREATE_TYPE_REGION"] == _parts._BUFFER_CREATE_TYPE_REGION


def test_the_library_is_the_one_that_pyopencl_uses() -> None:
    assert _library.meaning(core.CL_INVALID_VALUE) == "INVALID_VALUE"
    assert _library.meaning(-987654) == ""
    # As the dynamic linker binds pyopencl: what is there for all comes first.
    found = getattr(ctypes.CDLL(None), "clFinish", None)
    bundled = ctypes.CDLL(_cl.__file__).clFinish
    ours = ctypes.cast(_library._FUNCTIONS["clFinish"], ctypes.c_void_p).value
    assert ours == ctypes.cast(found or bundled, ctypes.c_void_p).value


def test_calls_of_ours_and_of_pyopencl_reach_the_same_layers(opencl: OpenCLContext) -> None:
    softdevices = pytest.importorskip(
        "samebytes_softdevices", reason="missing package: samebytes-softdevices"
    )
    if "software" not in opencl.native_device.name:
        pytest.skip("the calls of other devices are not counted")
    softdevices.fail_call("clCreateBuffer")
    with pytest.raises(NativeError, match="clCreateBuffer"):
        opencl.allocate((4, 4))
    # pyopencl tries again where memory is short.
    softdevices.fail_call("clCreateBuffer", status=core.CL_INVALID_VALUE)
    with pytest.raises(pyopencl.Error):
        pyopencl.Buffer(opencl.native, pyopencl.mem_flags.READ_WRITE, 64)
    softdevices.fail_call("clRetainMemObject")
    with pytest.raises(NativeError, match="clRetainMemObject failed with -5: OUT_OF_RESOURCES"):
        opencl.allocate((4, 4))
    softdevices.fail_call(None)
    assert opencl.allocate((4, 4)).shape == (4, 4)
