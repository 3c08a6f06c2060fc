# SPDX-License-Identifier: Apache-2.0
"""C libraries: the mirror of OpenCL's headers, missing functions, and an answer of OpenCL's."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import samebytes
from samebytes.errors import MissingDependencyError, NoRouteError
from samebytes_openvino.intel_gpu import _opencl, _video_contexts
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


@pytest.mark.parametrize(
    ("load", "missing"),
    [
        (_opencl.library, f"clFinish in {_opencl.LIBRARY}"),
        (_video_contexts._libva, "vaQuerySurfaceStatus in libva.so.2"),
    ],
)
def test_a_function_that_a_library_lacks_is_named_when_it_is_loaded(
    load: Any, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Mock()
    delattr(library, missing.partition(" ")[0])
    monkeypatch.setattr("ctypes.CDLL", lambda _: library)
    with pytest.raises(MissingDependencyError) as caught:
        load.__wrapped__()  # not the one that is kept
    assert (caught.value.plugin, caught.value.missing) == ("openvino", missing)


def test_gpus_with_memory_of_their_own(
    context: Any, edge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_opencl, "has_unified_memory", lambda device: False)
    cpu = samebytes.context("cpu")
    with pytest.raises(NoRouteError, match="this GPU has its own memory"):
        edge("CpuToGpu", cpu, context).map(cpu.allocate((2, 64)))
