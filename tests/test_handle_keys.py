# SPDX-License-Identifier: Apache-2.0
"""The table of handle keys has those of the core and of all backends, as they are declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs/reference/plugin-api.md"
# In a process of its own: other tests register keys too.
_ROWS = r"""
import samebytes_cuda, samebytes_ffmpeg, samebytes_gpu_opencl
from samebytes._core.owner.handle_keys import HANDLE_KEYS

for used in (samebytes_cuda.CudaContext, samebytes_ffmpeg.HardwareDevice,
             samebytes_gpu_opencl.OpenCLTensor):
    assert used.__module__  # whose modules register their keys
for key in HANDLE_KEYS.values():
    print(f'| "{key.name}" | {key.of} | `{key.c_type}` | {key.doc} |')
"""


def test_the_page_has_every_key() -> None:
    for name in ("samebytes-cuda", "samebytes-ffmpeg", "samebytes-gpu-opencl"):
        pytest.importorskip(
            name.replace("-", "_"), reason=f"missing package {name}: pip install {name}"
        )
    made = subprocess.run(
        [sys.executable, "-c", _ROWS], check=True, capture_output=True, text=True, timeout=120
    )
    text = PAGE.read_text().partition("\n## Handle keys\n")[2]
    rows = {line for line in text.splitlines() if line.startswith('| "')}
    assert rows == set(made.stdout.splitlines())
    assert len(rows) > 25
