# SPDX-License-Identifier: Apache-2.0
"""Importing loads nothing, and every public name is documented."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from samebytes_openvino import intel_gpu

LEADING_TO_DEVICES = ("LD_PRELOAD", "OPENCL_LAYERS", "OCL_ICD_FILENAMES", "LD_LIBRARY_PATH")


def run(code: str) -> None:
    # Libraries that a software device preloads are there before anything is imported.
    environment = {k: v for k, v in os.environ.items() if k not in LEADING_TO_DEVICES}
    environment["OCL_ICD_VENDORS"] = "/nonexistent"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_importing_loads_neither_openvino_nor_opencl() -> None:
    code = (
        "import sys, samebytes_openvino.intel_gpu\n"
        "import samebytes_openvino._plugin\n"
        "assert not {'openvino', 'pyopencl'} & sys.modules.keys()\n"
        "assert 'libOpenCL' not in open('/proc/self/maps').read()\n"
    )
    run(code)


def test_using_a_class_does_not_load_opencl_and_without_a_gpu_the_error_says_what_to_do() -> None:
    code = (
        "from samebytes.errors import MissingDependencyError\n"
        "from samebytes_openvino.intel_gpu import ClContext, USMTensor, nv12_inputs\n"
        "assert 'libOpenCL' not in open('/proc/self/maps').read()\n"
        "try:\n"
        "    ClContext.default()\n"
        "except MissingDependencyError as error:\n"
        "    assert 'intel-opencl-icd' in str(error)\n"
        "    assert 'samebytes-softdevices run --gpu' in error.hint\n"
        "else:\n"
        "    raise AssertionError('there is a GPU')\n"
    )
    run(code)


@pytest.mark.parametrize("name", intel_gpu.__all__)
def test_public_names_are_documented(name: str) -> None:
    found = getattr(intel_gpu, name)
    assert found.__doc__
    assert name in dir(intel_gpu)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="ClContex'"):
        _ = intel_gpu.ClContex  # type: ignore[attr-defined]
