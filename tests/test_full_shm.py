# SPDX-License-Identifier: Apache-2.0
"""A full or small /dev/shm stops nobody: our memory is of memfds and DMA-BUFs, and not there.

Containers have one of 64 MB unless their user asks for another; here it is of 64 kB.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

SMALL = "mount -t tmpfs -o size=64k tmpfs /dev/shm"
FULL = f"{SMALL} && head -c 65536 /dev/zero > /dev/shm/full"

SENT = """
import errno, socket
import samebytes, samebytes_ipc
try:
    with open("/dev/shm/more", "wb") as file:
        file.write(bytes(1 << 17))
    raise SystemExit("/dev/shm is large")
except OSError as error:
    assert error.errno == errno.ENOSPC, error
frame = samebytes.context("dma").allocate_frame("NV12", 1920, 1080)
with frame.map("cpu", "w") as view:
    for plane in view.native:
        plane[...] = 9
here, there = socket.socketpair()
samebytes_ipc.send(here, frame)
with samebytes_ipc.receive(there) as received, received.map("cpu") as view:
    assert all((plane == 9).all() for plane in view.native)
print("done")
"""

RING = """
import os
import samebytes_ipc
name = f"@samebytes-small-shm-{os.getpid()}"
writer = samebytes_ipc.RingWriter(name, format="NV12", width=1920, height=1080, slots=4)
child = os.fork()
if not child:
    reader = samebytes_ipc.RingReader(name)
    values = [frame.map("cpu").planes[0].native.max() for frame in reader]
    os._exit(0 if values == [*range(30)] else 3)
writer.wait_for_readers(1, timeout=30)
for value in range(30):
    frame = writer.acquire()
    with frame.map("cpu", "w") as view:
        for plane in view.native:
            plane[...] = value
        del plane
    writer.send(frame)
    del frame
writer.close()
assert os.waitpid(child, 0)[1] == 0
print("done")
"""

QUEUE = """
import multiprocessing
import samebytes
def answer(given, answered):
    for frame in iter(given.get, None):
        answered.put((int(frame.map("cpu").planes[0].native.max()), frame))
way = multiprocessing.get_context("fork")
given, answered = way.Queue(), way.Queue()
worker = way.Process(target=answer, args=(given, answered))
worker.start()
for value in range(10):
    frame = samebytes.context("dma").allocate_frame("NV12", 1920, 1080)
    with frame.map("cpu", "w") as view:
        for plane in view.native:
            plane[...] = value
        del plane
    given.put(frame)
    seen, again = answered.get(timeout=60)
    assert seen == value
    assert (again.map("cpu").planes[1].native == value).all()
given.put(None)
worker.join()
print("done")
"""


@pytest.mark.parametrize(
    ("mounted", "program"),
    [
        pytest.param(FULL, SENT, id="full, sent"),
        pytest.param(FULL, RING, id="full, ring"),
        pytest.param(SMALL, SENT, id="small, sent"),
        # The queues' own semaphores are there: Python cannot make one where it is full.
        pytest.param(SMALL, QUEUE, id="small, queue"),
    ],
)
def test_memory_is_made_shared_and_sent(mounted: str, program: str) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("missing tool unshare: apt install util-linux")
    trial = [unshare, "--mount", "sh", "-c", mounted]
    if subprocess.run(trial, capture_output=True, check=False, timeout=30).returncode:
        pytest.skip("this user may not mount a file system of its own")
    done = subprocess.run(
        [*trial[:-1], f'{mounted} && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr
