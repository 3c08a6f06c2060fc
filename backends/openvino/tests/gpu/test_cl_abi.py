# SPDX-License-Identifier: Apache-2.0
"""The mirror of CL/cl.h and CL/cl_ext.h. No GPU is needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from samebytes_openvino.intel_gpu import _opencl_abi as opencl

CONSTANTS = {name: value for name, value in vars(opencl).items() if name.startswith("CL_")}


def test_structures_have_the_sizes_of_the_headers() -> None:
    assert ctypes.sizeof(opencl.cl_image_format) == 8
    assert opencl.cl_image_format.image_channel_data_type.offset == 4


def test_constants_are_those_of_the_headers(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not Path("/usr/include/CL/cl_ext.h").exists():
        pytest.skip("missing package opencl-c-headers: apt install gcc opencl-c-headers")
    lines = [f'printf("{name} %lld\\n", (long long)({name}));' for name in CONSTANTS]
    lines.append('printf("cl_image_format %lld\\n", (long long)sizeof(cl_image_format));')
    source = tmp_path / "constants.c"
    source.write_text(
        "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl.h>\n#include <CL/cl_ext.h>\n"
        "#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "constants"
    subprocess.run([compiler, str(source), "-o", str(program)], check=True, timeout=60)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60)
    found = dict(line.split() for line in done.stdout.splitlines())
    assert int(found.pop("cl_image_format")) == ctypes.sizeof(opencl.cl_image_format)
    assert {name: int(value) for name, value in found.items()} == CONSTANTS
