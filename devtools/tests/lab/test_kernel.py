# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of a kernel, and of the message where there is none."""

import os
import platform
import shutil
from pathlib import Path

import pytest

from devtools.lab import kernel as kernels
from devtools.lab.kernel import LabUnavailableError, MissingToolError, get_kernel, newest
from devtools.lab.machine import find_tools, needs_libraries

NAME = "linux-image-6.12.{}+deb12-amd64"


def test_the_newest_by_number() -> None:
    names = [NAME.format(n) for n in (9, 57, 100, 12)]
    assert newest(names) == NAME.format(100)


@pytest.mark.parametrize(
    "name",
    ["linux-image-6.12.9+deb12-cloud-amd64", "linux-image-6.1.0-9-amd64", NAME.format(9) + "-dbg"],
)
def test_no_other_flavour_or_version(name: str) -> None:
    assert newest([name]) is None


def test_a_kernel_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "mirror", lambda: "http://mirror.example")
    monkeypatch.setattr(kernels, "capture", lambda *_, **__: "linux-image-6.1.0-9-amd64\n")
    with pytest.raises(
        LabUnavailableError, match=r"bookworm-backports has no package linux-image-6"
    ):
        get_kernel(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabUnavailableError, match="this machine has no apt-get"):
        get_kernel(tmp_path)


def test_an_archive_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("apt-get"):
        pytest.skip("missing package apt: a machine with apt")
    monkeypatch.setattr(kernels, "mirror", lambda: f"file:{tmp_path}/none")
    with pytest.raises(LabUnavailableError, match="apt-get update"):
        get_kernel(tmp_path / "cache")


def test_the_cache_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_download", None)
    folder = tmp_path / f"{NAME.format(9)}-{kernels._CONTENT}"
    (folder / "modules").mkdir(parents=True)
    (folder / "release").write_text("6.12.9")
    for name in ("01-b.ko", "00-a.ko"):
        (folder / "modules" / name).touch()
    kernel = get_kernel(tmp_path)
    assert kernel.release == "6.12.9"
    assert [module.name for module in kernel.modules] == ["00-a.ko", "01-b.ko"]


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingToolError, match="qemu-system-x86_64 is missing: apt-get install"):
        find_tools()


def test_another_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(LabUnavailableError, match="not riscv64"):
        find_tools()


def test_programs_with_libraries_are_reported() -> None:
    assert needs_libraries(Path("/proc/self/exe"))
    busybox = shutil.which("busybox")
    if not busybox:
        pytest.skip("missing package busybox-static: apt-get install busybox-static")
    assert not needs_libraries(Path(os.path.realpath(busybox)))
