# SPDX-License-Identifier: Apache-2.0
"""A full /dev/shm stops nobody: shared memory is of memfds and DMA-BUFs, which do not lie there."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

_FULL = "mount -t tmpfs -o size=64k tmpfs /dev/shm && head -c 65536 /dev/zero > /dev/shm/full"
_PROGRAM = """
import errno, socket
import samebytes, samebytes_dma
try:
    with open("/dev/shm/more", "wb") as file:
        file.write(bytes(1 << 16))
    raise SystemExit("/dev/shm is not full")
except OSError as error:
    assert error.errno == errno.ENOSPC, error
frame = samebytes.context("dma").allocate_frame("NV12", 1920, 1080)
with frame.map("cpu", "w") as view:
    for plane in view.native:
        plane[...] = 9
here, there = socket.socketpair()
samebytes_dma.send(here, frame)
with samebytes_dma.receive(there) as received, received.map("cpu") as view:
    assert all((plane == 9).all() for plane in view.native)
print("sent and received")
"""


def test_memory_is_made_shared_and_sent() -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("missing tool unshare: apt install util-linux")
    trial = [unshare, "--mount", "sh", "-c", _FULL]
    if subprocess.run(trial, capture_output=True, check=False, timeout=30).returncode:
        pytest.skip("this user may not mount a file system of its own")
    done = subprocess.run(
        [*trial[:-1], f'{_FULL} && exec "$0" -c "$1"', sys.executable, _PROGRAM],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout == "sent and received\n", done.stderr
