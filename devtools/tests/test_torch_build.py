# SPDX-License-Identifier: Apache-2.0
"""Tests of which build of torch pip would bring."""

import json

import pytest

from devtools.torch_build import gpu_packages


def report(*names: str) -> str:
    """An installation report of pip, as far as it is read."""
    return json.dumps({"install": [{"metadata": {"name": name}} for name in names]})


def test_a_cpu_build_is_taken() -> None:
    assert gpu_packages(report("torch", "numpy", "sympy")) is None


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "triton", "cuda-bindings", "NVIDIA-nccl"])
def test_a_gpu_build_is_named(name: str) -> None:
    reason = gpu_packages(report("torch", name))
    assert reason is not None
    assert name in reason
