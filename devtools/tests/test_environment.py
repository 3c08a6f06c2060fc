# SPDX-License-Identifier: Apache-2.0
"""What the set-up decides before it installs anything."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

from devtools.environment import create_venv, gpu_packages
from devtools.workspace import CommandError


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


def test_a_python_that_cannot_make_a_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandError, match=r"apt-get install python3\.\d+-venv"):
        create_venv(tmp_path)
