# SPDX-License-Identifier: Apache-2.0
"""The device under test, and programs in their own processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from samebytes_sycl import SYCLContext

pytest.importorskip("dpctl", reason="missing package dpctl: pip install dpctl")

NO_DEVICE = (
    'missing device GPU: pytest --softdevices=gpu (pip install "samebytes-softdevices[gpu]")'
)


@pytest.fixture(scope="session")
def device() -> None:
    """There is a device, or the test is skipped."""
    import dpctl

    if not dpctl.get_devices():
        pytest.skip(NO_DEVICE)


@pytest.fixture
def context(request: pytest.FixtureRequest) -> SYCLContext:
    """The context of the default queue."""
    request.getfixturevalue("device")
    import samebytes
    from samebytes_sycl import SYCLContext

    found = samebytes.context("sycl")
    assert isinstance(found, SYCLContext)
    return found


class Run(Protocol):
    """Runs a program, in its own process."""

    def __call__(self, program: str) -> str:
        """Its output; it must end well and write no error."""


@pytest.fixture
def run() -> Run:
    """A program, dedented; its output."""

    def run(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-W", "error", "-c", textwrap.dedent(program)],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert not done.stderr, done.stderr
        return done.stdout

    return run
