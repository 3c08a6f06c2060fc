# SPDX-License-Identifier: Apache-2.0
"""The layer's C code over a runtime made for the test, under the compiler's sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = sorted((HERE.parents[1] / "csrc" / "gpu").glob("*.c"))


def can_compile() -> bool:
    """Whether the compiler and the headers of OpenCL's layers are here."""
    if shutil.which("gcc") is None:
        return False
    look = ["gcc", "-E", "-x", "c", "-"]
    source = "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl_layer.h>\n"
    done = subprocess.run(look, input=source, capture_output=True, text=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_the_layer_is_clean(tmp_path: Path, sanitizers: str) -> None:
    if not can_compile():
        pytest.skip("missing package opencl-c-headers: apt install gcc opencl-c-headers")
    program = tmp_path / "layer_test"
    flags = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    checked = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    sources = [str(path) for path in (HERE / "native" / "layer_test.c", *SOURCES)]
    subprocess.run(
        ["gcc", *flags, *checked, *sources, "-o", str(program), "-ldl"], check=True, timeout=120
    )
    # Without what the software devices preload, which is not built for sanitizers.
    done = subprocess.run(
        [str(program)], env={}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
