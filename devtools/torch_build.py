# SPDX-License-Identifier: Apache-2.0
"""A check that pip offers a build of torch without CUDA, which would be gigabytes."""

import json
import re
import subprocess
from collections.abc import Sequence

from devtools import pip
from devtools.venv import PYTHON
from devtools.workspace import ROOT

_GPU_PACKAGE = re.compile(r"(nvidia|cuda|triton)", re.IGNORECASE)


def why_no_torch(requirements: Sequence[str]) -> str | None:
    """The reason why torch must be left out of .venv, or None. pip downloads nothing to answer."""
    command = [str(PYTHON), *pip.INSTALL, "--quiet", "--dry-run", "--report", "-", *requirements]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines()
        return f"pip finds no build of it here: {lines[-1] if lines else 'it gave no reason'}"
    return gpu_packages(answer.stdout)


def gpu_packages(report: str) -> str | None:
    """The reason why pip's installation report names a GPU build, or None when it does not.

    https://pip.pypa.io/en/stable/reference/installation-report/ describes the report.
    """
    names = [item["metadata"]["name"] for item in json.loads(report)["install"]]
    gpu = sorted(name for name in names if _GPU_PACKAGE.match(name))
    if not gpu:
        return None
    return (
        f"pip would bring a GPU build ({len(gpu)} packages such as {gpu[0]}); "
        "to have it, point pip at a CPU build (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS) and run "
        "`python3 dev.py setup`"
    )
