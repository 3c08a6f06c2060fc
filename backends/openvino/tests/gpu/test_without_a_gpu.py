# SPDX-License-Identifier: Apache-2.0
"""Importing loads nothing, and every public name is documented."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import pytest

from samebytes.errors import MissingDependencyError
from samebytes_openvino import _core, intel_gpu
from samebytes_openvino.intel_gpu import _opencl, _video_contexts


def run(code: str) -> None:
    # Libraries that a software device preloads are there before anything is imported.
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_importing_loads_neither_openvino_nor_opencl() -> None:
    code = (
        "import sys, samebytes_openvino.intel_gpu\n"
        "import samebytes_openvino._plugin\n"
        "assert not {'openvino', 'pyopencl'} & sys.modules.keys()\n"
        "assert 'libOpenCL' not in open('/proc/self/maps').read()\n"
    )
    run(code)


def test_using_a_class_does_not_load_opencl() -> None:
    code = (
        "from samebytes_openvino.intel_gpu import ClContext, USMTensor, nv12_inputs\n"
        "assert 'libOpenCL' not in open('/proc/self/maps').read()\n"
    )
    run(code)


@pytest.mark.parametrize("name", intel_gpu.__all__)
def test_public_names_are_documented(name: str) -> None:
    found = getattr(intel_gpu, name)
    assert found.__doc__
    assert name in dir(intel_gpu)


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


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="ClContex'"):
        _ = intel_gpu.ClContex  # type: ignore[attr-defined]


def test_without_a_gpu_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "gpu_names", lambda: ())
    with pytest.raises(MissingDependencyError, match="intel-opencl-icd") as error:
        intel_gpu.ClContext.default()
    assert "samebytes-softdevices run --gpu" in error.value.hint
