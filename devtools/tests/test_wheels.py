# SPDX-License-Identifier: Apache-2.0
"""Wheels with libraries: what they need is read from them, and their tags are given for it."""

import shutil
import subprocess
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from devtools import wheels
from devtools.results import Result
from devtools.wheels import WheelError, audited, notes_in, tagged
from devtools.workspace import CommandError

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="missing package gcc: apt install gcc"
)
NAME = "thing-1.0-py3-none-linux_x86_64.whl"
METADATA = "Metadata-Version: 2.4\nName: thing\nVersion: 1.0\nSummary: A thing\n"


def wheel_of(folder: Path, files: dict[str, bytes]) -> Path:
    """A wheel of the distribution "thing"."""
    info = {
        "thing-1.0.dist-info/METADATA": METADATA.encode(),
        "thing-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: a test\n"
        b"Root-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
    }
    path, record = folder / NAME, ""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, **info}.items():
            archive.writestr(name, content)
            digest = urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
        archive.writestr("thing-1.0.dist-info/RECORD", record + "thing-1.0.dist-info/RECORD,,\n")
    return path


def library(folder: Path, *link: str) -> bytes:
    """A library that is linked as said."""
    source, made = folder / "one.c", folder / "one.so"
    source.write_text('#include <stdio.h>\nint one(void) { return printf("one"); }\n')
    command = ["gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", str(source), "-o", str(made)]
    subprocess.run([*command, *link], check=True, capture_output=True)
    return made.read_bytes()


def test_a_wheel_gets_the_tag_that_its_libraries_allow(tmp_path: Path) -> None:
    made = wheel_of(tmp_path, {"thing/one.so": library(tmp_path, "-lm", "-ldl", "-lpthread")})
    tag = tagged(made)
    assert tag.startswith("manylinux_2_")
    # The old name, which no index takes, is gone.
    assert [path.name for path in tmp_path.glob("*.whl")] == [f"thing-1.0-py3-none-{tag}.whl"]


def test_a_wheel_that_lacks_a_library_is_refused(tmp_path: Path) -> None:
    one = library(tmp_path)
    made = wheel_of(tmp_path, {"thing/one.so": one, "thing/two.so.missing": b"no compiler\n"})
    assert notes_in(made) == [f"{NAME}: no compiler"]
    with pytest.raises(WheelError, match="no compiler"):
        tagged(made)
    strict = audited(tmp_path, strict=True)
    assert strict == Result("packages", False, f"{NAME}: no compiler")
    lenient = audited(tmp_path, strict=False)
    assert lenient == Result("packages", True, f"{NAME}: no compiler", ran=False)


def test_a_platform_wheel_without_any_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises((WheelError, CommandError), match=r"auditwheel|no more systems"):
        tagged(wheel_of(tmp_path, {"thing/one.py": b""}))


def test_a_long_description_that_an_index_cannot_show_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "_platform_wheels", lambda _: [])
    bad = "Description-Content-Type: text/x-rst\n\nA `broken <link\n=====\n"
    with zipfile.ZipFile(tmp_path / "thing-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("thing-1.0.dist-info/METADATA", METADATA + bad)
    result = audited(tmp_path, strict=True)
    assert (result.ok, result.summary) == (False, "twine check --strict failed")
