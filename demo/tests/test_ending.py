# SPDX-License-Identifier: Apache-2.0
"""The end of the demo when a signal, a full disk or too little memory stops it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_demo import _failures
from samebytes_demo._errors import DemoError
from samebytes_demo._signals import Ended, ends_by_signals

if sys.platform != "linux":
    pytest.skip("needs Linux's limits and signals: run it there", allow_module_level=True)

pytestmark = [
    pytest.mark.together,
    pytest.mark.usefixtures("default_signals"),
]

BY_SIGNAL = """
import argparse, os, signal
from samebytes_demo import _command, _demo
from samebytes_demo._signals import Ended

def ended(args, source, folder, ending):
    print(folder.is_dir(), folder)
    {how}
    raise AssertionError("not ended")

_demo.run_demo = ended
parser = argparse.ArgumentParser()
_command.add_arguments(parser)
raise SystemExit(_command.run(parser.parse_args(["--input", "any.mp4"])))
"""
AT_ONCE = "os.kill(os.getpid(), {signal})"
# As a native library does that calls Python.
DROPPED = """
    try:
        os.kill(os.getpid(), {signal})
    except Ended:
        pass
    ending.check()
"""
REPLACED = """
    try:
        os.kill(os.getpid(), {signal})
    except Ended:
        raise RuntimeError("Exception from a library")
"""
AT_THE_END = """
    class Report:
        same_boxes = True
        def text(self):
            os.kill(os.getpid(), {signal})
    return Report()
"""


def start(
    command: list[str], folder: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=before,
    )


@pytest.mark.parametrize("how", [AT_ONCE, DROPPED, REPLACED, AT_THE_END])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_leaves_no_files(
    how: str, number: signal.Signals, status: int, tmp_path: Path
) -> None:
    code = BY_SIGNAL.format(how=how.format(signal=int(number)))
    done = start(["-c", code], tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(f"True {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_between_frames(clip: Path, tmp_path: Path) -> None:
    """In the real pipeline; the video is not left half written, and an earlier one stays."""
    (tmp_path / "out.mp4").write_text("an earlier one")
    code = f"""
import os, signal
from samebytes._cli.program import main
from samebytes_demo._writer import Writer

write = Writer.write
def interrupted(self, frame):
    if self.frames == 5:
        os.kill(os.getpid(), signal.SIGINT)
    write(self, frame)

Writer.write = interrupted
raise SystemExit(main(["demo", "--input", {str(clip)!r}, "--output", "out.mp4"]))
"""
    done = start(["-c", code], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert [p.name for p in tmp_path.iterdir()] == ["out.mp4"]
    assert (tmp_path / "out.mp4").read_text() == "an earlier one"


def test_handlers_are_put_back_and_those_of_others_are_left_alone() -> None:
    mine = lambda *_: None  # noqa: E731  (two handlers are compared by identity)
    before = signal.signal(signal.SIGTERM, mine), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ends_by_signals():
            assert signal.getsignal(signal.SIGTERM) is mine
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with ends_by_signals() as ending:
            with pytest.raises(Ended):
                os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)  # a second one ends nothing twice
        assert ending.status == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def demo(clip: Path, folder: Path, before: Callable[[], None], *more: str) -> str:
    """The message with which it ends."""
    command = ["-m", "samebytes", "demo", "--input", str(clip), "--no-compare", "--frames", "8"]
    done = start([*command, *more], folder, before)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (message,) = [x for x in done.stderr.splitlines() if x.startswith("samebytes demo: ")]
    return message


@pytest.mark.parametrize(("kib", "what"), [(1, "out.mp4"), (100, "out.png")])
def test_a_full_disk_names_the_file(kib: int, what: str, clip: Path, tmp_path: Path) -> None:
    """A limit to the size of files fails like a full disk, and needs no root."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib * 1024, kib * 1024))

    message = demo(clip, tmp_path, limit, "--output", "out.mp4")
    assert message.startswith(f"samebytes demo: {what} cannot be written: ")
    assert "File too large" in message
    assert {p.name for p in tmp_path.iterdir()} <= {"out.mp4"}


def test_a_full_disk_while_the_clip_is_made(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = start(["-m", "samebytes", "demo", "--frames", "2"], tmp_path, limit)
    assert done.returncode == 1
    # Intel's OpenCL runtime, under the software GPU, has a handler that prints before ours.
    last = done.stderr.splitlines()[-1]
    assert last.startswith("samebytes demo: ")
    assert "clip.mp4: File too large" in last
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written(clip: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "samebytes", "demo", "--input", str(clip)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--frames", "3", "--no-compare", "--output", str(tmp_path / "o.mp4")],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "samebytes: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("mib", [450, 650, 1030, 1200])
def test_too_little_memory_is_named(mib: int, clip: Path, tmp_path: Path) -> None:
    """Wherever it runs out: while libraries are loaded, compiling, decoding."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    message = demo(clip, tmp_path, limit)
    assert "memory" in message or "MiB that it may have" in message


def test_failures_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_failures, "_limit_reached", lambda: "")
    assert _failures.explain(DemoError("no such thing")) == "no such thing"
    assert _failures.explain(MemoryError()) == "not enough memory"
    wrapped = DemoError("OpenVINO cannot")
    wrapped.__cause__ = RuntimeError("Exception from x.cpp:1:\nstd::bad_alloc")
    assert _failures.explain(wrapped) == "not enough memory"
    assert _failures.explain(OSError(28, "No space left on device", "a.mp4")) == (
        "a.mp4: No space left on device"
    )
    assert _failures.explain(RuntimeError("a defect")) is None
    assert _failures.explain(BrokenPipeError()) is None
    monkeypatch.setattr(_failures, "_limit_reached", lambda: "99 of 100 MiB used")
    assert _failures.explain(MemoryError()) == "not enough memory (99 of 100 MiB used)"
    assert _failures.explain(DemoError("x is damaged")) == (
        "x is damaged (99 of 100 MiB used, which may be the cause)"
    )
    assert _failures.explain(RuntimeError("what.cpp:\n\nno stream\n")) == (
        "no stream (99 of 100 MiB used, which may be the cause)"
    )
