# SPDX-License-Identifier: Apache-2.0
"""A recorder that SIGTERM ends leaves a file that can be played."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import av
import pytest

PROGRAM = """\
import signal, sys
import samebytes.elements as el
source = el.create("ffmpeg.source", sys.argv[1], loop=True)
with el.Pipeline(source, el.create("ffmpeg.sink", sys.argv[2])).start(
    threads=int(sys.argv[3]), stop_on=signal.SIGTERM
) as out:
    for number, frame in enumerate(out, 1):
        if number == 60:
            print("sixty", flush=True)
print(number, out.stopped_by)
"""


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("threads", [0, 1])
def test_sigterm_leaves_a_file_that_can_be_played(clip: Path, tmp_path: Path, threads: int) -> None:
    recorded = tmp_path / "recorded.mp4"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(clip), str(recorded), str(threads)],
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "sixty\n"
        process.send_signal(signal.SIGTERM)
        count, number = process.communicate(timeout=60)[0].split()
    assert process.returncode == 0
    assert int(number) == signal.SIGTERM
    with av.open(str(recorded)) as container:
        assert sum(1 for _ in container.decode(video=0)) == int(count) >= 60
