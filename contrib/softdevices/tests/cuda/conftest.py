# SPDX-License-Identifier: Apache-2.0
"""Programs on the software CUDA driver, in separate processes: a process has only one libcuda."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest

from samebytes_softdevices import SoftDeviceError
from samebytes_softdevices._activate import environment_with
from samebytes_softdevices._cuda import plan

BEGIN = """
import ctypes, os, sys
from cuda.bindings import driver as cu

def ok(answer):
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]

def code(answer):
    return answer[0].name.removeprefix("CUDA_")

ok(cu.cuInit(0))
context = ok(cu.cuDevicePrimaryCtxRetain(0))
ok(cu.cuCtxSetCurrent(context))

def sleep(stream, microseconds):
    # By the driver's own function: in cuda-bindings 13.3 the stream sleeps holding Python's lock.
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
    launch.argtypes = [ctypes.c_void_p] * 3
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    assert launch(int(stream), usleep, microseconds) == 0

def read(address, nbytes):
    data = ctypes.create_string_buffer(nbytes)
    ok(cu.cuMemcpyDtoHAsync(ctypes.addressof(data), address, nbytes, side))
    return data.raw

side = ok(cu.cuStreamCreate(1))
"""


@pytest.fixture
def cuda(plain_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script with `cu`, `ok` and `code` on the software CUDA driver."""
    if importlib.util.find_spec("cuda") is None:
        pytest.skip("missing package cuda-bindings: pip install cuda-bindings")
    try:
        environment = environment_with(plan(), plain_environment)
    except SoftDeviceError as error:
        pytest.skip(f"missing device CUDA: {error}")

    def run(script: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", BEGIN + textwrap.dedent(script)],
            env={**environment, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run
