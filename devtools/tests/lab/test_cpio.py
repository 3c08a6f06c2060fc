# SPDX-License-Identifier: Apache-2.0
"""The archive that the kernel unpacks, read back by cpio and by busybox."""

import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.lab import cpio

ENTRIES = [
    cpio.folder("bin"),
    cpio.program("bin/odd", b"12345"),
    cpio.program("bin/empty", b""),
    cpio.link("bin/sh", "odd"),
]


@pytest.mark.parametrize("program", [["cpio"], ["busybox", "cpio"]], ids=["cpio", "busybox"])
def test_it_is_unpacked_as_it_was_packed(tmp_path: Path, program: list[str]) -> None:
    if not shutil.which(program[0]):
        pytest.skip(f"missing package {program[0]}: apt-get install {program[0]}")
    subprocess.run(
        [*program, "-i", "-d"],
        cwd=tmp_path,
        input=cpio.archive(ENTRIES),
        capture_output=True,
        check=True,
    )
    assert (tmp_path / "bin" / "odd").read_bytes() == b"12345"
    assert (tmp_path / "bin" / "odd").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "bin" / "empty").read_bytes() == b""
    assert (tmp_path / "bin" / "sh").readlink() == Path("odd")


def test_every_record_starts_at_a_multiple_of_four() -> None:
    data = cpio.archive(ENTRIES)
    starts = [n for n in range(len(data)) if data.startswith(b"070701", n)]
    assert len(starts) == len(ENTRIES) + 1
    assert not any(start % 4 for start in starts)
